//! What holds for every configuration, whoever applies it to whatever.

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use crate::model::Model;
use crate::sample::{self, Samples};
use crate::world::{Answer, Owners, Verb, Write};

/// Random cases per property.
const CASES: u64 = 150;

/// An object with a random past, and a configuration to apply.
struct Case {
    model: Model,
    config: Value,
}

fn cases() -> impl Iterator<Item = Case> {
    (0..CASES).map(|seed| {
        let mut samples = Samples(StdRng::seed_from_u64(seed));
        let mut model = Model::new();
        for manager in ["m1", "m2", "m3"] {
            let verb = match samples.pick(&["create", "replace", "apply"]) {
                "create" => Verb::Create,
                "replace" => Verb::Replace(Owners::AsRead),
                _ => Verb::Apply { force: true },
            };
            model.send(&write(manager, verb, samples.object("o")));
        }
        Case { model, config: samples.object("o") }
    })
}

fn write(manager: &str, verb: Verb, body: Value) -> Write {
    Write { manager: manager.to_owned(), name: "o".to_owned(), subresource: "", verb, body }
}

fn applied(model: &mut Model, manager: &str, config: &Value) -> Value {
    match model.send(&write(manager, Verb::Apply { force: true }, config.clone())) {
        Answer::Stored(object) => object,
        refused @ Answer::Refused { .. } => panic!("a forced apply must be accepted: {refused}"),
    }
}

fn owned_by(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut own = entries.filter(|entry| entry["manager"] == manager && entry["operation"] == "Apply");
    own.next().map(|entry| entry["fieldsV1"].clone()).unwrap_or_default()
}

#[test]
fn an_applier_owns_what_it_sent_and_nothing_else() {
    for mut case in cases() {
        let object = applied(&mut case.model, "m1", &case.config);
        let mut config = case.config.clone();
        let members = config.as_object_mut().expect("a configuration must be an object");
        members.retain(|name, _| name == "spec" || name == "metadata");
        let metadata = config["metadata"].as_object_mut().expect("metadata must be an object");
        metadata.remove("name");
        if metadata.is_empty() {
            config.as_object_mut().expect("a configuration must be an object").remove("metadata");
        }
        let expected = fields_of(&config, &schema_with_metadata());
        let expected = if expected == json!({}) { Value::Null } else { expected };
        assert_eq!(owned_by(&object, "m1"), expected, "{}", case.config);
    }
}

#[test]
fn the_same_configuration_again_changes_nothing() {
    for mut case in cases() {
        let once = applied(&mut case.model, "m1", &case.config);
        assert_eq!(applied(&mut case.model, "m1", &case.config), once, "{}", case.config);
    }
}

/// Only specs, and no embedded objects: the server drops empty parts of metadata, though somebody owns them. And with
/// one field in common, since an object that nobody owns anything of gets an owner at the next apply.
#[test]
fn two_configurations_conflict_in_either_order() {
    for seed in 0..CASES {
        let mut samples = Samples(StdRng::seed_from_u64(seed));
        let mut config = || {
            let mut spec = samples.spec();
            spec.as_object_mut().expect("a spec must be an object").remove("template");
            spec["size"] = 7.into();
            json!({"apiVersion": sample::API_VERSION, "kind": sample::KIND, "metadata": {"name": "o"}, "spec": spec})
        };
        let (one, other) = (config(), config());
        let conflicts = |first: &Value, second: &Value| {
            let mut model = Model::new();
            model.send(&write("m", Verb::Apply { force: false }, first.clone()));
            match model.send(&write("n", Verb::Apply { force: false }, second.clone())) {
                Answer::Stored(_) => Vec::new(),
                Answer::Refused { causes, .. } => causes,
            }
        };
        assert_eq!(conflicts(&one, &other), conflicts(&other, &one), "{one}\n{other}");
    }
}

#[test]
fn what_only_one_manager_applied_goes_with_it() {
    for seed in 0..CASES {
        let mut samples = Samples(StdRng::seed_from_u64(seed));
        let mut model = Model::new();
        let config = samples.object("o");
        applied(&mut model, "m", &config);
        let bare = json!({"apiVersion": sample::API_VERSION, "kind": sample::KIND, "metadata": {"name": "o"}});
        let object = applied(&mut model, "m", &bare);
        let left: Map<String, Value> = object["spec"].as_object().cloned().unwrap_or_default();
        let is_default = |name: &str, value: &Value| name == "tier" && value == "basic";
        // Nobody owns a list without items that is merged by items.
        let stays = |(name, value): (&String, &Value)| is_default(name, value) || *value == json!([]);
        assert!(left.iter().all(stays), "{config}\nleft {left:?}");
        assert_eq!(owned_by(&object, "m"), Value::Null);
    }
}

/// The sample's schema with as much of metadata's as the samples use.
fn schema_with_metadata() -> Value {
    let mut schema = sample::schema();
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": text});
    let reference = json!({"type": "object", "x-kubernetes-map-type": "atomic"});
    let references = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
        "items": reference,
    });
    let properties = json!({"labels": texts, "annotations": texts, "finalizers": set, "ownerReferences": references});
    schema["properties"]["metadata"] = json!({"type": "object", "properties": properties});
    let template = &mut schema["properties"]["spec"]["properties"]["template"];
    template["properties"] = json!({
        "apiVersion": text, "kind": text, "metadata": {"type": "object", "properties": properties},
    });
    schema
}

/// The fields of a value, read off the OpenAPI schema: leaves, items of lists that are merged, members of free maps.
fn fields_of(value: &Value, schema: &Value) -> Value {
    let mut fields = Map::new();
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let named = &schema["properties"][name];
                let member = if named.is_null() { &schema["additionalProperties"] } else { named };
                let mut below = below(value, member);
                let has_parts = below.as_object().is_some_and(|below| !below.is_empty());
                if has_parts && named.is_null() {
                    below["."] = json!({});
                }
                let is_empty_list = value == &json!([]) && is_merged_list(member);
                if !is_empty_list {
                    fields.insert(format!("f:{name}"), below);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                fields.extend([item_fields(item, schema)]);
            }
        }
        _ => {}
    }
    // A map of which nothing is a field is none itself.
    fields.retain(|name, below| !(name.starts_with("f:") && *below == json!("nothing")));
    Value::Object(fields)
}

fn is_merged_list(schema: &Value) -> bool {
    matches!(schema["x-kubernetes-list-type"].as_str(), Some("set" | "map"))
}

fn below(value: &Value, schema: &Value) -> Value {
    let is_atomic = match value {
        Value::Object(_) => schema["x-kubernetes-map-type"] == "atomic",
        Value::Array(_) => !is_merged_list(schema),
        _ => true,
    };
    if is_atomic || value == &json!({}) {
        return json!({});
    }
    let fields = fields_of(value, schema);
    if fields == json!({}) { json!("nothing") } else { fields }
}

fn item_fields(item: &Value, list: &Value) -> (String, Value) {
    let Some(keys) = list["x-kubernetes-list-map-keys"].as_array() else {
        return (format!("v:{item}"), json!({}));
    };
    let mut key = Map::new();
    for name in keys.iter().filter_map(Value::as_str) {
        let default = &list["items"]["properties"][name]["default"];
        key.insert(name.to_owned(), item.get(name).unwrap_or(default).clone());
    }
    let mut fields = below(item, &list["items"]);
    if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
        fields["."] = json!({});
    }
    (format!("k:{}", Value::Object(key)), fields)
}
