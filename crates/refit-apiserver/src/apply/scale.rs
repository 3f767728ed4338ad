//! Ownership seen through `/scale`: of an object's many fields, the one that says how many replicas there are.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::schema::{Definitions, Schema, parse};

use super::field_set::FieldSet;
use super::managed::{Managed, ManagedError, Owned};
use super::path::PathElement;

/// The version of the Scale object.
pub const API_VERSION: &str = "autoscaling/v1";

/// The schema of a Scale, with the schema of metadata in it.
pub fn schema(object_meta: &Schema) -> Schema {
    let json = json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "spec": {"type": "object", "default": {}, "properties": {"replicas": {"type": "integer"}}},
            "status": {
                "type": "object",
                "default": {},
                "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
                "required": ["replicas"],
            },
        },
    });
    let mut schema = parse(&json, &Definitions::new());
    schema.properties.insert("metadata".to_owned(), Arc::new(object_meta.clone()));
    schema
}

/// The owners of an object's replicas, as owners of a Scale's replicas. `replicas` is the path in the object.
pub fn owners_of_scale(managed_fields: Option<&Value>, replicas: &[&str]) -> Result<Option<Value>, ManagedError> {
    let mut managed = Managed::decode(managed_fields)?;
    let path: Vec<PathElement> = replicas.iter().map(|name| PathElement::field(*name)).collect();
    let path: Vec<&PathElement> = path.iter().collect();
    managed.0.retain(|_, owned| owned.fields.contains(&path));
    for owned in managed.0.values_mut() {
        owned.fields = FieldSet::of_fields(&[&["spec", "replicas"]]).into();
        owned.api_version = API_VERSION.to_owned();
    }
    Ok(managed.into_json())
}

/// The owners of an object after a write through `/scale` left the Scale with the owners `scale`.
///
/// Who does not own the Scale's replicas any more loses the object's. Who owns them now gets an entry without a time;
/// so does who updated the object and still owns them, besides its entry for the rest, as on Kubernetes.
pub fn owners_of_object(
    object: Option<&Value>,
    scale: Option<&Value>,
    api_version: &str,
    replicas: &[&str],
) -> Result<Option<Value>, ManagedError> {
    let field = FieldSet::of_fields(&[replicas]);
    let mut owners = Managed::decode(object)?;
    let mut scalers = Managed::decode(scale)?;
    for (owner, owned) in &mut owners.0 {
        if field.is_subset(&owned.fields) && scalers.0.remove(owner).is_none() {
            owned.fields = owned.fields.difference(&field).into();
        }
    }
    owners.0.retain(|_, owned| !owned.fields.is_empty());
    let in_scale = FieldSet::of_fields(&[&["spec", "replicas"]]);
    for (scaler, _) in scalers.0.into_iter().filter(|(_, owned)| in_scale.is_subset(&owned.fields)) {
        let time = owners.0.get(&scaler).and_then(|owned| owned.time);
        owners.0.insert(scaler, Owned { fields: field.clone().into(), api_version: api_version.to_owned(), time });
    }
    Ok(owners.into_json())
}
