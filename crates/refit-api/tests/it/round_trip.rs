//! What upstream accepts survives decoding and encoding, with nothing added and nothing lost.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use refit_api::resource::CustomKind;
use serde_json::Value;

use crate::generated::objects;
use crate::kinds::{for_every_kind, judging_crd};

/// Decodes and encodes objects that are made from the judging schema of the kind.
fn survives<K: CustomKind>() {
    let Some(crd) = judging_crd::<K>() else { return };
    let mut runner = TestRunner::new(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() });
    let survives = |object: Value| {
        let decoded: K = serde_json::from_value(object.clone()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let encoded: Value = serde_json::to_value(&decoded).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let changed = changed_paths("", &object, &encoded);
        prop_assert!(changed.is_empty(), "not as they were: {}", changed.join(", "));
        Ok(())
    };
    runner.run(&objects(&crd), survives).unwrap_or_else(|error| panic!("{}: {error}", K::DEFINITION.kind));
}

for_every_kind!(survives);

/// The paths of everything that is not the same in both, so that a failure can be read.
fn changed_paths(path: &str, before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
            let of =
                |map: &serde_json::Map<String, Value>, name: &str| map.get(name).cloned().unwrap_or("(absent)".into());
            names
                .into_iter()
                .flat_map(|name| changed_paths(&format!("{path}.{name}"), &of(before, name), &of(after, name)))
                .collect()
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let pairs = before.iter().zip(after).enumerate();
            pairs
                .flat_map(|(index, (before, after))| changed_paths(&format!("{path}[{index}]"), before, after))
                .collect()
        }
        (before, after) if before == after => Vec::new(),
        (before, after) => vec![format!("{path}: {before} became {after}")],
    }
}
