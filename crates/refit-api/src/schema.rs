//! Pieces of OpenAPI schema that several fields share: names, and the Kubernetes types that have no schema of their own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// A DNS-1123 subdomain: dot-separated labels of lowercase letters, digits and dashes.
pub const DNS_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A DNS-1123 label.
pub const DNS_LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The name of a Kubernetes kind, as Cluster API checks it.
pub const KIND: &str = r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$";
/// A condition type: an optional DNS subdomain and a slash, then a name.
pub const CONDITION_TYPE: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The reason of a condition.
pub const CONDITION_REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// Defines types that have a schema and nothing else, to be named in `#[schemars(with = "...")]`.
macro_rules! schema_types {
    ($($(#[$doc:meta])* $name:ident = $schema:tt;)+) => {$(
        $(#[$doc])*
        pub enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

schema_types! {
    /// A point in time, in RFC 3339.
    Time = { "type": "string", "format": "date-time" };

    /// An integer, or a string such as `25%`.
    IntOrString = { "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true };

    /// An amount of a resource: an integer, or a string such as `500m`.
    Quantity = {
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true,
    };

    /// Any JSON value, kept as it is.
    Any = { "x-kubernetes-preserve-unknown-fields": true };

    /// Bytes, in base64 on the wire.
    Bytes = { "type": "string", "format": "byte" };

    /// A taint of a Node.
    Taint = {
        "type": "object",
        "required": ["effect", "key"],
        "properties": {
            "effect": { "type": "string" },
            "key": { "type": "string" },
            "timeAdded": { "type": "string", "format": "date-time" },
            "value": { "type": "string" },
        },
    };

    /// A label selector. Atomic: whoever applies one, owns the whole of it.
    LabelSelector = {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": { "type": "object", "additionalProperties": { "type": "string" } },
            "matchExpressions": {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": { "type": "string" },
                        "operator": { "type": "string" },
                        "values": { "type": "array", "x-kubernetes-list-type": "atomic", "items": { "type": "string" } },
                    },
                },
            },
        },
    };

    /// The conditions of an object: at most 32, one per type.
    Conditions = {
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": { "type": "string", "maxLength": 316, "pattern": CONDITION_TYPE },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024, "pattern": CONDITION_REASON },
                "message": { "type": "string", "maxLength": 32768 },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
            },
        },
    };

    /// What a Node reports about itself.
    NodeSystemInfo = {
        "type": "object",
        "required": [
            "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
            "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID",
        ],
        "properties": {
            "architecture": { "type": "string" },
            "bootID": { "type": "string" },
            "containerRuntimeVersion": { "type": "string" },
            "kernelVersion": { "type": "string" },
            "kubeProxyVersion": { "type": "string" },
            "kubeletVersion": { "type": "string" },
            "machineID": { "type": "string" },
            "operatingSystem": { "type": "string" },
            "osImage": { "type": "string" },
            "swap": { "type": "object", "properties": { "capacity": { "type": "integer", "format": "int64" } } },
            "systemUUID": { "type": "string" },
        },
    };
}

/// A generator that writes every type out where it is used.
pub fn generator() -> SchemaGenerator {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    SchemaGenerator::new(settings)
}

/// Rewrites what JSON Schema allows and a structural schema does not.
pub fn into_structural(schema: Schema) -> Value {
    let mut value = schema.to_value();
    simplify(&mut value);
    value
}

fn simplify(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(schema) => {
            for (keyword, value) in schema.iter_mut() {
                match (keyword.as_str(), value) {
                    // The names in here are of fields, not keywords.
                    ("properties", Value::Object(fields)) => fields.values_mut().for_each(simplify),
                    (_, value) => simplify(value),
                }
            }
            schema.remove("$schema");
            schema.remove("title");
            drop_null_type(schema);
            drop_null_alternative(schema);
            merge_constants(schema);
            if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                schema.remove("required");
            }
        }
        _ => {}
    }
}

/// `type: [string, null]` becomes `type: string`: a null is dropped by the API server before it is looked at.
fn drop_null_type(schema: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get_mut("type") else { return };
    types.retain(|t| t != "null");
    if let [only] = types.as_slice() {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
}

/// `anyOf: [X, null]` becomes X, with what stood beside the `anyOf` (a description) on top.
fn drop_null_alternative(schema: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.get("anyOf") else { return };
    let is_null = |s: &Value| s["type"] == "null";
    let others: Vec<&Value> = alternatives.iter().filter(|s| !is_null(s)).collect();
    if others.len() == alternatives.len() {
        return;
    }
    let [Value::Object(only)] = others.as_slice() else { return };
    let mut merged = only.clone();
    schema.remove("anyOf");
    merged.append(schema);
    *schema = merged;
}

/// `oneOf` of documented constants, as an enum with doc comments gives, becomes `enum`.
fn merge_constants(schema: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(variants)) = schema.get("oneOf") else { return };
    let Some(constants) = variants.iter().map(constants_of).collect::<Option<Vec<_>>>() else { return };
    let constants = constants.concat();
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), constants.into());
}

fn constants_of(variant: &Value) -> Option<Vec<Value>> {
    let variant = variant.as_object()?;
    variant
        .get("const")
        .map(|constant| vec![constant.clone()])
        .or_else(|| variant.get("enum").and_then(Value::as_array).cloned())
}
