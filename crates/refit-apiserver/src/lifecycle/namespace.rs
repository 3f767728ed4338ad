//! A namespace that is being deleted: what is still in it, and when it may go.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::definition::set_condition;
use crate::metadata::{finalizers, is_being_deleted};
use crate::resource::Resource;

/// Holds a namespace until it is empty.
const FINALIZER: &str = "kubernetes";

/// What is left in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// How many objects, by `plural.group`.
    objects: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    finalizers: BTreeMap<String, usize>,
}

impl Contents {
    pub fn add(&mut self, resource: &Resource, object: &Value) {
        *self.objects.entry(format!("{}.{}", resource.plural, resource.group)).or_default() += 1;
        for name in finalizers(object) {
            *self.finalizers.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

/// Whether a namespace is deleted and waits for what is in it.
pub fn is_to_be_emptied(namespace: &Value) -> bool {
    let held = namespace["spec"]["finalizers"].as_array().into_iter().flatten();
    is_being_deleted(namespace) && held.into_iter().any(|name| name == FINALIZER)
}

/// Lets an empty namespace go.
pub fn release(namespace: &mut Value) {
    let Some(spec) = namespace.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(Value::Array(held)) = spec.get_mut("finalizers") {
        held.retain(|name| name != FINALIZER);
        if held.is_empty() {
            spec.remove("finalizers");
        }
    }
}

/// Says in the status of a namespace what keeps it.
pub fn describe(namespace: &mut Value, contents: &Contents, now: Timestamp) {
    let mut set = |kind: &str, is_true: bool, reason: &str, message: &str| {
        set_condition(namespace, kind, is_true, reason, message, now);
    };
    let message = "All resources successfully discovered";
    set("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", message);
    let message = "All legacy kube types successfully parsed";
    set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", message);
    let message = "All content successfully deleted, may be waiting on finalization";
    set("NamespaceDeletionContentFailure", false, "ContentDeleted", message);
    let objects = listed(&contents.objects, "has");
    let message = format!("Some resources are remaining: {objects}");
    set("NamespaceContentRemaining", true, "SomeResourcesRemain", &message);
    if contents.finalizers.is_empty() {
        let message = "All content-preserving finalizers finished";
        set("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", message);
    } else {
        let message =
            format!("Some content in the namespace has finalizers remaining: {}", listed(&contents.finalizers, "in"));
        set("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", &message);
    }
}

fn listed(counts: &BTreeMap<String, usize>, word: &str) -> String {
    let parts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {word} {count} resource instances")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::built_in;

    #[test]
    fn the_status_says_what_keeps_a_namespace() {
        let secrets = built_in::all().iter().find(|resource| resource.plural == "secrets").unwrap();
        let mut contents = Contents::default();
        contents.add(secrets, &json!({"metadata": {"finalizers": ["x/y"]}}));
        contents.add(secrets, &json!({"metadata": {}}));
        let mut namespace = json!({"metadata": {}, "status": {"phase": "Terminating"}});
        describe(&mut namespace, &contents, Timestamp::UNIX_EPOCH);
        let messages: Vec<&Value> = [3, 4].iter().map(|at| &namespace["status"]["conditions"][at]["message"]).collect();
        assert_eq!(
            messages,
            [
                "Some resources are remaining: secrets. has 2 resource instances",
                "Some content in the namespace has finalizers remaining: x/y in 1 resource instances"
            ]
        );
    }

    #[test]
    fn only_its_own_finalizer_is_taken_away() {
        let check = |before: Value, after: Value| {
            let mut namespace = json!({"spec": {"finalizers": before}});
            release(&mut namespace);
            assert_eq!(namespace["spec"], after);
        };
        check(json!(["kubernetes"]), json!({}));
        check(json!(["a/b", "kubernetes"]), json!({"finalizers": ["a/b"]}));
    }
}
