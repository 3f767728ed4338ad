//! How apply sees a schema: which values are one field, and which are made of fields.

use serde_json::Value;

use crate::schema::{Additional, Kind, ListType, MapType, Schema};

use super::path::{PathElement, Scalar};

/// The type of one value.
#[derive(Clone, Copy)]
pub enum Type<'s> {
    /// A node of the schema.
    Declared {
        schema: &'s Schema,
        /// A node above keeps unknown fields, and so does this one.
        keeps_unknown: bool,
    },
    /// No schema: maps are made of fields, lists are one field.
    Deduced,
    /// No schema, inside a list: everything is one field.
    Untyped,
}

/// What a value is treated as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Map,
    List,
    Scalar,
}

/// Which scalars a node takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ScalarType {
    Numeric,
    String,
    Boolean,
    Any,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy)]
pub enum Items<'s> {
    /// Not at all: the list is one field.
    Atomic,
    Set,
    Keyed(&'s [String]),
}

impl<'s> Type<'s> {
    /// The type of a whole object.
    pub fn of(schema: &'s Schema) -> Self {
        Self::Declared { schema, keeps_unknown: schema.preserves_unknown }
    }

    fn child(schema: &'s Schema, keeps_unknown: bool) -> Self {
        Self::Declared { schema, keeps_unknown: keeps_unknown || schema.preserves_unknown }
    }

    /// What a value is treated as. A node that says no type follows the value; null and nothing pass as a map there.
    pub fn shape(self, value: Option<&Value>) -> Shape {
        match self.kind() {
            Some(Kind::Object) => Shape::Map,
            Some(Kind::Array) => Shape::List,
            Some(Kind::String | Kind::Integer | Kind::Number | Kind::Boolean) => Shape::Scalar,
            None => match value {
                Some(Value::Array(_)) => Shape::List,
                None | Some(Value::Null | Value::Object(_)) => Shape::Map,
                Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) => Shape::Scalar,
            },
        }
    }

    /// Whether the value itself says what it is treated as.
    pub fn is_open(self) -> bool {
        self.kind().is_none()
    }

    fn kind(self) -> Option<Kind> {
        match self {
            Self::Declared { schema, .. } => schema.kind,
            Self::Deduced | Self::Untyped => None,
        }
    }

    pub fn scalar(self) -> ScalarType {
        match (self.kind(), self) {
            (Some(Kind::Integer | Kind::Number), _) => ScalarType::Numeric,
            (Some(Kind::Boolean), _) => ScalarType::Boolean,
            (Some(Kind::String), Self::Declared { schema, .. }) if is_plain(schema.format.as_deref()) => {
                ScalarType::String
            }
            _ => ScalarType::Any,
        }
    }

    /// Whether a map of this type is one field.
    pub fn is_atomic_map(self) -> bool {
        match self {
            Self::Declared { schema, .. } => schema.map == MapType::Atomic,
            Self::Deduced => false,
            Self::Untyped => true,
        }
    }

    /// Whether a map names this field, instead of taking any.
    pub fn names(self, field: &str) -> bool {
        matches!(self, Self::Declared { schema, .. } if schema.properties.contains_key(field))
    }

    /// Whether a map takes anything and names nothing.
    pub fn is_free_map(self) -> bool {
        match self {
            Self::Declared { schema, .. } => {
                let open = |member: Type<'_>| match member {
                    Type::Deduced => true,
                    Type::Declared { schema, .. } => schema.kind.is_none(),
                    Type::Untyped => false,
                };
                schema.properties.is_empty() && self.other_members().is_some_and(open)
            }
            Self::Deduced => true,
            Self::Untyped => false,
        }
    }

    /// The type of a member of a map; `None` where the schema does not allow it.
    pub fn member(self, field: &str) -> Option<Type<'s>> {
        match self {
            Self::Declared { schema, keeps_unknown } => match schema.properties.get(field) {
                Some(property) => Some(Self::child(property, keeps_unknown)),
                None => self.other_members(),
            },
            Self::Deduced | Self::Untyped => Some(self),
        }
    }

    fn other_members(self) -> Option<Type<'s>> {
        let Self::Declared { schema, keeps_unknown } = self else { return Some(self) };
        match &schema.additional {
            Additional::Values(values) => Some(Self::child(values, keeps_unknown)),
            Additional::Anything => Some(Self::Deduced),
            Additional::Forbidden => None,
            Additional::Unspecified => (keeps_unknown || schema.properties.is_empty()).then_some(Self::Deduced),
        }
    }

    pub fn items(self) -> Items<'s> {
        match self {
            Self::Declared { schema, .. } => match &schema.list {
                ListType::Atomic => Items::Atomic,
                ListType::Set => Items::Set,
                ListType::Map { keys } => Items::Keyed(keys),
            },
            Self::Deduced | Self::Untyped => Items::Atomic,
        }
    }

    /// The type of a list's items.
    pub fn item(self) -> Type<'s> {
        match self {
            Self::Declared { schema, keeps_unknown } => match &schema.items {
                Some(items) => Self::child(items, keeps_unknown),
                None => Self::Untyped,
            },
            Self::Deduced | Self::Untyped => Self::Untyped,
        }
    }

    /// What tells an item of a list from the others. Keys that the item leaves out have their defaults.
    pub fn identity(self, item: &Value) -> Result<PathElement, String> {
        match self.items() {
            Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            Items::Set => set_identity(item),
            Items::Keyed(keys) => self.keyed_identity(keys, item),
        }
    }

    /// Whether there is something that tells an item from the others, without making it.
    pub fn check_identity(self, item: &Value) -> Result<(), String> {
        if let (Items::Keyed(keys), Value::Object(members)) = (self.items(), item)
            && keys.iter().any(|key| members.contains_key(key))
        {
            return Ok(());
        }
        self.identity(item).map(drop)
    }

    fn keyed_identity(self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let members = match item {
            Value::Object(members) => members,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let value = |key: &String| members.get(key).or_else(|| self.key_default(key)).cloned();
        let mut fields: Vec<(String, Scalar)> =
            keys.iter().filter_map(|key| Some((key.clone(), Scalar(value(key)?)))).collect();
        if fields.is_empty() {
            let names: Vec<String> = keys.iter().map(|key| super::go::quoted(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(PathElement::Key(fields.into()))
    }

    /// How long the text is by which an item is told from the others under this key; what is no text is short.
    pub fn key_bytes(self, item: &Value, key: &str) -> usize {
        let value = item.get(key).or_else(|| self.key_default(key));
        value.and_then(Value::as_str).map_or(0, str::len)
    }

    fn key_default(self, key: &str) -> Option<&'s Value> {
        match self.item() {
            Self::Declared { schema, .. } => schema.properties.get(key)?.default.as_ref(),
            Self::Deduced | Self::Untyped => None,
        }
    }
}

fn set_identity(item: &Value) -> Result<PathElement, String> {
    let refused = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        Value::String(_) | Value::Number(_) | Value::Bool(_) => return Ok(PathElement::Item(Scalar(item.clone()))),
    };
    Err(refused.to_owned())
}

/// Whether a string with this format must be a string to apply, too; others are not looked at.
fn is_plain(format: Option<&str>) -> bool {
    matches!(format, None | Some("" | "byte"))
}
