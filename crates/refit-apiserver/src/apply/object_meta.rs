//! The schema of metadata, which CustomResourceDefinitions do not spell out.

use crate::schema::{Additional, Definitions, Kind, Schema, parse};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of metadata. What it does not name is refused, also inside objects that keep unknown fields.
pub fn object_meta(definitions: &Definitions) -> Schema {
    let mut schema = definitions.get(OBJECT_META).map(|json| parse(json, definitions)).unwrap_or_default();
    close(&mut schema);
    schema
}

/// A custom resource's schema with apiVersion, kind and metadata in it, and in the objects embedded in it.
pub fn graft(schema: &Schema, object_meta: &Schema) -> Schema {
    let mut schema = schema.clone();
    graft_embedded(&mut schema, object_meta);
    add_object_fields(&mut schema, object_meta);
    schema
}

fn graft_embedded(schema: &mut Schema, object_meta: &Schema) {
    for property in schema.properties.values_mut() {
        graft_embedded(property, object_meta);
    }
    if let Some(items) = &mut schema.items {
        graft_embedded(items, object_meta);
    }
    if let Additional::Values(values) = &mut schema.additional {
        graft_embedded(values, object_meta);
    }
    if schema.embedded_resource {
        add_object_fields(schema, object_meta);
    }
}

fn add_object_fields(schema: &mut Schema, object_meta: &Schema) {
    let string = || Schema { kind: Some(Kind::String), ..Schema::default() };
    schema.properties.insert("apiVersion".to_owned(), string());
    schema.properties.insert("kind".to_owned(), string());
    schema.properties.insert("metadata".to_owned(), object_meta.clone());
}

fn close(schema: &mut Schema) {
    if !schema.properties.is_empty() && schema.additional == Additional::Unspecified {
        schema.additional = Additional::Forbidden;
    }
    schema.properties.values_mut().for_each(close);
    if let Some(items) = &mut schema.items {
        close(items);
    }
}
