//! The patch that makes the claimed fields of an object what they should be, and nothing else.
//!
//! It is computed on the JSON that was received. Values of "desired" go into it as they are.

mod difference;
#[cfg(test)]
mod properties;
mod target;

use refit_api::hooks::{JsonPointer, Patch, PatchOperation, RawObject};
use refit_plan::coverage::MAX_OPERATIONS;
use serde_json::Value;

use crate::path::{FieldPath, Segment};

/// The patch that brings `current` to `desired` at the claimed paths. None: there is nothing to change.
///
/// `spec` says where the spec of the machine's object is: `spec` itself, or `spec.template.spec` in a template.
///
/// # Guarantees
/// The patch applies to `current`. It changes the claimed fields and nothing else, has no operation too many, and the
/// same input gives the same bytes. A block that has nothing but claimed fields comes and goes with them.
pub(crate) fn between(
    current: &RawObject,
    desired: &RawObject,
    spec: &[&str],
    claimed: &[&FieldPath],
) -> Option<Patch> {
    let paths: Vec<Vec<Segment>> = claimed.iter().map(|path| path.beneath(spec)).collect();
    let paths: Vec<&[Segment]> = paths.iter().map(Vec::as_slice).collect();
    let target = target::of(Some(current.as_value()), Some(desired.as_value()), &paths)?;
    let operations = difference::operations(current.as_value(), &target);
    match operations.len() {
        0 => None,
        1..=MAX_OPERATIONS => Some(Patch::json(&operations)),
        // Controllers take only so many; a block of that size is replaced as a whole.
        _ => Some(Patch::json(&[PatchOperation::Replace { path: JsonPointer::new(["spec"]), value: spec_of(target) }])),
    }
}

fn spec_of(mut object: Value) -> Value {
    object.get_mut("spec").map(Value::take).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(spec: Value) -> RawObject {
        RawObject::try_from(json!({ "kind": "Sample", "spec": spec })).expect("it must be an object")
    }

    /// The operations between two specs, in words.
    fn check(current: Value, desired: Value, claimed: &[&str], expected: &[&str]) {
        let paths: Vec<FieldPath> = claimed.iter().map(|path| path.parse().expect("the path must be right")).collect();
        let patch = between(&object(current), &object(desired), &["spec"], &paths.iter().collect::<Vec<_>>());
        let document = patch.map_or_else(|| b"[]".to_vec(), |patch| patch.document().to_vec());
        let operations: Vec<Value> = serde_json::from_slice(&document).expect("the patch must be a list");
        let words = operations.iter().map(|operation| {
            let value = operation.get("value").map(|value| format!(" {value}")).unwrap_or_default();
            format!(
                "{} {}{value}",
                operation["op"].as_str().unwrap_or_default(),
                operation["path"].as_str().unwrap_or_default()
            )
        });
        assert_eq!(words.collect::<Vec<_>>(), expected, "{claimed:?}");
    }

    #[test]
    fn only_claimed_differences_are_in_the_patch() {
        let (current, desired) = (json!({ "a": 1, "b": 1, "c": 1 }), json!({ "a": 2, "b": 2, "c": 1 }));
        check(current.clone(), desired.clone(), &["spec.a", "spec.c"], &["replace /spec/a 2"]);
        check(current.clone(), desired.clone(), &["spec"], &["replace /spec/a 2", "replace /spec/b 2"]);
        check(current, desired, &[], &[]);
    }

    #[test]
    fn a_block_comes_and_goes_with_its_claimed_fields() {
        check(json!({}), json!({ "a": { "b": 1, "c": 2 } }), &["spec.a.b"], &["add /spec/a {\"b\":1}"]);
        check(json!({ "a": { "b": 1 } }), json!({}), &["spec.a.b"], &["remove /spec/a"]);
        check(json!({ "a": { "b": 1, "c": 2 } }), json!({}), &["spec.a.b"], &["remove /spec/a/b"]);
        check(json!({ "a": { "b": 1 } }), json!({ "a": {} }), &["spec.a.b"], &["remove /spec/a/b"]);
    }

    #[test]
    fn a_block_alone_is_not_claimed_by_what_could_be_in_it() {
        check(json!({}), json!({ "a": {} }), &["spec.a.b"], &[]);
        check(json!({ "a": {} }), json!({}), &["spec.a.b"], &[]);
        check(json!({ "a": "text" }), json!({ "a": { "b": 1 } }), &["spec.a.b"], &[]);
    }

    #[test]
    fn null_absent_and_empty_are_three_things() {
        check(json!({ "a": null }), json!({}), &["spec.a"], &["remove /spec/a"]);
        check(json!({}), json!({ "a": null }), &["spec.a"], &["add /spec/a null"]);
        check(json!({ "a": {} }), json!({ "a": [] }), &["spec.a"], &["replace /spec/a []"]);
        check(json!({ "a": 1 }), json!({ "a": 1.0 }), &["spec.a"], &["replace /spec/a 1.0"]);
    }

    #[test]
    fn a_star_stands_for_every_name_and_lists_are_a_whole() {
        check(
            json!({ "d": { "x": { "s": 1, "t": 1 }, "y": { "s": 1 } } }),
            json!({ "d": { "x": { "s": 2, "t": 2 }, "z": { "s": 3 } } }),
            &["spec.d.*.s"],
            &["replace /spec/d/x/s 2", "remove /spec/d/y", "add /spec/d/z {\"s\":3}"],
        );
        check(json!({ "l": [1, 2] }), json!({ "l": [1, 3] }), &["spec.l"], &["replace /spec/l [1,3]"]);
        check(json!({ "l": [{ "s": 1 }] }), json!({ "l": [{ "s": 2 }] }), &["spec.l.*.s"], &[]);
    }

    #[test]
    fn a_name_that_no_path_can_have_is_changed_with_its_block() {
        check(json!({ "a": { "": 1 } }), json!({ "a": { "": 2 } }), &["spec.a"], &["replace /spec/a {\"\":2}"]);
        check(json!({ "a": { "x/y~": 1 } }), json!({ "a": { "x/y~": 2 } }), &["spec.a"], &["replace /spec/a/x~1y~0 2"]);
    }

    #[test]
    fn too_many_operations_become_one() {
        let block = |value: usize| -> Value {
            (0..=MAX_OPERATIONS)
                .map(|index| (format!("k{index}"), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let path: FieldPath = "spec".parse().expect("the path must be right");
        let patch = between(&object(block(1)), &object(block(2)), &["spec"], &[&path]).expect("there must be a patch");
        let operations: Value = serde_json::from_slice(patch.document()).expect("the patch must be JSON");
        assert_eq!(operations, json!([{ "op": "replace", "path": "/spec", "value": block(2) }]));
    }
}
