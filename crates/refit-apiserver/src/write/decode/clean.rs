//! What happens to every object that a client sends: fields that nobody knows go, defaults come.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::definition;
use crate::resource::Resource;
use crate::schema::{Schema, drop_nulls, prune, set_defaults};
use crate::write::Scene;
use crate::write::prepare::label_namespace;

/// Drops and fills in what the schema says. Returns the paths of what it does not know.
pub(in crate::write) fn clean(scene: &Scene<'_>, object: &mut Value) -> Vec<String> {
    let resource = scene.resource;
    if resource.is_custom() {
        drop_nulls(&resource.schema, object);
        let mut unknown = prune(&resource.schema, object);
        clean_embedded(&resource.schema, object, "", &mut unknown);
        set_defaults(&resource.schema, object, scene.budget);
        clean_metadata(object, unknown)
    } else {
        // The real server decodes built-in kinds into structs: a null is an absent field, and so is an unknown one.
        remove_nulls(object);
        let unknown = prune(&resource.schema, object);
        settle(resource, object);
        clean_metadata(object, unknown)
    }
}

/// Gives an object the form that it has in Go, of a built-in kind all of it: what is empty goes, what is always there
/// comes.
pub(in crate::write) fn settle(resource: &Resource, object: &mut Value) {
    if resource.is_custom() {
        return clean_embedded(&resource.schema, object, "", &mut Vec::new());
    }
    remove_nulls(object);
    if definition::is_definition(resource) {
        definition::set_defaults(object);
    } else {
        drop_empty(object);
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => label_namespace(object),
        ("", "secrets") => prepare_secret(object),
        ("", "nodes") => add_times(object),
        _ => {}
    }
    add_structs(&resource.schema, object);
}

/// Metadata is a struct in Go: it loses what it does not know, and what is empty.
pub(in crate::write) fn clean_metadata(object: &mut Value, mut unknown: Vec<String>) -> Vec<String> {
    if let Some(metadata) = object.get_mut("metadata") {
        let lost = clean_object_meta(metadata);
        unknown.extend(lost.into_iter().map(|path| format!("metadata.{path}")));
        unknown.sort();
    }
    unknown
}

fn clean_object_meta(metadata: &mut Value) -> Vec<String> {
    // Fields of owners have names of their own, which no schema lists.
    let managed = metadata.as_object_mut().and_then(|members| members.remove("managedFields"));
    remove_nulls(metadata);
    let unknown = prune(crate::resource::object_meta(), metadata);
    if let Some(members) = metadata.as_object_mut() {
        members.retain(|name, member| name != "selfLink" && !is_empty(member));
        members
            .extend(managed.filter(|managed| !managed.is_null()).map(|managed| ("managedFields".to_owned(), managed)));
    }
    unknown
}

/// The metadata of objects inside the object goes the same way.
fn clean_embedded(schema: &Schema, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(metadata) = members.get_mut("metadata").filter(|_| schema.embedded_resource) {
                let lost = clean_object_meta(metadata);
                unknown.extend(lost.into_iter().map(|lost| format!("{path}.metadata.{lost}")));
            }
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if let Some(schema) = schema.member(name) {
                    clean_embedded(schema, member, &path, unknown);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = &schema.items {
                    clean_embedded(schema, item, &format!("{path}[{index}]"), unknown);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A secret has a type, and takes texts that it keeps as bytes.
fn prepare_secret(secret: &mut Value) {
    let Some(members) = secret.as_object_mut() else { return };
    if matches!(members.get("type").and_then(Value::as_str), None | Some("")) {
        members.insert("type".to_owned(), "Opaque".into());
    }
    let Some(Value::Object(texts)) = members.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let data = members.entry("data").or_insert_with(|| json!({}));
    for (name, text) in texts {
        data[name] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}

/// Lists and maps without content are not there, at any depth; the object's own parts stay.
fn drop_empty(object: &mut Value) {
    let parts = object.as_object_mut().into_iter().flat_map(|members| members.iter_mut());
    for (_, part) in parts.filter(|(name, _)| *name != "metadata") {
        drop_empty_members(part);
    }
    if let Some(members) = object.as_object_mut() {
        members.retain(|name, member| matches!(name.as_str(), "metadata" | "spec" | "status") || !is_empty(member));
    }
}

fn drop_empty_members(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(drop_empty_members);
            members.retain(|_, member| !matches!(member, Value::Array(items) if items.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty_members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The conditions of nodes always have their times, if only as null.
fn add_times(node: &mut Value) {
    let conditions = node.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten();
    for condition in conditions.filter_map(Value::as_object_mut) {
        for name in ["lastHeartbeatTime", "lastTransitionTime"] {
            condition.entry(name).or_insert(Value::Null);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What is a struct in Go is always there, if only as `{}`.
fn add_structs(schema: &Schema, value: &mut Value) {
    let Some(members) = value.as_object_mut() else {
        if let (Some(items), Some(of_items)) = (value.as_array_mut(), &schema.items) {
            items.iter_mut().for_each(|item| add_structs(of_items, item));
        }
        return;
    };
    for (name, property) in &schema.properties {
        let is_struct = property.default.as_ref().is_some_and(|default| default.as_object().is_some_and(Map::is_empty));
        if is_struct && name != "metadata" {
            members.entry(name).or_insert_with(|| Value::Object(Map::new()));
        }
    }
    for (name, member) in members {
        if let Some(schema) = schema.member(name).filter(|_| name != "metadata") {
            add_structs(schema, member);
        }
    }
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
