//! The schema of metadata, which CustomResourceDefinitions do not spell out.

use std::sync::Arc;

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
    let object_meta = Arc::new(object_meta.clone());
    let mut schema = grafted(schema, &object_meta).unwrap_or_else(|| schema.clone());
    add_object_fields(&mut schema, &object_meta);
    schema
}

/// A schema with the fields of every object in those that are embedded in it. `None` where there are none: then all of
/// it can be shared.
fn grafted(schema: &Schema, object_meta: &Arc<Schema>) -> Option<Schema> {
    let mut changed: Option<Schema> = None;
    for (name, property) in &schema.properties {
        if let Some(property) = grafted(property, object_meta) {
            changed.get_or_insert_with(|| schema.clone()).properties.insert(name.clone(), Arc::new(property));
        }
    }
    if let Some(items) = schema.items.as_deref().and_then(|items| grafted(items, object_meta)) {
        changed.get_or_insert_with(|| schema.clone()).items = Some(Arc::new(items));
    }
    if let Additional::Values(values) = &schema.additional
        && let Some(values) = grafted(values, object_meta)
    {
        changed.get_or_insert_with(|| schema.clone()).additional = Additional::Values(Arc::new(values));
    }
    if schema.embedded_resource {
        add_object_fields(changed.get_or_insert_with(|| schema.clone()), object_meta);
    }
    changed
}

fn add_object_fields(schema: &mut Schema, object_meta: &Arc<Schema>) {
    let string = Arc::new(Schema { kind: Some(Kind::String), ..Schema::default() });
    schema.properties.insert("apiVersion".to_owned(), string.clone());
    schema.properties.insert("kind".to_owned(), string);
    schema.properties.insert("metadata".to_owned(), object_meta.clone());
}

fn close(schema: &mut Schema) {
    if !schema.properties.is_empty() && schema.additional == Additional::Unspecified {
        schema.additional = Additional::Forbidden;
    }
    schema.properties.values_mut().for_each(|property| close(Arc::make_mut(property)));
    if let Some(items) = &mut schema.items {
        close(Arc::make_mut(items));
    }
}
