//! All of discovery in one document.

use serde_json::{Value, json};

use super::verbs::{self, Subresource};
use super::{Entry, Group, Version};
use crate::resource::Resource;

/// The core group, or all the others.
pub fn document(groups: &[Group<'_>], is_core: bool) -> Value {
    let items: Value = groups.iter().filter(|group| group.name.is_empty() == is_core).map(item).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn item(group: &Group<'_>) -> Value {
    let versions: Value = group.versions.iter().map(version).collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn version(version: &Version<'_>) -> Value {
    let resources: Value = version.resources.iter().map(resource).collect();
    json!({"version": version.name, "resources": resources, "freshness": "Current"})
}

fn resource(entry: &Entry<'_>) -> Value {
    let resource = entry.resource;
    let mut json = json!({
        "resource": resource.plural,
        "responseKind": own_kind(resource),
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs::of(resource),
    });
    for (key, names) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !names.is_empty() {
            json[key] = json!(names);
        }
    }
    let parts: Vec<Value> = verbs::subresources(resource).iter().map(|part| subresource(resource, part)).collect();
    if !parts.is_empty() {
        json["subresources"] = parts.into();
    }
    json
}

fn subresource(resource: &Resource, part: &Subresource) -> Value {
    let response = match part.other_kind {
        Some([group, version, kind]) => json!({"group": group, "version": version, "kind": kind}),
        None => own_kind(resource),
    };
    json!({"subresource": part.name, "responseKind": response, "verbs": part.verbs})
}

/// Built-in kinds leave group and version to what stands around them, as in the real server.
fn own_kind(resource: &Resource) -> Value {
    let (group, version) =
        if resource.is_custom() { (resource.group.as_str(), resource.version.as_str()) } else { ("", "") };
    json!({"group": group, "version": version, "kind": resource.kind})
}
