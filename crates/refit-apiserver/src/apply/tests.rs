//! Facts about apply and ownership, as data.

mod entries;
mod other_kinds;
mod refusals;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::schema::{Definitions, parse};

const V1: &str = "g/v1";

fn definitions() -> Definitions {
    serde_json::from_str(include_str!("../resource/built_in/schemas.json")).unwrap()
}

fn endpoint() -> Endpoint {
    let text = json!({"type": "string"});
    let keyed = |keys: &[&str], properties: Value| {
        let items = json!({"type": "object", "properties": properties});
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items})
    };
    let json = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"},
            "code": text,
            "replicas": {"type": "integer"},
            "params": {"type": "object", "additionalProperties": text},
            "sealed": {"type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic"},
            "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "list": {"type": "array", "items": text},
            "items": keyed(&["name"], json!({"name": text, "sub": {"type": "object", "properties": {"a": text}}})),
            "ports": keyed(&["port", "protocol"], json!({
                "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": text,
            })),
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }},
        "status": {"type": "object", "properties": {"phase": text}},
    }});
    Endpoint {
        schema: graft(&parse(&json, &Definitions::new()), &object_meta(&definitions())),
        api_version: V1.to_owned(),
        kind: "Widget".to_owned(),
        subresource: String::new(),
        reset: Endpoint::main_reset(true),
        origin: Origin::Custom,
    }
}

fn status_endpoint() -> Endpoint {
    Endpoint { subresource: "status".to_owned(), reset: Endpoint::status_reset(), ..endpoint() }
}

fn widget(parts: Value) -> Value {
    let mut object = json!({"apiVersion": V1, "kind": "Widget", "metadata": {"name": "a"}});
    json_patch::merge(&mut object, &parts);
    object
}

/// An object that several managers write one after the other, a second apart.
struct Story {
    endpoint: Endpoint,
    object: Option<Value>,
    now: Timestamp,
}

impl Story {
    fn new() -> Self {
        Self { endpoint: endpoint(), object: None, now: Timestamp::UNIX_EPOCH }
    }

    fn at(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = endpoint;
        self
    }

    fn try_apply(&self, manager: &str, parts: Value, force: bool) -> Result<Value, ApplyError> {
        let writer = Writer { manager, now: self.now };
        apply(&self.endpoint, self.object.as_ref(), &widget(parts), &writer, force, |_| {})
    }

    fn applies(mut self, manager: &str, parts: Value) -> Self {
        self.tick();
        self.object = Some(self.try_apply(manager, parts, false).unwrap());
        self
    }

    fn forces(mut self, manager: &str, parts: Value) -> Self {
        self.tick();
        self.object = Some(self.try_apply(manager, parts, true).unwrap());
        self
    }

    /// A create, or a merge patch of what is there.
    fn updates(mut self, manager: &str, parts: Value) -> Self {
        self.tick();
        let mut object = self.object.clone().unwrap_or_else(|| widget(json!({})));
        json_patch::merge(&mut object, &parts);
        update(&self.endpoint, self.object.as_ref(), &mut object, &Writer { manager, now: self.now });
        if self.object.is_none() {
            object["metadata"]["uid"] = "u".into();
        }
        self.object = Some(object);
        self
    }

    fn tick(&mut self) {
        self.now += jiff::SignedDuration::from_secs(1);
    }

    fn object(&self) -> &Value {
        self.object.as_ref().unwrap()
    }

    /// The fields of every owner, by manager, operation and subresource.
    fn owners(&self) -> BTreeMap<String, Value> {
        let entries = self.object()["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let name = |entry: &Value| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("manager"), text("operation"), text("subresource")).trim_end().to_owned()
        };
        entries.iter().map(|entry| (name(entry), entry["fieldsV1"].clone())).collect()
    }

    fn check_spec(self, expected: Value) -> Self {
        assert_eq!(self.object().get("spec").cloned().unwrap_or_default(), expected);
        self
    }

    fn check_owners(self, expected: &[(&str, Value)]) -> Self {
        let expected = expected.iter().map(|(name, fields)| ((*name).to_owned(), fields.clone())).collect();
        assert_eq!(self.owners(), expected);
        self
    }

    fn check_refusal(&self, manager: &str, parts: Value, code: u16, message: &str) {
        let status = self.try_apply(manager, parts, false).unwrap_err().status();
        assert_eq!((status.code.as_u16(), status.message.as_str()), (code, message));
    }
}

#[test]
fn appliers_own_leaves_and_creators_own_maps_too() {
    let parts = json!({"spec": {"size": 1, "params": {"x": "1"}, "items": [{"name": "a", "sub": {"a": "1"}}]}});
    let item = r#"k:{"name":"a"}"#;
    let applied = json!({"f:spec": {
        "f:size": {},
        "f:params": {"f:x": {}},
        "f:items": {item: {".": {}, "f:name": {}, "f:sub": {"f:a": {}}}},
    }});
    Story::new().applies("m", parts.clone()).check_owners(&[("m Apply", applied)]);
    let created = json!({"f:spec": {
        ".": {},
        "f:size": {},
        "f:params": {".": {}, "f:x": {}},
        "f:items": {".": {}, item: {".": {}, "f:name": {}, "f:sub": {".": {}, "f:a": {}}}},
    }});
    Story::new().updates("m", parts).check_owners(&[("m Update", created)]);
}

#[test]
fn nothing_and_atoms_are_one_field() {
    let parts = json!({"spec": {"params": {}, "sealed": {"a": "1"}, "list": ["a"], "tags": ["a"], "any": {"l": [1]}}});
    let owned = json!({"f:spec": {
        "f:params": {}, "f:sealed": {}, "f:list": {}, "f:tags": {"v:\"a\"": {}}, "f:any": {"f:l": {}},
    }});
    Story::new().applies("m", parts).check_owners(&[("m Apply", owned)]);
}

#[test]
fn a_key_that_is_left_out_has_its_default() {
    let story = Story::new().applies("m", json!({"spec": {"ports": [{"port": 80}]}}));
    let key = r#"k:{"port":80,"protocol":"TCP"}"#;
    story.check_owners(&[("m Apply", json!({"f:spec": {"f:ports": {key: {".": {}, "f:port": {}}}}}))]);
}

#[test]
fn force_takes_the_field_and_agreement_shares_it() {
    let size = json!({"f:spec": {"f:size": {}}});
    let story = Story::new().applies("m1", json!({"spec": {"size": 1, "code": "a"}}));
    let story = story.forces("m2", json!({"spec": {"size": 2}}));
    let story = story.check_spec(json!({"size": 2, "code": "a"}));
    let story = story.check_owners(&[("m1 Apply", json!({"f:spec": {"f:code": {}}})), ("m2 Apply", size.clone())]);
    let story = story.applies("m3", json!({"spec": {"size": 2}}));
    assert_eq!(story.owners()["m3 Apply"], size);
}

#[test]
fn what_its_only_owner_leaves_out_goes() {
    let story = Story::new().applies("m1", json!({"spec": {"size": 1, "code": "a", "tags": ["a", "b"]}}));
    let story = story.applies("m2", json!({"spec": {"code": "a", "tags": ["b"]}}));
    story.applies("m1", json!({"spec": {"size": 1}})).check_spec(json!({"size": 1, "code": "a", "tags": ["b"]}));
}

#[test]
fn a_map_that_loses_its_last_member_becomes_null() {
    let story = Story::new().applies("m", json!({"spec": {"params": {"x": "1"}}}));
    story.applies("m", json!({"spec": {"params": {}}})).check_spec(json!({"params": null}));
}

#[test]
fn an_endpoint_owns_only_what_it_can_change() {
    let everything = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 1}, "status": {"phase": "x"}});
    let main = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:size": {}}});
    let story = Story::new().applies("m1", everything.clone()).check_owners(&[("m1 Apply", main.clone())]);
    let story = story.at(status_endpoint()).applies("m2", everything);
    story.check_owners(&[("m1 Apply", main), ("m2 Apply status", json!({"f:status": {"f:phase": {}}}))]);
}

#[test]
fn shared_items_stand_in_the_order_of_the_configuration() {
    let check = |live: &[&str], config: &[&str], expected: &[&str]| {
        let story = Story::new().updates("m1", json!({"spec": {"tags": live}}));
        story.forces("m2", json!({"spec": {"tags": config}})).check_spec(json!({"tags": expected}));
    };
    check(&["a", "b"], &["c"], &["a", "b", "c"]);
    check(&["a", "b"], &["b", "a"], &["b", "a"]);
    check(&["a", "x", "b"], &["b", "a"], &["x", "b", "a"]);
    check(&["a", "b", "c"], &["x", "b"], &["a", "x", "b", "c"]);
    check(&["x", "a", "y"], &["a", "n"], &["x", "a", "y", "n"]);
}

#[test]
fn a_list_that_became_atomic_is_owned_as_one() {
    let mut story = Story::new().applies("m1", json!({"spec": {"tags": ["a", "b"]}}));
    let spec = Arc::make_mut(story.endpoint.schema.properties.get_mut("spec").unwrap());
    Arc::make_mut(spec.properties.get_mut("tags").unwrap()).list = crate::schema::ListType::Atomic;
    let story = story.applies("m2", json!({"spec": {"size": 1}}));
    assert_eq!(story.owners()["m1 Apply"], json!({"f:spec": {"f:tags": {}}}));
}
