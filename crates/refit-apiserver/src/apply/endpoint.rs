//! Where objects are written.

use serde_json::{Value, json};

use crate::schema::Schema;

use super::field_set::FieldSet;
use super::types::Type;

/// Where objects are written: a version of a resource, or a subresource of it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// With the schema of metadata in it; see [`super::graft`].
    pub schema: Schema,
    /// As in `cluster.x-k8s.io/v1beta2`.
    pub api_version: String,
    pub kind: String,
    /// `status` or `scale`; empty for the resource itself.
    pub subresource: String,
    /// What a write here cannot change, and so nobody comes to own here.
    pub reset: FieldSet,
    pub origin: Origin,
}

/// Where a kind comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A CustomResourceDefinition: an object has what its JSON has.
    Custom,
    /// Kubernetes: an object always has its structs, such as `spec`, so that nobody comes to own them by creating it.
    BuiltIn,
}

impl Endpoint {
    /// What the resource itself does not let anybody change: the status, where that has an endpoint of its own.
    pub fn main_reset(has_status: bool) -> FieldSet {
        if has_status { FieldSet::of_fields(&[&["status"]]) } else { FieldSet::default() }
    }

    /// What `/status` of a custom resource does not let anybody change.
    pub fn status_reset() -> FieldSet {
        FieldSet::of_fields(&[&["metadata"], &["spec"]])
    }

    pub(super) fn root(&self) -> Type<'_> {
        Type::of(&self.schema)
    }

    /// What a new object is compared with.
    pub(super) fn before(&self, new: &Value) -> Value {
        let mut empty = self.empty();
        if self.origin == Origin::BuiltIn {
            add_blanks(&mut empty, new);
        }
        empty
    }

    /// An object of the kind with nothing in it.
    pub(super) fn empty(&self) -> Value {
        let mut object = match self.origin {
            Origin::Custom => json!({}),
            Origin::BuiltIn => zero(&self.schema),
        };
        object["apiVersion"] = self.api_version.as_str().into();
        object["kind"] = self.kind.as_str().into();
        object
    }
}

/// Adds to an empty built-in object what a new one has and says nothing by: Kubernetes writes some fields always.
fn add_blanks(empty: &mut Value, new: &Value) {
    let (Some(empty), Some(new)) = (empty.as_object_mut(), new.as_object()) else { return };
    for (name, value) in new {
        match empty.get_mut(name) {
            Some(there) => add_blanks(there, value),
            None if value.is_null() || value.as_str() == Some("") => {
                empty.insert(name.clone(), value.clone());
            }
            None => {}
        }
    }
}

/// What a built-in kind has when nothing was said: its structs, and null for the lists and maps that it must have.
fn zero(schema: &Schema) -> Value {
    let mut object = json!({});
    for (name, property) in &schema.properties {
        let is_struct = property.default.as_ref().is_some_and(|default| *default == json!({}));
        if is_struct {
            object[name] = zero(property);
        } else if schema.required.contains(name) {
            object[name] = Value::Null;
        }
    }
    object
}
