//! All rights of a user, as `kubectl auth can-i --list` shows them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resource::Catalog;

const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// Pages that are not for everybody, and those that are.
const PAGES: [&str; 8] = ["/", "/api", "/apis", "/openapi/v3", "/version", "/healthz", "/livez", "/readyz"];

/// The status of a review: who may do everything has one rule; for others each resource is tried.
pub(super) fn status(
    catalog: &Catalog,
    is_allowed: impl Fn(&str, &str, &str) -> bool,
    is_page_allowed: impl Fn(&str) -> bool,
) -> Value {
    if is_allowed("*", "*", "*") {
        return json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        });
    }
    let mut resources: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for resource in catalog.iter() {
        let verbs: Vec<&str> =
            VERBS.into_iter().filter(|verb| is_allowed(verb, &resource.group, &resource.plural)).collect();
        let known = resources.entry((&resource.group, verbs)).or_default();
        if !known.contains(&resource.plural.as_str()) {
            known.push(&resource.plural);
        }
    }
    let rules = resources.into_iter().filter(|((_, verbs), _)| !verbs.is_empty());
    let rules: Vec<Value> = rules
        .map(|((group, verbs), plurals)| json!({"verbs": verbs, "apiGroups": [group], "resources": plurals}))
        .collect();
    let pages: Vec<&str> = PAGES.into_iter().filter(|path| is_page_allowed(path)).collect();
    json!({
        "resourceRules": rules,
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": pages}],
        "incomplete": false,
    })
}
