//! A value of another JSON type than the schema's is refused, at any field of any object.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use refit_api::decode;
use serde_json::{Value, json};

use super::fields::{Field, fields};
use super::{Kind, field_and_message, root_schema, run};
use crate::generated::objects;
use crate::kinds::{for_every_kind, judging_crd};

/// How many fields of an object are tried, one after the other.
const FIELDS_TRIED: usize = 24;

for_every_kind!(are_refused_by_name);

fn are_refused_by_name<K: Kind>() {
    let Some(crd) = judging_crd::<K>() else { return };
    let choices = vec((any::<Index>(), any::<Index>()), FIELDS_TRIED);
    run::<K, _>(&(objects(&crd), choices), |(object, choices)| {
        decode::from_value::<K>(object.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let fields = fields(root_schema::<K>(&crd), &object);
        for (field, wrong) in choices.iter().filter(|_| !fields.is_empty()) {
            is_refused::<K>(&object, field.get(&fields), wrong)?;
        }
        Ok(())
    });
}

fn is_refused<K: Kind>(object: &Value, field: &Field, choice: &Index) -> Result<(), TestCaseError> {
    let mut broken = object.clone();
    let value = broken.pointer_mut(&field.pointer).expect("a field must be in its object");
    let wrong = choice.get(&wrong_values(field.schema, value)).clone();
    *value = wrong.clone();
    let Err(error) = decode::from_value::<K>(broken) else {
        return Err(TestCaseError::fail(format!("{} must not be {wrong}", field.path)));
    };
    prop_assert_eq!(field_and_message(&error).0, &field.path, "with {}: {}", wrong, error);
    Ok(())
}

/// Values that the schema does not take. Those that serde would take, if it were let, are among them: a list for a
/// struct, and an object for a word.
fn wrong_values(schema: &Value, current: &Value) -> Vec<Value> {
    let word = current.as_str().unwrap_or("word");
    let values =
        [json!({}), json!({ word: null }), json!([]), json!([current]), json!("x"), json!(7), json!(1.5), json!(true)];
    values.into_iter().filter(|value| !takes(schema, value)).collect()
}

fn takes(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_i64() || value.is_string();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        other => panic!("a type that is not tested yet: {other:?}"),
    }
}
