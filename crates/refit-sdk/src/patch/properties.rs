//! Applied by another engine, a patch makes exactly the claimed changes.

use proptest::prelude::*;
use refit_api::hooks::RawObject;
use serde_json::{Map, Value, json};

use super::between;
use crate::path::FieldPath;

/// Small documents over few names, so that claims meet fields.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..3).prop_map(Value::from),
        "[xy]".prop_map(Value::from),
        Just(json!({})),
        prop::collection::vec(0..2, 0..3).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::btree_map("[abc/]", inner, 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
    })
}

fn claims() -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(prop::collection::vec("[abc/]", 0..4), 0..4)
}

fn object(spec: &Value) -> RawObject {
    RawObject::try_from(json!({ "kind": "Sample", "spec": { "template": { "spec": spec } } })).expect("it is an object")
}

fn path(names: &[String]) -> FieldPath {
    let pointer: String = names.iter().map(|name| format!("/{}", name.replace('/', "~1"))).collect();
    format!("/spec{pointer}").parse().expect("the path must be right")
}

fn at<'a>(value: &'a Value, names: &[String]) -> Option<&'a Value> {
    names.iter().try_fold(value, |value, name| value.as_object()?.get(name))
}

/// All paths of a document, its root included.
fn paths(value: &Value) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    for (name, field) in value.as_object().into_iter().flatten() {
        found.extend(paths(field).into_iter().map(|rest| [vec![name.clone()], rest].concat()));
    }
    found
}

/// Whether a part of the way to a field is there and is no object, so that the field cannot be set.
fn is_blocked(current: &Value, claim: &[String]) -> bool {
    (0..claim.len()).any(|length| at(current, &claim[..length]).is_some_and(|value| !value.is_object()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn exactly_the_claimed_changes_are_made(current in documents(), desired in documents(), claims in claims()) {
        let parsed: Vec<FieldPath> = claims.iter().map(|claim| path(claim)).collect();
        let claimed: Vec<&FieldPath> = parsed.iter().collect();
        let spec = ["spec", "template", "spec"];
        let patch = between(&object(&current), &object(&desired), &spec, &claimed);
        let mut patched = object(&current).into_value();
        if let Some(patch) = &patch {
            let operations: json_patch::Patch = serde_json::from_slice(patch.document()).expect("it must be a patch");
            prop_assert!(!operations.0.is_empty());
            json_patch::patch(&mut patched, &operations).expect("the patch must apply");
        }
        let result = patched["spec"]["template"]["spec"].clone();
        for claim in claims.iter().filter(|claim| !is_blocked(&current, claim)) {
            prop_assert_eq!(at(&result, claim), at(&desired, claim), "claimed: {:?}", claim);
        }
        let concerns = |field: &[String], claim: &Vec<String>| field.starts_with(claim) || claim.starts_with(field);
        for field in [paths(&current), paths(&desired), paths(&result)].concat() {
            if !claims.iter().any(|claim| concerns(&field, claim)) {
                prop_assert_eq!(at(&result, &field), at(&current, &field), "not claimed: {:?}", field);
            }
        }
        let again = between(&object(&result), &object(&desired), &spec, &claimed);
        prop_assert_eq!(again, None, "what was changed is what should be");
        let same = between(&object(&current), &object(&desired), &spec, &claimed);
        prop_assert_eq!(same, patch, "the same question has the same answer");
    }
}
