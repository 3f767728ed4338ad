//! Objects made from a CRD's schema: any object that the schema accepts can come out, shrunk by proptest when it fails.
//!
//! Shares no code with the types that it judges: it knows the schema only.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Longest string, list and map that is generated; limits of the schema above it are not worth the time.
const MAX_TEXT: usize = 12;
const MAX_ITEMS: usize = 3;

/// Whole objects of a CRD's version, with a name and a namespace.
pub fn objects(crd: &Value) -> BoxedStrategy<Value> {
    let spec = &crd["spec"];
    let version = spec["versions"].as_array().and_then(|versions| versions.last()).expect("a CRD must have a version");
    let types = json!({
        "apiVersion": format!("{}/{}", spec["group"].as_str().unwrap_or_default(), version["name"].as_str().unwrap_or_default()),
        "kind": spec["names"]["kind"],
        "metadata": { "name": "generated", "namespace": "default" },
    });
    values(&parts_only(&version["schema"]["openAPIV3Schema"]))
        .prop_map(move |parts| {
            let mut object = types.clone();
            for (part, value) in parts.as_object().expect("an object's schema must make objects") {
                object[part] = value.clone();
            }
            object
        })
        .boxed()
}

/// The root schema without the members that every object has.
fn parts_only(root: &Value) -> Value {
    let mut root = root.clone();
    let properties = root["properties"].as_object_mut().expect("a root schema must have properties");
    for common in ["apiVersion", "kind", "metadata"] {
        properties.remove(common);
    }
    root
}

/// Values that the schema accepts, CEL rules aside.
pub fn values(schema: &Value) -> BoxedStrategy<Value> {
    if schema["x-kubernetes-int-or-string"] == true {
        return prop_oneof![(0..100i32).prop_map(Value::from), (0..=100u8).prop_map(|n| format!("{n}%").into())]
            .boxed();
    }
    match schema["type"].as_str() {
        Some("object") => members(schema),
        Some("array") => lists(schema),
        Some("string") => strings(schema),
        Some("integer") => integers(schema),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        _ => any_json(),
    }
}

fn members(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values_schema) = schema.get("additionalProperties").filter(|schema| schema.is_object()) {
        return btree_map("[a-z]{1,8}", values(values_schema), 1..=MAX_ITEMS)
            .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into())
            .boxed();
    }
    let Some(properties) = schema["properties"].as_object() else { return Just(json!({})).boxed() };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let at_least_one = schema["minProperties"].as_u64().unwrap_or(0) > 0;
    let members: Vec<BoxedStrategy<(String, bool, Value)>> = properties
        .iter()
        .map(|(name, schema)| {
            let (name, required) = (name.clone(), required.contains(&name.as_str()));
            (any::<bool>(), values(schema))
                .prop_map(move |(there, value)| (name.clone(), there || required, value))
                .boxed()
        })
        .collect();
    (members, any::<prop::sample::Index>())
        .prop_map(move |(mut members, one)| {
            if at_least_one && members.iter().all(|(_, there, _)| !there) {
                let one = one.index(members.len());
                members[one].1 = true;
            }
            let there = members.into_iter().filter(|(_, there, _)| *there);
            there.map(|(name, _, value)| (name, value)).collect::<Map<_, _>>().into()
        })
        .boxed()
}

/// At least one item, unless the schema says that none is fine: upstream leaves empty lists out, too.
fn lists(schema: &Value) -> BoxedStrategy<Value> {
    let min = schema["minItems"].as_u64().map_or(1, |min| min as usize);
    let keys: Vec<String> = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|key| key.as_str().map(str::to_owned))
        .collect();
    vec(values(&schema["items"]), min..=MAX_ITEMS).prop_map(move |items| without_doubles(items, &keys).into()).boxed()
}

fn without_doubles(items: Vec<Value>, keys: &[String]) -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    let key = |item: &Value| keys.iter().map(|key| item[key].to_string()).collect::<Vec<_>>();
    items.into_iter().filter(|item| keys.is_empty() || seen.insert(key(item))).collect()
}

fn strings(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(allowed) = schema["enum"].as_array() {
        return select(allowed.clone()).boxed();
    }
    let min = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let max = schema["maxLength"].as_u64().map_or(usize::MAX, |max| max as usize);
    match (schema["format"].as_str(), schema["pattern"].as_str()) {
        (Some("date-time"), _) => (0..4_000_000_000i64).prop_map(timestamp).boxed(),
        (Some("byte"), _) => select(vec!["YQ==", "YWI=", "YWJj", "+/8="]).prop_map(Value::from).boxed(),
        (_, Some(pattern)) => {
            // A generated string is the whole of it: anchors say nothing, and the generator does not know them.
            let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
            proptest::string::string_regex(pattern)
                .expect("upstream's patterns must be regular")
                .prop_filter("too short or too long", move |s| (min..=max).contains(&s.len()))
                .prop_map(Value::from)
                .boxed()
        }
        _ => vec(any::<char>(), min.min(MAX_TEXT)..=max.min(MAX_TEXT))
            .prop_map(|chars| chars.into_iter().collect::<String>().into())
            .boxed(),
    }
}

/// As Go writes it: UTC, whole seconds.
fn timestamp(seconds: i64) -> Value {
    let timestamp = jiff::Timestamp::from_second(seconds).expect("a year below 2100 must be a timestamp");
    timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

fn integers(schema: &Value) -> BoxedStrategy<Value> {
    let (lowest, highest) = match schema["format"].as_str() {
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    let min = schema["minimum"].as_i64().unwrap_or(lowest);
    let max = schema["maximum"].as_i64().unwrap_or(highest);
    (min..=max).prop_map(Value::from).boxed()
}

/// Any JSON, nulls and nesting included.
pub fn any_json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, MAX_ITEMS as u32, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..=MAX_ITEMS).prop_map(Value::from),
            btree_map("[a-z]{1,4}", inner, 0..=MAX_ITEMS).prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
    .boxed()
}
