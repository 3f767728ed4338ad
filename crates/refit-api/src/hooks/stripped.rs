//! The schema of an object of a kind that we know, as hooks show it.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::resource::CustomKind;

/// Stands for an object of kind `K` whose spec is `Spec`, without status and most of its metadata.
pub struct Stripped<K, Spec>(PhantomData<(K, Spec)>);

impl<K: CustomKind, Spec: JsonSchema> JsonSchema for Stripped<K, Spec> {
    fn schema_name() -> Cow<'static, str> {
        K::DEFINITION.kind.into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Stripped<{}>", module_path!(), K::DEFINITION.kind).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kind = K::DEFINITION.kind;
        json_schema!({
            "description": format!("A {kind} as hooks show it: without status, and with little of its metadata."),
            "type": "object",
            "required": ["apiVersion", "kind", "metadata", "spec"],
            "properties": {
                "apiVersion": { "type": "string", "enum": [K::api_version(&())] },
                "kind": { "type": "string", "enum": [kind] },
                "metadata": generator.subschema_for::<ObjectMetadata>(),
                "spec": generator.subschema_for::<Spec>(),
            },
        })
    }
}

/// Stands for the metadata that is left.
enum ObjectMetadata {}

impl JsonSchema for ObjectMetadata {
    fn schema_name() -> Cow<'static, str> {
        "ObjectMetadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = json_schema!({ "type": "object", "additionalProperties": { "type": "string" } });
        json_schema!({
            "description": "What hooks are shown of an object's metadata.",
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "namespace": { "type": "string" },
                "labels": words,
                "annotations": words,
            },
        })
    }
}
