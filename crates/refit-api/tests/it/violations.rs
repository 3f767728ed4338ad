//! From a schema: a value with everything in it, one with as little as possible, and values that each break one rule.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::generated;

/// A value that breaks one rule, and which.
pub struct Violation {
    pub rule: String,
    pub value: Value,
}

/// A value with every member that the schema knows, and one item in every list.
pub fn example(schema: &Value) -> Value {
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("object") => example_object(schema),
        Some("array") => json!([example(&schema["items"])]),
        Some("string") => example_string(schema),
        Some("integer") => schema["minimum"].as_i64().unwrap_or(1).into(),
        Some("boolean") => true.into(),
        _ => json!({ "any": [null, 1] }),
    }
}

/// A value with as few members as the schema lets it have.
pub fn minimal(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") if schema["properties"].is_object() => minimal_object(schema),
        Some("array") => json!([minimal(&schema["items"])]),
        _ => example(schema),
    }
}

fn example_object(schema: &Value) -> Value {
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        return json!({ "key": example(values) });
    }
    let left_out = rivals(schema).1;
    let wanted = properties(schema).filter(|(name, _)| !left_out.contains(name));
    wanted.map(|(name, schema)| (name.clone(), example(schema))).collect::<Map<_, _>>().into()
}

fn minimal_object(schema: &Value) -> Value {
    let mut needed: Vec<String> = required(schema).map(str::to_owned).chain(rivals(schema).0).collect();
    if needed.is_empty() && schema["minProperties"].as_u64().is_some_and(|min| min > 0) {
        needed.extend(properties(schema).next().map(|(name, _)| name.clone()));
    }
    let wanted = properties(schema).filter(|(name, _)| needed.contains(name));
    wanted.map(|(name, schema)| (name.clone(), minimal(schema))).collect::<Map<_, _>>().into()
}

fn example_string(schema: &Value) -> Value {
    if CelRule::all(schema).any(|rule| rule == CelRule::PartitionType) {
        return "Linux".into();
    }
    if ["enum", "format", "pattern"].iter().all(|keyword| schema.get(keyword).is_none()) {
        return "x".into();
    }
    let mut runner = TestRunner::deterministic();
    generated::values(schema).new_tree(&mut runner).expect("the schema must accept some string").current()
}

/// Values that each break one rule of the schema, at any depth, with as little else in them as possible.
pub fn violations(schema: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |rule: &str, value: Value| found.push(Violation { rule: rule.to_owned(), value });
    wrong_types(schema, &mut add);
    CelRule::all(schema).for_each(|rule| rule.break_it(&minimal(schema), &mut add));
    match schema["type"].as_str() {
        Some("object") => broken_objects(schema, &mut add),
        Some("array") => broken_lists(schema, &mut add),
        Some("string") => broken_strings(schema, &mut add),
        Some("integer") => broken_integers(schema, &mut add),
        _ => {}
    }
    found
}

type Add<'a> = dyn FnMut(&str, Value) + 'a;

fn wrong_types(schema: &Value, add: &mut Add) {
    let wrong = match schema["type"].as_str() {
        Some("object") => json!("text"),
        Some("array" | "string") => json!(7),
        Some("integer") => json!(1.5),
        Some("boolean") => json!([]),
        _ if schema["x-kubernetes-int-or-string"] == true => json!(true),
        _ => return,
    };
    add(" type", wrong);
}

fn broken_objects(schema: &Value, add: &mut Add) {
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        violations(values)
            .into_iter()
            .for_each(|broken| add(&format!(".key{}", broken.rule), json!({ "key": broken.value })));
        return;
    }
    let whole = minimal(schema);
    if schema["minProperties"].as_u64().is_some_and(|min| min > 0) {
        add(" minProperties", json!({}));
    }
    for name in required(schema) {
        let mut without = whole.clone();
        without.as_object_mut().expect("a value of an object's schema must be one").remove(name);
        add(&format!(".{name} required"), without);
    }
    for (name, schema) in properties(schema) {
        add(&format!(".{name} null"), with(&whole, name, Value::Null));
        for broken in violations(schema) {
            add(&format!(".{name}{}", broken.rule), with(&whole, name, broken.value));
        }
    }
}

fn broken_lists(schema: &Value, add: &mut Add) {
    let item = minimal(&schema["items"]);
    for broken in violations(&schema["items"]) {
        add(&format!("[]{}", broken.rule), json!([broken.value]));
    }
    if schema["minItems"].as_u64().is_some_and(|min| min > 0) {
        add(" minItems", json!([]));
    }
    if let Some(max) = schema["maxItems"].as_u64() {
        add(" maxItems", vec![item.clone(); max as usize + 1].into());
    }
    if schema["x-kubernetes-list-type"] == "map" {
        add(" list-map-keys", json!([item, item]));
    }
}

fn broken_strings(schema: &Value, add: &mut Add) {
    if schema["minLength"].as_u64().is_some_and(|min| min > 0) {
        add(" minLength", json!(""));
    }
    if let Some(max) = schema["maxLength"].as_u64() {
        add(" maxLength", "a".repeat(max as usize + 1).into());
    }
    for keyword in ["enum", "pattern", "format"] {
        if schema.get(keyword).is_some() {
            add(&format!(" {keyword}"), json!("!no, not this!"));
        }
    }
}

fn broken_integers(schema: &Value, add: &mut Add) {
    if let Some(min) = schema["minimum"].as_i64() {
        add(" minimum", (min - 1).into());
    }
    if let Some(max) = schema["maximum"].as_i64() {
        add(" maximum", (max + 1).into());
    }
    if schema["format"] == "int32" {
        add(" format", (i64::from(i32::MAX) + 1).into());
    }
}

/// The CEL rules that Cluster API's CRDs have.
#[derive(Debug, PartialEq, Eq)]
enum CelRule {
    UniqueNames,
    ExactlyOneOf(Vec<String>),
    PartitionType,
    NotACondition,
}

impl CelRule {
    fn all(schema: &Value) -> impl Iterator<Item = Self> {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        rules.map(|rule| Self::parse(rule["rule"].as_str().unwrap_or_default()))
    }

    fn parse(rule: &str) -> Self {
        match rule {
            _ if rule.contains("exists_one") => Self::UniqueNames,
            _ if rule.contains("size() == 1") => {
                let fields = rule.split("has(self.").skip(1).filter_map(|rest| rest.split_once(')'));
                Self::ExactlyOneOf(fields.map(|(field, _)| field.to_owned()).collect())
            }
            _ if rule.contains("LinuxSwap") => Self::PartitionType,
            _ if rule.contains("HealthCheckSucceeded") => Self::NotACondition,
            _ => panic!("a CEL rule that is not tested yet: {rule}"),
        }
    }

    fn break_it(&self, example: &Value, add: &mut Add) {
        match self {
            Self::UniqueNames => {
                let item = &example[0];
                add(" cel unique names", json!([item, with(item, "value", "another value".into())]));
            }
            Self::ExactlyOneOf(fields) => {
                let none = fields.iter().fold(example.clone(), |object, field| with(&object, field, Value::Null));
                add(" cel none of", none);
                add(" cel both of", with(example, &fields[0], true.into()));
            }
            Self::PartitionType => add(" cel partition type", json!("FreeBSD")),
            Self::NotACondition => add(" cel condition type", json!("Ready")),
        }
    }
}

/// Of members that exclude each other: the one that examples have, and those that they do not.
fn rivals(schema: &Value) -> (Option<String>, Vec<String>) {
    let fields = CelRule::all(schema).find_map(|rule| match rule {
        CelRule::ExactlyOneOf(fields) => Some(fields),
        _ => None,
    });
    let mut fields = fields.unwrap_or_default();
    (fields.pop(), fields)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[name] = value;
    object
}
