//! Our CRDs against upstream's: every field, limit, list type, rule and column.
//!
//! What differs on purpose stands in a table of the docs; what differs and does not stand there, and what stands
//! there and does not differ, fails.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::crd;
use serde_json::{Value, json};

use crate::differences::documented_differences;
use crate::upstream;

#[test]
fn every_field_limit_rule_and_column_of_upstream_is_here_or_documented() {
    let documented = documented_differences();
    let mut used = BTreeSet::new();
    let mut undocumented = Vec::new();
    let Some(pairs) = pairs() else { return };
    for (plural, ours, upstream) in pairs {
        for difference in differences(&ours, &upstream) {
            match documented.iter().find(|row| row.covers(&plural, &difference.field)) {
                Some(row) => _ = used.insert(row),
                None => undocumented.push(format!("{plural}: {difference}")),
            }
        }
    }
    assert!(
        undocumented.is_empty(),
        "differences from upstream that docs/src/reference/upstream.md does not name:\n{}",
        undocumented.join("\n")
    );
    let stale: Vec<_> = documented.iter().filter(|row| !used.contains(row)).collect();
    assert!(stale.is_empty(), "documented, but there is no such difference: {stale:?}");
}

/// Our CRD and upstream's, for every kind that upstream has.
fn pairs() -> Option<Vec<(String, Value, Value)>> {
    let text = |value: &Value| value.as_str().expect("group and plural must be strings").to_owned();
    let is_upstream = |crd: &Value| text(&crd["spec"]["group"]).ends_with("cluster.x-k8s.io");
    let pair = |ours: Value| {
        let (group, plural) = (text(&ours["spec"]["group"]), text(&ours["spec"]["names"]["plural"]));
        upstream::crd(&group, &plural).map(|upstream| (plural, ours, upstream))
    };
    crd::all().into_iter().filter(is_upstream).map(pair).collect()
}

/// One keyword that is not the same.
struct Difference {
    field: String,
    keyword: String,
    ours: Option<Value>,
    upstream: Option<Value>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or("absent".to_owned(), Value::to_string);
        let (ours, upstream) = (show(&self.ours), show(&self.upstream));
        write!(f, "{} {}: ours {ours}, upstream's {upstream}", self.field, self.keyword)
    }
}

fn differences(ours: &Value, upstream: &Value) -> Vec<Difference> {
    let (ours, upstream) = (facts(ours), facts(upstream));
    let all: BTreeSet<_> = ours.keys().chain(upstream.keys()).collect();
    all.into_iter()
        .filter(|key| ours.get(key) != upstream.get(key))
        .map(|key| Difference {
            field: key.0.clone(),
            keyword: key.1.clone(),
            ours: ours.get(key).cloned(),
            upstream: upstream.get(key).cloned(),
        })
        .collect()
}

/// What a CRD says, each fact under the field and the keyword that says it.
type Facts = BTreeMap<(String, String), Value>;

/// Everything that is compared: all but the words of descriptions, and the versions that we do not have.
fn facts(crd: &Value) -> Facts {
    let version = crd["spec"]["versions"]
        .as_array()
        .and_then(|versions| versions.iter().find(|version| version["name"] == "v1beta2"))
        .expect("a CRD must have the version v1beta2");
    let mut facts = Facts::new();
    for part in ["names", "scope"] {
        facts.insert(("(crd)".to_owned(), part.to_owned()), sorted_lists(&crd["spec"][part]));
    }
    for part in ["served", "storage", "subresources"] {
        facts.insert(("(crd)".to_owned(), part.to_owned()), version[part].clone());
    }
    for (index, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
        let mut column = column.clone();
        column.as_object_mut().expect("a column must be an object").remove("description");
        facts.insert(("(columns)".to_owned(), index.to_string()), column);
    }
    collect_schema("", &version["schema"]["openAPIV3Schema"], &mut facts);
    facts
}

fn collect_schema(field: &str, schema: &Value, facts: &mut Facts) {
    for (keyword, value) in schema.as_object().expect("a schema must be an object") {
        match keyword.as_str() {
            "description" => {}
            "properties" => {
                for (name, schema) in value.as_object().expect("properties must be an object") {
                    let field = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                    facts.insert((field.clone(), "(exists)".to_owned()), true.into());
                    collect_schema(&field, schema, facts);
                }
            }
            "items" => collect_schema(&format!("{field}[]"), value, facts),
            "additionalProperties" if value.is_object() => collect_schema(&format!("{field}[*]"), value, facts),
            "required" => _ = facts.insert((field.to_owned(), keyword.clone()), sorted_lists(value)),
            keyword => _ = facts.insert((field.to_owned(), keyword.to_owned()), value.clone()),
        }
    }
}

/// Lists of words whose order means nothing are compared sorted. (That of an `enum` does: error messages have it.)
fn sorted_lists(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: BTreeSet<&str> = items.iter().filter_map(Value::as_str).collect();
            json!(words)
        }
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), sorted_lists(value))).collect(),
        other => other.clone(),
    }
}
