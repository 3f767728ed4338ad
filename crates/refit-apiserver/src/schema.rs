//! Structural schemas: what an object of a kind may look like, and how two versions of it are merged.
//!
//! One tree serves custom resources, where it comes from a CustomResourceDefinition, and built-in kinds, where it comes
//! from a file. Defaulting, pruning, validation, server-side apply and strategic patches all walk this tree.

mod correlate;
mod fill;
mod lists;
mod parse;
pub mod pattern;
mod prune;
mod rules;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use fill::{drop_nulls, set_defaults};
pub use lists::validate_lists;
pub use parse::{Definitions, parse};
pub use prune::prune;
pub use rules::{RuleError, Rules};
pub use validate::validate;

/// One node of a structural schema. Cloning it shares what is below.
///
/// A kind has several trees that differ in their metadata only, and most leaves of a tree say the same. Titles and
/// descriptions are not in it: nothing here looks at them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// The JSON type. `None` accepts any, as `x-kubernetes-int-or-string` and unknown fields that are kept do.
    pub kind: Option<Kind>,
    /// As in `v1.ObjectMeta`, where the schema has a name; built-in kinds only.
    pub go_type: Option<String>,
    pub format: Option<String>,
    /// Whether null is a value; otherwise it is dropped before anything else looks.
    pub nullable: bool,
    pub default: Option<Value>,
    pub properties: BTreeMap<String, Arc<Schema>>,
    pub additional: Additional,
    pub items: Option<Arc<Schema>>,
    pub required: Vec<String>,
    pub list: ListType,
    pub map: MapType,
    /// `x-kubernetes-preserve-unknown-fields`: what `properties` does not name is kept.
    pub preserves_unknown: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-embedded-resource`: the value has apiVersion, kind and metadata of its own.
    pub embedded_resource: bool,
    pub limits: Limits,
    pub combined: Combined,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
    /// How a strategic merge patch treats the list or map; built-in kinds only.
    pub patch: PatchStrategy,
}

/// A JSON type as OpenAPI names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// What a map holds besides its named properties.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Additional {
    /// Nothing was said: unknown fields are pruned.
    #[default]
    Unspecified,
    /// `additionalProperties: false`.
    Forbidden,
    /// `additionalProperties: true`.
    Anything,
    /// Every other value follows this schema.
    Values(Arc<Schema>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// One field, replaced as a whole. What a list is when nothing is said.
    #[default]
    Atomic,
    /// Scalars, each its own owner's.
    Set,
    /// Objects that are told apart by these keys.
    Map { keys: Vec<String> },
}

/// `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MapType {
    /// Every key has an owner of its own. What a map is when nothing is said.
    #[default]
    Granular,
    /// One field, replaced as a whole.
    Atomic,
}

/// The bounds of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    pub enumeration: Vec<Value>,
    pub pattern: Option<String>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub exclusive_minimum: bool,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<f64>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
}

/// Further schemas of which all, any, one or none must hold. They only validate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Combined {
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub rule: String,
    pub message: Option<String>,
    pub message_expression: Option<String>,
    pub reason: Option<String>,
    pub field_path: Option<String>,
    pub optional_old_self: Option<bool>,
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists are merged, by `merge_key` where they hold objects; otherwise they are replaced.
    pub merge: bool,
    /// Keys that the patch does not name are dropped (`retainKeys`).
    pub retain_keys: bool,
    pub merge_key: Option<String>,
}

impl Schema {
    /// The schema of a map's member: a named property, or what all other members follow.
    pub fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).map(|named| &**named).or(match &self.additional {
            Additional::Values(values) => Some(values),
            Additional::Unspecified | Additional::Forbidden | Additional::Anything => None,
        })
    }

    /// Whether there is no other node below.
    fn is_leaf(&self) -> bool {
        let is_open = matches!(self.additional, Additional::Values(_));
        self.properties.is_empty() && self.items.is_none() && !is_open && self.combined == Combined::default()
    }

    /// Whether a member that has no schema of its own is kept as it is.
    pub fn keeps_unknown(&self) -> bool {
        self.preserves_unknown || matches!(self.additional, Additional::Anything)
    }

    /// Whether the node is a map of arbitrary keys, not a struct of named fields.
    pub fn is_map(&self) -> bool {
        matches!(self.additional, Additional::Values(_) | Additional::Anything)
    }
}
