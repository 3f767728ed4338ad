//! The schema of `metadata`, which every kind shares.

use std::sync::{Arc, LazyLock};

use super::built_in::definitions;
use crate::schema::{Kind, Schema, parse};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let mut schema = parse(&definitions()[OBJECT_META], definitions());
    schema.default = None;
    schema.go_type = Some("v1.ObjectMeta".to_owned());
    Arc::new(schema)
});

/// The schema of an object's `metadata`.
pub fn object_meta() -> &'static Schema {
    &SCHEMA
}

/// Puts what every object has into the schema of a custom resource, which need not mention it.
pub(super) fn complete(mut schema: Schema) -> Schema {
    let text = Arc::new(Schema { kind: Some(Kind::String), ..Schema::default() });
    schema.kind = Some(Kind::Object);
    schema.properties.insert("apiVersion".to_owned(), text.clone());
    schema.properties.insert("kind".to_owned(), text);
    schema.properties.insert("metadata".to_owned(), SCHEMA.clone());
    schema
}
