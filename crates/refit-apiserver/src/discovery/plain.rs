//! Discovery as a tree: `/api`, `/api/v1`, `/apis`, `/apis/<group>`, `/apis/<group>/<version>`.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::verbs::{self, Subresource};
use super::{Entry, Group, Version};
use crate::resource::Resource;

/// Every document by its path.
pub fn documents(groups: &[Group<'_>]) -> BTreeMap<String, Bytes> {
    let mut documents = BTreeMap::new();
    let mut add = |path: String, document: Value| documents.insert(path, document.to_string().into());
    let named: Vec<&Group<'_>> = groups.iter().filter(|group| !group.name.is_empty()).collect();
    add("/api".to_owned(), api_versions());
    add("/apis".to_owned(), group_list(&named));
    for group in groups {
        let base = if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
        for version in &group.versions {
            add(format!("{base}/{}", version.name), resource_list(group, version));
        }
        if !group.name.is_empty() {
            add(base, group_document(group));
        }
    }
    documents
}

/// The versions of the core group. Where the server is reached, the client knows already.
fn api_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

fn group_list(groups: &[&Group<'_>]) -> Value {
    let groups: Value = groups.iter().map(|group| describe(group)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_document(group: &Group<'_>) -> Value {
    let mut document = describe(group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    document
}

fn describe(group: &Group<'_>) -> Value {
    let describe =
        |version: &Version<'_>| json!({"groupVersion": group.group_version(version.name), "version": version.name});
    let versions: Vec<Value> = group.versions.iter().map(describe).collect();
    let preferred = versions.first().cloned();
    json!({"name": group.name, "versions": versions, "preferredVersion": preferred})
}

fn resource_list(group: &Group<'_>, version: &Version<'_>) -> Value {
    let resources: Value = version.resources.iter().flat_map(entries).collect();
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": group.group_version(version.name),
        "resources": resources,
    });
    if !group.name.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

/// A resource, and then its parts.
fn entries(entry: &Entry<'_>) -> Vec<Value> {
    let resource = entry.resource;
    let mut main = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": verbs::of(resource),
    });
    for (key, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            main[key] = json!(names);
        }
    }
    if let Some(version) = entry.stored_version {
        main["storageVersionHash"] = storage_hash(resource, version).into();
    }
    let parts = verbs::subresources(resource).into_iter().map(|part| subresource(resource, &part));
    [main].into_iter().chain(parts).collect()
}

fn subresource(resource: &Resource, part: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, part.name),
        "singularName": "",
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": part.verbs,
    });
    if let Some([group, version, kind]) = part.other_kind {
        entry["group"] = group.into();
        entry["version"] = version.into();
        entry["kind"] = kind.into();
    }
    entry
}

/// Changes when objects come to be stored in another version. Events are stored in the core group.
fn storage_hash(resource: &Resource, stored_version: &str) -> String {
    let group = if resource.is("events.k8s.io", "events") { "" } else { &resource.group };
    let digest = Sha256::digest(format!("{group}/{stored_version}/{}", resource.kind));
    STANDARD.encode(&digest[..8])
}
