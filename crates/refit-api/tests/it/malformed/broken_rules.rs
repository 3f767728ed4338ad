//! Of the rules of the schema, decoding enforces types, required fields, closed sets and formats: at every field there
//! is, one at a time.

use refit_api::decode;
use serde_json::{Value, json};

use super::{Kind, field_and_message, root_schema};
use crate::kinds::{for_every_kind, judging_crd};
use crate::violations::{example, violations};

/// Fields that are required, and that defaulting fills in before the schema is looked at.
const DEFAULTED: [&str; 2] = ["spec.selector", "spec.rollout.strategy.type"];

/// Types of Kubernetes itself, from `k8s-openapi`: a string that is missing is empty, and none has a closed set.
const OF_KUBERNETES: [&str; 4] =
    ["status.conditions[0].", ".matchExpressions[0].", ".nodeRegistration.taints[0].", "status.nodeInfo."];

for_every_kind!(are_refused_by_name);

fn are_refused_by_name<K: Kind>() {
    let Some(crd) = judging_crd::<K>() else { return };
    let root = root_schema::<K>(&crd);
    let whole = json!({ "metadata": { "name": "x" }, "spec": example(&root["properties"]["spec"]) });
    let mut checked = 0;
    for part in ["spec", "status"] {
        for broken in violations(&root["properties"][part]) {
            let (path, rule) = broken.rule.split_once(' ').expect("a rule must follow its field");
            if ["type", "required", "enum", "format"].contains(&rule) {
                let mut object = whole.clone();
                object[part] = broken.value;
                check::<K>(&format!("{part}{}", path.replace("[]", "[0]")), rule, object);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{}: {checked} rules are too few to tell", K::DEFINITION.kind);
}

fn check<K: Kind>(field: &str, rule: &str, object: Value) {
    let context = format!("{}: {field} {rule}", K::DEFINITION.kind);
    let Err(error) = decode::from_value::<K>(object) else {
        assert!(is_left_open(field, rule), "{context} must be refused");
        return;
    };
    let (found, message) = field_and_message(&error);
    if rule == "required" {
        let (parent, name) = field.rsplit_once('.').expect("a member must have a parent");
        assert_eq!((found, message), (parent, &*format!("missing field `{name}`")), "{context}");
    } else {
        assert_eq!(found, field, "{context}: {message}");
    }
}

/// Whether an object may break the rule and decode all the same.
fn is_left_open(field: &str, rule: &str) -> bool {
    let is_defaulted = rule == "required" && DEFAULTED.contains(&field);
    let is_of_kubernetes =
        ["required", "enum"].contains(&rule) && OF_KUBERNETES.iter().any(|part| field.contains(part));
    is_defaulted || is_of_kubernetes
}

#[test]
fn an_object_without_a_spec_is_refused_where_the_schema_demands_one() {
    let error =
        decode::from_value::<refit_api::cluster::Machine>(json!({ "metadata": {} })).expect_err("must be refused");
    assert_eq!(field_and_message(&error), ("", "missing field `spec`"));
}
