//! The schemas of kinds, and of everything that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::resource::{Resource, built_in};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const GVK: &str = "x-kubernetes-group-version-kind";

/// A part of a document. What is taken from a definition as it is stays there.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Part<'a> {
    Made(Value),
    Taken(&'a Value),
    Mixed(BTreeMap<&'a str, Part<'a>>),
}

/// The schemas of some resources, their lists, and what both are made of.
pub fn of<'a>(resources: &[&Resource], definitions: &[&'a Value]) -> BTreeMap<String, Part<'a>> {
    let mut schemas = BTreeMap::from([(LIST_META.to_owned(), Part::Made(list_meta()))]);
    let mut needed = BTreeSet::from([OBJECT_META.to_owned()]);
    for resource in resources {
        let name = name(resource);
        let of_kind = json!([gvk(resource, &resource.kind)]);
        let schema = match built_in::definitions().get(&name).filter(|_| !resource.is_custom()) {
            Some(schema) => {
                let mut schema = published(schema, &mut needed);
                schema[GVK] = of_kind;
                Part::Made(schema)
            }
            None => custom(resource, definitions, of_kind),
        };
        schemas.insert(format!("{name}List"), Part::Made(list(resource, &name)));
        schemas.insert(name, schema);
    }
    while let Some(name) = needed.pop_first() {
        if let Some(schema) = built_in::definitions().get(&name).filter(|_| !schemas.contains_key(&name)) {
            let schema = published(schema, &mut needed);
            schemas.insert(name, Part::Made(schema));
        }
    }
    schemas
}

/// A reference to the schema of a resource's kind.
pub fn reference(resource: &Resource) -> Value {
    refer(&name(resource))
}

/// A reference to the schema of a resource's list.
pub fn list_reference(resource: &Resource) -> Value {
    refer(&format!("{}List", name(resource)))
}

/// A kind as OpenAPI extensions name it.
pub fn gvk(resource: &Resource, kind: &str) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": kind})
}

fn refer(name: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{name}")})
}

/// The name of a kind's schema: for custom ones, the group backwards, the version and the kind.
fn name(resource: &Resource) -> String {
    if let Some(name) = built_in::definition_name(&resource.group, &resource.plural).filter(|_| !resource.is_custom()) {
        return name.to_owned();
    }
    let group: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// A stored schema with its references as OpenAPI writes them. What it refers to becomes needed.
fn published(schema: &Value, needed: &mut BTreeSet<String>) -> Value {
    match schema {
        Value::Object(map) => {
            let mut map: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), published(value, needed))).collect();
            let Some(Value::String(name)) = map.get("$ref").cloned() else { return Value::Object(map) };
            needed.insert(name.clone());
            if map.len() == 1 {
                return refer(&name);
            }
            map.remove("$ref");
            map.insert("allOf".to_owned(), json!([refer(&name)]));
            Value::Object(map)
        }
        Value::Array(list) => list.iter().map(|value| published(value, needed)).collect(),
        other => other.clone(),
    }
}

/// The schema of a custom resource as its definition has it, completed by what every object has.
fn custom<'a>(resource: &Resource, definitions: &[&'a Value], of_kind: Value) -> Part<'a> {
    let of_resource = |definition: &&&Value| {
        definition["spec"]["group"] == resource.group.as_str()
            && definition["spec"]["names"]["plural"] == resource.plural.as_str()
    };
    let versions = definitions.iter().find(of_resource).and_then(|found| found["spec"]["versions"].as_array());
    let version = versions.into_iter().flatten().find(|version| version["name"] == resource.version.as_str());
    let schema = version.and_then(|version| version["schema"]["openAPIV3Schema"].as_object());
    let mut parts = taken(schema);
    if schema.is_none() {
        parts.insert("type", Part::Made(json!("object")));
    }
    let mut properties = taken(schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object));
    for (field, description) in [("apiVersion", "Group and version of the kind."), ("kind", "The kind of the object.")]
    {
        if !matches!(properties.get(field), Some(Part::Taken(Value::Object(_)))) {
            properties.insert(field, Part::Made(json!({"type": "string", "description": description})));
        }
    }
    let metadata = json!({"description": "The metadata of the object.", "allOf": [refer(OBJECT_META)]});
    properties.insert("metadata", Part::Made(metadata));
    parts.insert("properties", Part::Mixed(properties));
    parts.insert(GVK, Part::Made(of_kind));
    Part::Mixed(parts)
}

/// The members of an object, as they are.
fn taken(members: Option<&Map<String, Value>>) -> BTreeMap<&str, Part<'_>> {
    let members = members.into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), Part::Taken(value))).collect()
}

fn list(resource: &Resource, name: &str) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "description": format!("A list of {}.", resource.plural),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("Group and version of the kind."),
            "kind": text("The kind of the list."),
            "metadata": {"description": "The metadata of the list.", "allOf": [refer(LIST_META)]},
            "items": {"type": "array", "items": refer(name)},
        },
        GVK: [gvk(resource, &resource.list_kind)],
    })
}

fn list_meta() -> Value {
    json!({
        "description": "What lists say about themselves.",
        "type": "object",
        "properties": {
            "continue": {"type": "string", "description": "Asks for the next page."},
            "remainingItemCount": {"type": "integer", "format": "int64", "description": "How many items follow the page."},
            "resourceVersion": {"type": "string", "description": "The version that the list shows."},
            "selfLink": {"type": "string"},
        },
    })
}
