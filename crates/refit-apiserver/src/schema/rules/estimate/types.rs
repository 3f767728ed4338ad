//! Types of values, as far as their sizes depend on them.

use super::range::Range;
use crate::schema::rules::convert::escape;
use crate::schema::{Additional, Kind, Schema};

/// The largest request, as the estimate has it.
const REQUEST_BYTES: u64 = 3 * 1024 * 1024;
const MAX_TIME_BYTES: u64 = 32;
const DATE_BYTES: u64 = 12;

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Type<'s> {
    /// What the schema says. `is_resource`: with a type and metadata of its own.
    Declared {
        schema: &'s Schema,
        is_resource: bool,
    },
    /// The metadata that every resource has.
    Metadata,
    /// A text that is only bounded by the request: a name, a kind.
    LongText,
    /// The keys of a map: texts that nothing bounds.
    Keys,
    Text,
    Bytes,
    /// A number, a truth value, a time.
    Scalar,
    List(Box<Type<'s>>),
    Map(Box<Type<'s>>),
    Unknown,
}

/// What a macro goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Keys,
    Values,
}

impl<'s> Type<'s> {
    pub(super) fn declared(schema: &'s Schema, is_resource: bool) -> Self {
        Self::Declared { schema, is_resource }
    }

    /// How large values are, where the type says so.
    pub(super) fn size(&self) -> Option<Range> {
        match self {
            Self::Declared { schema, .. } => is_known(schema).then(|| Range::up_to(max_elements(schema))),
            // The real server has no bound for keys, and takes that for zero.
            Self::Keys => Some(Range::up_to(0)),
            // What is not known here is no reason to refuse a rule, which is metered when it runs.
            Self::Scalar | Self::Unknown => Some(Range::fixed(1)),
            Self::LongText => Some(Range::up_to(REQUEST_BYTES - 2)),
            Self::Metadata => Some(Range::up_to(0)),
            Self::Text | Self::Bytes | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The same type of values that the schema does not bound.
    pub(super) fn undeclared(self) -> Self {
        let Self::Declared { schema, .. } = self else { return self };
        match (schema.kind, schema.format.as_deref()) {
            (Some(Kind::String), Some("date" | "date-time" | "duration")) => Self::Scalar,
            (Some(Kind::String), Some("byte")) => Self::Bytes,
            (Some(Kind::String), _) => Self::Text,
            (Some(Kind::Integer | Kind::Number | Kind::Boolean), _) => Self::Scalar,
            (Some(Kind::Array), _) => Self::List(Box::new(
                schema.items.as_deref().map_or(Self::Unknown, |items| Self::declared(items, false)),
            )),
            _ => self,
        }
    }

    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Declared { schema, .. } => schema.kind == Some(Kind::Array),
            Self::List(_) => true,
            _ => false,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Declared { schema, .. } => {
                schema.kind == Some(Kind::String)
                    && !matches!(schema.format.as_deref(), Some("date" | "date-time" | "duration"))
            }
            Self::Text | Self::Bytes | Self::Keys | Self::LongText => true,
            _ => false,
        }
    }

    /// Whether taking a field of it costs something.
    pub(super) fn is_selectable(&self) -> bool {
        match self {
            Self::Declared { schema, .. } => schema.kind == Some(Kind::Object),
            Self::Map(_) | Self::Metadata => true,
            _ => false,
        }
    }

    pub(super) fn field(&self, name: &str) -> Self {
        match self {
            Self::Declared { schema, is_resource } => {
                match name {
                    "kind" | "apiVersion" if *is_resource => return Self::LongText,
                    "metadata" if *is_resource => return Self::Metadata,
                    _ => {}
                }
                let named = schema.properties.iter().find(|(property, _)| escape(property) == name);
                match (named, &schema.additional) {
                    (Some((_, property)), _) => Self::declared(property, property.embedded_resource),
                    (None, Additional::Values(values)) => Self::declared(values, values.embedded_resource),
                    (None, _) => Self::Unknown,
                }
            }
            Self::Metadata => Self::LongText,
            Self::Map(values) => (**values).clone(),
            _ => Self::Unknown,
        }
    }

    pub(super) fn element(&self, element: Element) -> Self {
        match (self, element) {
            (Self::Declared { schema, .. }, Element::Values) => match (&schema.items, &schema.additional) {
                (Some(items), _) => Self::declared(items, items.embedded_resource),
                (None, Additional::Values(values)) => Self::declared(values, values.embedded_resource),
                _ => Self::Unknown,
            },
            (Self::Declared { .. }, Element::Keys) => Self::Keys,
            (Self::List(item) | Self::Map(item), Element::Values) => (**item).clone(),
            _ => Self::Unknown,
        }
    }
}

/// Whether rules can see values of the schema.
fn is_known(schema: &Schema) -> bool {
    schema.int_or_string || schema.kind.is_some()
}

/// How many characters, items or members a value has at most.
fn max_elements(schema: &Schema) -> u64 {
    if schema.int_or_string {
        return schema.limits.max_length.map_or(REQUEST_BYTES - 2, |length| length.saturating_mul(4));
    }
    match (schema.kind, schema.format.as_deref()) {
        (Some(Kind::Array), _) => {
            let least = schema.items.as_deref().map_or(1, min_bytes);
            schema.limits.max_items.unwrap_or((REQUEST_BYTES - 2) / (least + 1))
        }
        (Some(Kind::Object), _) => match &schema.additional {
            Additional::Values(values) => {
                schema.limits.max_properties.unwrap_or((REQUEST_BYTES - 2) / (min_bytes(values) + 6))
            }
            Additional::Unspecified | Additional::Forbidden | Additional::Anything => 0,
        },
        (Some(Kind::String), Some("duration" | "date-time")) => MAX_TIME_BYTES,
        (Some(Kind::String), Some("date")) => DATE_BYTES,
        (Some(Kind::String), Some("byte")) => schema.limits.max_length.unwrap_or(REQUEST_BYTES - 2),
        (Some(Kind::String), _) => match (schema.limits.max_length, schema.limits.enumeration.as_slice()) {
            (Some(length), _) => length.saturating_mul(4),
            (None, []) => REQUEST_BYTES - 2,
            (None, values) => values.iter().filter_map(|value| value.as_str()).map(str::len).max().unwrap_or(0) as u64,
        },
        (Some(Kind::Integer | Kind::Number | Kind::Boolean) | None, _) => 0,
    }
}

/// The least that a value takes up as JSON.
fn min_bytes(schema: &Schema) -> u64 {
    if schema.int_or_string {
        return 1;
    }
    match (schema.kind, schema.format.as_deref()) {
        (Some(Kind::Object), _) if matches!(schema.additional, Additional::Values(_)) => 2,
        (Some(Kind::Object), _) => {
            let needed = schema.properties.iter().filter(|(name, property)| {
                schema.required.contains(name) && property.default.is_none() && is_known(property)
            });
            2 + needed.map(|(name, property)| name.len() as u64 + min_bytes(property) + 4).sum::<u64>()
        }
        (Some(Kind::String), Some("duration")) => 3,
        (Some(Kind::String), Some("date")) => DATE_BYTES,
        (Some(Kind::String), Some("date-time")) => 21,
        (Some(Kind::Array | Kind::String), _) => 2,
        (Some(Kind::Boolean), _) => 4,
        (Some(Kind::Integer | Kind::Number) | None, _) => 1,
    }
}

/// How many values of a schema there can be in one object where nothing bounds their number.
pub fn max_count(schema: &Schema) -> u64 {
    REQUEST_BYTES / (min_bytes(schema) + 1)
}
