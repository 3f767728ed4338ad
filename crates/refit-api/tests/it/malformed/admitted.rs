//! Whatever decodes can be defaulted and judged, alone and as the next version of any other.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use refit_api::decode;
use refit_api::vocabulary::{annotations, labels, refit};
use serde_json::{Map, Value, json};

use super::fields::{Field, fields};
use super::{Kind, root_schema, run};
use crate::generated::values;
use crate::kinds::{for_every_kind, judging_crd};

/// How many fields of an object get a value that some rule is about.
const MAX_TOUCHY: usize = 12;

/// Whole and half names, versions, addresses, templates, percentages, numbers and words, with bars between.
const TOUCHY_TEXTS: &str = "| |.|/|%|a/b|/a|a/|a/b/c|a,,b|node-role.kubernetes.io/control-plane\
    |v|v1|v1.34.0|1.34.0|v1.34.0-rc.1+a.b|v18446744073709551616.0.0|v1.9.3@sha256:x\
    |10.0.0.0/8|10.0.0.0/99|::/0|fd00::1|127.0.0.1:99999|a:b:c|http://|https://x/y?z#|://\
    |{{|}}{{|{{ .random }}|{{ .cluster.name }}-{{ .random }}|{{ .unknown }}\
    |100%|-1%|9223372036854775807%|9223372036854775808%|-1|2147483648|1e9\
    |True|Exists|In|Prefer|A=b|\n|\u{0}|\u{e4}\u{1f600}";

for_every_kind!(is_judged);

fn is_judged<K: Kind>() {
    let Some(crd) = judging_crd::<K>() else { return };
    let schema = root_schema::<K>(&crd);
    run::<K, _>(&(loose_objects(schema), loose_objects(schema)), |(new, old)| {
        let decoded = |object| decode::from_value::<K>(object).map_err(|error| TestCaseError::fail(error.to_string()));
        let (new, old) = (decoded(new)?, decoded(old)?);
        can_be_judged(&new, None)?;
        can_be_judged(&new, Some(&old))?;
        can_be_judged(&new, Some(&new))
    });
}

/// Defaulting settles at once, validation ends, and each error says where.
pub fn can_be_judged<K: Kind>(new: &K, old: Option<&K>) -> Result<(), TestCaseError> {
    let mut once = new.clone();
    once.set_defaults(old);
    let mut twice = once.clone();
    twice.set_defaults(old);
    prop_assert_eq!(&twice, &once, "defaulting twice must equal defaulting once");
    for object in [new, &once] {
        for error in object.validate(old).errors {
            prop_assert!(!error.field.as_str().is_empty(), "an error without a field: {}", error);
        }
    }
    Ok(())
}

/// Objects with every field's type right, and little else.
fn loose_objects(schema: &Value) -> impl Strategy<Value = Value> {
    let schema = loosened(&json!({ "type": "object", "required": schema["required"], "properties": parts_of(schema) }));
    let touchy = vec((any::<Index>(), any::<Index>()), 0..=MAX_TOUCHY);
    (values(&schema), metadata(), touchy).prop_map(move |(mut object, metadata, touchy)| {
        for (field, value) in touchy {
            touch(&mut object, &schema, field, value);
        }
        object["metadata"] = metadata;
        object
    })
}

/// The parts of an object that are its kind's own.
fn parts_of(root_schema: &Value) -> Map<String, Value> {
    let properties = root_schema["properties"].as_object().into_iter().flatten();
    let parts = properties.filter(|(name, _)| ["spec", "status"].contains(&name.as_str()));
    parts.map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

/// The schema with what types are about, and without limits of numbers, lengths, lists and patterns.
fn loosened(schema: &Value) -> Value {
    let mut loose = json!({});
    for keyword in ["type", "format", "enum", "required", "x-kubernetes-int-or-string"] {
        if let Some(value) = schema.get(keyword) {
            loose[keyword] = value.clone();
        }
    }
    if let Some(properties) = schema["properties"].as_object() {
        loose["properties"] = properties.iter().map(|(name, schema)| (name.clone(), loosened(schema))).collect();
    }
    for of_children in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(of_children) {
            loose[of_children] = loosened(schema);
        }
    }
    if schema["type"] == "array" {
        loose["minItems"] = json!(0);
    }
    loose
}

/// Gives a field a value that some rule is about.
fn touch(object: &mut Value, schema: &Value, field: Index, value: Index) {
    let touchable: Vec<Field> =
        fields(schema, object).into_iter().filter(|field| !touchy_values(field.schema).is_empty()).collect();
    if touchable.is_empty() {
        return;
    }
    let field = field.get(&touchable);
    let new = value.get(&touchy_values(field.schema)).clone();
    *object.pointer_mut(&field.pointer).expect("a field must be in its object") = new;
}

fn touchy_values(schema: &Value) -> Vec<Value> {
    let texts = || touchy_texts().into_iter().map(Value::from);
    let numbers = || [i32::MIN, -1, 0, 1, i32::MAX].into_iter().map(Value::from);
    let is_free_text = schema.get("enum").is_none() && schema.get("format").is_none();
    match schema["type"].as_str() {
        Some("string") if is_free_text => texts().collect(),
        Some("integer") => numbers().collect(),
        None if schema["x-kubernetes-int-or-string"] == true => texts().chain(numbers()).collect(),
        _ => Vec::new(),
    }
}

fn touchy_texts() -> Vec<String> {
    let long = ["a".repeat(64), "a".repeat(254), "\u{e4}".repeat(100)];
    TOUCHY_TEXTS.split('|').map(str::to_owned).chain(long).collect()
}

fn metadata() -> impl Strategy<Value = Value> {
    let keys = [
        annotations::AUTOSCALER_MIN_SIZE,
        annotations::AUTOSCALER_MAX_SIZE,
        annotations::SKIP_PREFLIGHT_CHECKS,
        annotations::SKIP_COREDNS,
        refit::annotations::IN_PLACE,
        refit::annotations::KEEP_ORIGINALS,
        labels::CLUSTER_NAME,
        "a/b/c",
        "",
    ];
    let entries = || btree_map(select(keys.to_vec()), select(touchy_texts()), 0..=4);
    (proptest::option::of(select(touchy_texts())), entries(), entries()).prop_map(|(name, labels, annotations)| {
        json!({ "name": name, "namespace": "default", "labels": labels, "annotations": annotations })
    })
}
