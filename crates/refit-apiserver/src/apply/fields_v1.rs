//! The JSON form of field sets: `{"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:name":{}}}}}`.

use serde_json::{Map, Value};

use super::field_set::{FieldSet, Node};
use super::go;
use super::path::{PathElement, Scalar};

/// Marks that the path up to here is in the set itself, besides what is below it.
const SELF: &str = ".";

/// Why text is not a field set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    #[error("a field set must be a JSON object")]
    NotAnObject,
    #[error("{0:?} is no path element")]
    Element(String),
}

/// The JSON form of a set.
pub fn encode(set: &FieldSet) -> Value {
    Value::Object(level(set, false))
}

/// Reads a set. Elements of kinds that are not known are left out, as newer servers may write them.
pub fn decode(json: &Value) -> Result<FieldSet, FieldsError> {
    let members = match json {
        Value::Null => return Ok(FieldSet::default()),
        Value::Object(members) => members,
        _ => return Err(FieldsError::NotAnObject),
    };
    let mut nodes = Vec::with_capacity(members.len());
    for (key, json) in members.iter().filter(|(key, _)| *key != SELF) {
        let Some(element) = element(key)? else { continue };
        let below = decode(json)?;
        let member = below.is_empty() || json.get(SELF).is_some();
        nodes.push(Node { element, member, below });
    }
    Ok(FieldSet::of_nodes(nodes, |present, node| {
        present.member |= node.member;
        present.below = present.below.union(&node.below);
    }))
}

fn level(set: &FieldSet, with_self: bool) -> Map<String, Value> {
    let mut members = Map::new();
    if with_self && !set.is_empty() {
        members.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    for node in set.nodes() {
        members.insert(key(&node.element), Value::Object(level(&node.below, node.member)));
    }
    members
}

fn key(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => ["f:", name.as_ref()].concat(),
        PathElement::Key(fields) => {
            let members = fields.iter().map(|(name, value)| (name.clone(), value.0.clone()));
            ["k:", &go::json(&members.collect())].concat()
        }
        PathElement::Item(value) => ["v:", &go::json(&value.0)].concat(),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// An element from its key; `None` for kinds that are not known.
fn element(key: &str) -> Result<Option<PathElement>, FieldsError> {
    let bad = || FieldsError::Element(key.to_owned());
    let (kind, rest) = key.split_at_checked(1).ok_or_else(bad)?;
    let rest = rest.strip_prefix(':').ok_or_else(bad)?;
    Ok(Some(match kind {
        "f" => PathElement::field(rest),
        "v" => PathElement::Item(Scalar(first_value(rest).ok_or_else(bad)?)),
        "k" => PathElement::Key(key_fields(rest).ok_or_else(bad)?.into()),
        "i" => PathElement::Index(rest.parse().map_err(|_| bad())?),
        _ => return Ok(None),
    }))
}

fn key_fields(json: &str) -> Option<Vec<(String, Scalar)>> {
    let Value::Object(members) = first_value(json)? else { return None };
    let mut fields: Vec<(String, Scalar)> = members.into_iter().map(|(name, value)| (name, Scalar(value))).collect();
    fields.sort();
    Some(fields)
}

/// The JSON value that the text starts with; what follows it is not looked at.
fn first_value(json: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_survive_the_round_trip() {
        let check = |json: Value| assert_eq!(encode(&decode(&json).unwrap()), json);
        check(json!({}));
        check(json!({"f:spec": {"f:size": {}, "f:code": {}}}));
        check(json!({"f:spec": {"f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {".": {}, "f:name": {}}}}}));
        check(json!({"f:metadata": {"f:finalizers": {".": {}, r#"v:"a\u003cb""#: {}, "v:1": {}}}, "i:3": {}}));
    }

    #[test]
    fn unknown_kinds_are_left_out_and_broken_elements_are_errors() {
        assert_eq!(decode(&json!({"x:y": {}, "f:a": {}})), Ok(FieldSet::of_fields(&[&["a"]])));
        let check = |key: &str| assert_eq!(decode(&json!({key: {}})), Err(FieldsError::Element(key.to_owned())));
        check("");
        check("f");
        check("spec");
        check("k:[1]");
        check("v:{");
        check("i:one");
        check("ä:");
        assert_eq!(decode(&json!({"f:a": 1})), Err(FieldsError::NotAnObject));
    }

    #[test]
    fn a_key_is_the_same_in_any_order() {
        let (one, other) = (json!({r#"k:{"a":1,"b":2}"#: {}}), json!({r#"k:{"b":2,"a":1}"#: {}}));
        assert_eq!(decode(&one), decode(&other));
    }
}
