//! The schemas of kinds, and of everything that they refer to.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::resource::{Resource, built_in};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const GVK: &str = "x-kubernetes-group-version-kind";

/// The schemas of some resources, their lists, and what both are made of.
pub fn of<'a>(resources: &[&Resource], definitions: impl IntoIterator<Item = &'a Value>) -> Map<String, Value> {
    let definitions: Vec<&Value> = definitions.into_iter().collect();
    let mut schemas = Map::from_iter([(LIST_META.to_owned(), list_meta())]);
    let mut needed = BTreeSet::from([OBJECT_META.to_owned()]);
    for resource in resources {
        let name = name(resource);
        let mut schema = match built_in::definitions().get(&name).filter(|_| !resource.is_custom()) {
            Some(schema) => published(schema, &mut needed),
            None => custom(resource, &definitions),
        };
        schema[GVK] = json!([gvk(resource, &resource.kind)]);
        schemas.insert(format!("{name}List"), list(resource, &name));
        schemas.insert(name, schema);
    }
    while let Some(name) = needed.pop_first() {
        if let Some(schema) = built_in::definitions().get(&name).filter(|_| !schemas.contains_key(&name)) {
            let schema = published(schema, &mut needed);
            schemas.insert(name, schema);
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
fn custom(resource: &Resource, definitions: &[&Value]) -> Value {
    let of_resource = |definition: &&&Value| {
        definition["spec"]["group"] == resource.group.as_str()
            && definition["spec"]["names"]["plural"] == resource.plural.as_str()
    };
    let versions = definitions.iter().find(of_resource).and_then(|found| found["spec"]["versions"].as_array());
    let version = versions.into_iter().flatten().find(|version| version["name"] == resource.version.as_str());
    let schema = version.map(|version| &version["schema"]["openAPIV3Schema"]).filter(|schema| schema.is_object());
    let mut schema = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    let properties = &mut schema["properties"];
    for (field, description) in [("apiVersion", "Group and version of the kind."), ("kind", "The kind of the object.")]
    {
        if !properties[field].is_object() {
            properties[field] = json!({"type": "string", "description": description});
        }
    }
    properties["metadata"] = json!({"description": "The metadata of the object.", "allOf": [refer(OBJECT_META)]});
    schema
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
