//! The pure functions with the least around them that makes a server.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use refit_apiserver::apply::{self, Endpoint, Origin, Writer};
use refit_apiserver::schema::{Additional, Definitions, Schema, parse};
use serde_json::{Value, json};

use crate::sample;
use crate::world::{Answer, Verb, Write, replaced};

/// The sample's own endpoint.
static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let custom = parse(&sample::schema(), &Definitions::new());
    Endpoint {
        schema: apply::graft(&custom, &apply::object_meta(&definitions())),
        api_version: sample::API_VERSION.to_owned(),
        kind: sample::KIND.to_owned(),
        subresource: String::new(),
        reset: Endpoint::main_reset(true),
        origin: Origin::Custom,
    }
});

/// The pure functions as a server.
pub struct Model {
    main: Endpoint,
    status: Endpoint,
    objects: BTreeMap<String, Value>,
    now: Timestamp,
}

impl Model {
    pub fn new() -> Self {
        let main = ENDPOINT.clone();
        let status = Endpoint { subresource: "status".to_owned(), reset: Endpoint::status_reset(), ..main.clone() };
        Self { main, status, objects: BTreeMap::new(), now: Timestamp::UNIX_EPOCH }
    }

    pub fn send(&mut self, write: &Write) -> Answer {
        self.now += jiff::SignedDuration::from_secs(1);
        let live = self.objects.get(&write.name);
        match self.written(live, write) {
            Ok(object) => {
                self.objects.insert(write.name.clone(), object.clone());
                Answer::new(200, object)
            }
            Err(status) => Answer::new(status["code"].as_u64().unwrap_or_default() as u16, status),
        }
    }

    fn written(&self, live: Option<&Value>, write: &Write) -> Result<Value, Value> {
        let missing = || json!({"code": 404, "reason": "NotFound", "message": not_found(&write.name)});
        let endpoint = if write.subresource.is_empty() { &self.main } else { &self.status };
        let writer = Writer { manager: &write.manager, now: self.now };
        let default = |object: &mut Value| fill_defaults(object, &self.main.schema);
        let mut object = match write.verb {
            Verb::Create if live.is_some() => {
                return Err(json!({"code": 409, "reason": "AlreadyExists", "message": exists(&write.name)}));
            }
            Verb::Apply { force } => {
                let may_create = write.subresource.is_empty();
                let live = if may_create { live } else { Some(live.ok_or_else(missing)?) };
                let applied = apply::apply(endpoint, live, &write.body, &writer, force, default);
                applied.map_err(|error| error.status().to_json())?
            }
            Verb::Create => write.body.clone(),
            Verb::Replace(owners) => replaced(live.ok_or_else(missing)?, &write.body, owners),
            Verb::MergePatch => {
                let mut object = live.ok_or_else(missing)?.clone();
                json_patch::merge(&mut object, &write.body);
                object
            }
        };
        if !matches!(write.verb, Verb::Apply { .. }) {
            coerce(&mut object, &self.main.schema);
            default(&mut object);
            apply::update(endpoint, live, &mut object, &writer);
        }
        let mut object = put_back(live, object, write.subresource);
        coerce_metadata(&mut object);
        if let Some(live) = live {
            apply::keep_times(live, &mut object);
        }
        Ok(object)
    }
}

fn not_found(name: &str) -> String {
    format!("{}.{} \"{name}\" not found", sample::PLURAL, sample::GROUP)
}

fn exists(name: &str) -> String {
    format!("{}.{} \"{name}\" already exists", sample::PLURAL, sample::GROUP)
}

/// Undoes what the endpoint cannot change.
fn put_back(live: Option<&Value>, object: Value, subresource: &str) -> Value {
    let empty = json!({});
    let (mut kept, other, part) = match subresource {
        "" => (object, live.unwrap_or(&empty), "status"),
        _ => {
            let mut kept = live.cloned().unwrap_or_default();
            kept["metadata"]["managedFields"] = object["metadata"]["managedFields"].clone();
            return with_part(kept, &object, "status");
        }
    };
    kept = with_part(kept, other, part);
    kept
}

fn with_part(mut object: Value, from: &Value, part: &str) -> Value {
    let members = object.as_object_mut().expect("an object must be an object");
    match from.get(part) {
        Some(value) => members.insert(part.to_owned(), value.clone()),
        None => members.remove(part),
    };
    object
}

/// Drops what the server drops when it reads an object: nulls that are no values, and empty parts of metadata.
fn coerce(object: &mut Value, schema: &Schema) {
    drop_nulls(object, schema);
    coerce_metadata(object);
}

fn coerce_metadata(object: &mut Value) {
    for pointer in ["/metadata", "/spec/template/metadata"] {
        let Some(metadata) = object.pointer_mut(pointer) else { continue };
        if metadata.is_null() {
            *metadata = json!({});
        }
        let Some(metadata) = metadata.as_object_mut() else { continue };
        let is_nothing = |value: &Value| match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        metadata.retain(|_, value| !is_nothing(value));
    }
}

fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            members.retain(|name, value| {
                let known = schema.member(name);
                !value.is_null() || known.is_none_or(|schema| schema.nullable)
            });
            for (name, value) in members {
                if let Some(schema) = schema.member(name) {
                    drop_nulls(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(item, schema));
            }
        }
        _ => {}
    }
}

fn fill_defaults(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            for (name, property) in &schema.properties {
                if let (Some(default), None) = (&property.default, members.get(name)) {
                    members.insert(name.clone(), default.clone());
                }
                if let Some(value) = members.get_mut(name) {
                    fill_defaults(value, property);
                }
            }
            if let Additional::Values(values) = &schema.additional {
                members.values_mut().for_each(|value| fill_defaults(value, values));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| fill_defaults(item, schema));
            }
        }
        _ => {}
    }
}

/// The schemas of built-in kinds.
pub fn definitions() -> Definitions {
    let json = include_str!("../../src/resource/built_in/schemas.json");
    serde_json::from_str(json).expect("the built-in schemas must be JSON")
}
