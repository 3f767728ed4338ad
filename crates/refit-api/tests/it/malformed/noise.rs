//! Input that makes no sense is decoded or refused; what is decoded is then judged like any other object.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use refit_api::decode::{self, DecodeError};
use serde_json::{Value, json};

use super::admitted::can_be_judged;
use super::{Kind, run};
use crate::generated::{any_json, objects};
use crate::kinds::{for_every_kind, judging_crd};

/// In how many places something well-formed is spoilt at most.
const MAX_SPOILT: usize = 4;
/// What has a meaning in YAML, and what our objects are made of.
const YAML_SOUP: &str = "([a-z0-9\"'&*!|>%@`{}\\[\\],:#?~. \n-]|---\n|<<|metadata: |spec: |status: |\u{e4}){0,60}";

for_every_kind!(is_withstood);

fn is_withstood<K: Kind>() {
    let Some(crd) = judging_crd::<K>() else { return };
    let values = prop_oneof![any_json(), parts_of_any_json(), spoilt_objects(objects(&crd))];
    let bytes = prop_oneof![vec(any::<u8>(), 0..64), spoilt_bytes(objects(&crd))];
    let text = prop_oneof![any::<String>(), YAML_SOUP];
    run::<K, _>(&(values, bytes, text), |(value, bytes, text)| {
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        check::<K>(decode::from_value(value))?;
        check::<K>(decode::from_json(&bytes))?;
        check::<K>(decode::from_yaml(&lossy))?;
        check::<K>(decode::from_yaml(&text))?;
        match decode::from_yaml_documents(&text) {
            Ok(objects) => objects.into_iter().try_for_each(|object| check::<K>(Ok(object))),
            Err(error) => check::<K>(Err(error)),
        }
    });
}

fn check<K: Kind>(result: Result<K, DecodeError>) -> Result<(), TestCaseError> {
    match result {
        Ok(object) => can_be_judged(&object, None),
        Err(error) => {
            prop_assert_eq!(&error.kind, K::DEFINITION.kind);
            Ok(())
        }
    }
}

/// An object in shape only.
fn parts_of_any_json() -> impl Strategy<Value = Value> {
    [any_json(), any_json(), any_json()]
        .prop_map(|[metadata, spec, status]| json!({ "metadata": metadata, "spec": spec, "status": status }))
}

/// Objects in which anything, down to any depth, may be anything else.
fn spoilt_objects(objects: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    (objects, vec((any::<Index>(), any_json()), 1..=MAX_SPOILT)).prop_map(|(mut object, spoilt)| {
        for (place, value) in spoilt {
            let pointer = place.get(&pointers("", &object)).clone();
            *object.pointer_mut(&pointer).expect("a pointer must lead to a value") = value;
        }
        object
    })
}

/// Objects as JSON text in which some bytes are others.
fn spoilt_bytes(objects: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<u8>> {
    (objects, vec((any::<Index>(), any::<u8>()), 1..=MAX_SPOILT)).prop_map(|(object, spoilt)| {
        let mut bytes = object.to_string().into_bytes();
        for (place, byte) in spoilt {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

/// The pointers to all values in a value, itself included.
fn pointers(pointer: &str, value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let below = children.into_iter().flat_map(|(key, value)| pointers(&format!("{pointer}/{key}"), value));
    [pointer.to_owned()].into_iter().chain(below).collect()
}
