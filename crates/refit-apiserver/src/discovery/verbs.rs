//! What can be done to resources and their parts, in the order in which the real server names it.

use crate::resource::Resource;

const BUILT_IN: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NAMESPACES: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const CUSTOM: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART: &[&str] = &["get", "patch", "update"];

/// A part of an object that is served by itself.
pub struct Subresource {
    pub name: &'static str,
    pub verbs: &'static [&'static str],
    /// Group, version and kind of what is read and written, where it is not the object itself.
    pub other_kind: Option<[&'static str; 3]>,
}

pub fn of(resource: &Resource) -> &'static [&'static str] {
    if resource.is_custom() {
        return CUSTOM;
    }
    if resource.is("", "namespaces") { NAMESPACES } else { BUILT_IN }
}

/// The parts of a resource.
pub fn subresources(resource: &Resource) -> Vec<Subresource> {
    let part = |name| Subresource { name, verbs: PART, other_kind: None };
    let mut all = Vec::new();
    if resource.is("", "pods") {
        let other_kind = Some(["policy", "v1", "Eviction"]);
        all.push(Subresource { name: "eviction", verbs: &["create"], other_kind });
    }
    if resource.is("", "namespaces") {
        all.push(Subresource { name: "finalize", verbs: &["update"], other_kind: None });
    }
    if resource.has_status {
        all.push(part("status"));
    }
    if resource.scale.is_some() {
        all.push(Subresource { other_kind: Some(["autoscaling", "v1", "Scale"]), ..part("scale") });
    }
    all
}
