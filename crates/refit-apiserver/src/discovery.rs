//! Discovery: what a logical cluster serves, as clients find out. Pure: a catalog in, JSON out.
//!
//! There are two forms: a tree of small documents, and all of it in one, which is what newer clients ask for.

mod aggregated;
mod plain;
mod verbs;
mod version;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use crate::resource::{Catalog, Resource};

pub use version::compare as compare_versions;

/// Which media type the whole of discovery is served as.
pub const AGGREGATED_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Every document of discovery, made once for a catalog.
#[derive(Debug)]
pub struct Discovery {
    /// By path, as in `/apis/apps/v1`.
    plain: BTreeMap<String, Bytes>,
    /// By path: `/api` and `/apis`, with the tag that tells one state from another.
    aggregated: BTreeMap<&'static str, Tagged>,
}

/// A document and the tag of its content.
#[derive(Debug, Clone)]
pub struct Tagged {
    pub text: Bytes,
    /// In quotes, as in an `ETag` header.
    pub tag: String,
}

impl Tagged {
    fn new(document: &Value) -> Self {
        let text = document.to_string();
        let tag = format!("\"{}\"", crate::digest::hex(text.as_bytes()));
        Self { text: text.into(), tag }
    }
}

impl Discovery {
    pub fn new(catalog: &Catalog) -> Self {
        let groups = groups(catalog);
        let aggregated = [("/api", true), ("/apis", false)]
            .map(|(path, is_core)| (path, Tagged::new(&aggregated::document(&groups, is_core))));
        Self { plain: plain::documents(&groups), aggregated: aggregated.into() }
    }

    /// A document of the tree.
    pub fn plain(&self, path: &str) -> Option<&Bytes> {
        self.plain.get(path)
    }

    /// Where the documents of the tree are.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.plain.keys().map(String::as_str)
    }

    /// The whole of the core group at `/api`, and of all others at `/apis`.
    pub fn aggregated(&self, path: &str) -> Option<&Tagged> {
        self.aggregated.get(path)
    }
}

/// A group with its versions, the preferred one first.
struct Group<'a> {
    name: &'a str,
    versions: Vec<Version<'a>>,
}

/// A version of a group with its resources, by their plurals.
struct Version<'a> {
    name: &'a str,
    resources: Vec<Entry<'a>>,
}

/// A resource, and the version that its objects are stored in.
struct Entry<'a> {
    resource: &'a Resource,
    stored_version: Option<&'a str>,
}

impl Group<'_> {
    fn group_version(&self, version: &str) -> String {
        if self.name.is_empty() { version.to_owned() } else { format!("{}/{version}", self.name) }
    }
}

/// Groups of Kubernetes itself in its order of priority; all others follow by name.
const PRIORITY: [&str; 9] = [
    "",
    "apps",
    "events.k8s.io",
    "authorization.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];

fn groups(catalog: &Catalog) -> Vec<Group<'_>> {
    let mut stored: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut tree: BTreeMap<(usize, &str), BTreeMap<&str, Vec<&Resource>>> = BTreeMap::new();
    for resource in catalog.iter() {
        let priority = PRIORITY.iter().position(|group| *group == resource.group).unwrap_or(PRIORITY.len());
        let versions = tree.entry((priority, &resource.group)).or_default();
        versions.entry(&resource.version).or_default().push(resource);
        if resource.is_stored {
            stored.insert((&resource.group, &resource.plural), &resource.version);
        }
    }
    let entry = |resource: &'_ Resource| stored.get(&(resource.group.as_str(), resource.plural.as_str())).copied();
    let groups = tree.into_iter().map(|((_, name), versions)| {
        let with_entries = |(name, resources): (_, Vec<_>)| Version {
            name,
            resources: resources
                .into_iter()
                .map(|resource| Entry { resource, stored_version: entry(resource) })
                .collect(),
        };
        let mut versions: Vec<Version<'_>> = versions.into_iter().map(with_entries).collect();
        versions.sort_by(|left, right| compare_versions(left.name, right.name));
        Group { name, versions }
    });
    groups.collect()
}

#[cfg(test)]
mod tests;
