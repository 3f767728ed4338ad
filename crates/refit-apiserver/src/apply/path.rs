//! Paths to fields, as ownership and conflicts name them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::go;

/// One step from a value into a part of it. Cheap to clone: the same steps are in many sets.
///
/// Ordered as Kubernetes orders them: fields, then keys, then values, then indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A member of a map.
    Field(Arc<str>),
    /// An item of a list whose items are told apart by keys, sorted by name.
    Key(Arc<[(String, Scalar)]>),
    /// An item of a set.
    Item(Scalar),
    /// A place in a list; only in messages.
    Index(i64),
}

/// A JSON value with a total order, in which `1` and `1.0` are the same.
#[derive(Debug, Clone)]
pub struct Scalar(pub Value);

/// A path as conflicts print it: `.spec.ports[port=80,protocol="TCP"].name`.
pub struct FieldPath<'a>(pub &'a [&'a PathElement]);

impl PathElement {
    pub fn field(name: impl Into<Arc<str>>) -> Self {
        Self::Field(name.into())
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                for (position, (name, value)) in fields.iter().enumerate() {
                    let separator = if position == 0 { '[' } else { ',' };
                    write!(f, "{separator}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Item(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => f.write_str(&go::quoted(text)),
            other => f.write_str(&go::json(other)),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_values(&self.0, &other.0)
    }
}

/// Whether two values are the same, where numbers are compared by what they say, not by how they are written.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let matches = |(name, value)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(matches)
        }
        (left, right) => left == right,
    }
}

/// Numbers first, then strings, booleans, lists, maps, null.
fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).map(|(left, right)| compare_values(left, right));
            pairs.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let sorted = |map: &'_ Map<String, Value>| {
        let mut members: Vec<(String, Scalar)> =
            map.iter().map(|(name, value)| (name.clone(), Scalar(value.clone()))).collect();
        members.sort();
        members
    };
    sorted(left).cmp(&sorted(right))
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or_default();
            float(left).total_cmp(&float(right))
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_print_as_conflicts_show_them() {
        let check = |elements: &[PathElement], expected: &str| {
            let elements: Vec<&PathElement> = elements.iter().collect();
            assert_eq!(FieldPath(&elements).to_string(), expected);
        };
        let key = |fields: &[(&str, Value)]| {
            PathElement::Key(fields.iter().map(|(name, value)| ((*name).to_owned(), Scalar(value.clone()))).collect())
        };
        let field = PathElement::field;
        check(&[field("spec"), field("size")], ".spec.size");
        let port = key(&[("port", json!(80)), ("protocol", json!("TCP"))]);
        check(&[field("spec"), field("ports"), port, field("name")], r#".spec.ports[port=80,protocol="TCP"].name"#);
        check(&[field("set"), PathElement::Item(Scalar(json!("a\"b")))], r#".set[="a\"b"]"#);
        check(&[field("list"), PathElement::Index(2)], ".list[2]");
    }

    #[test]
    fn one_and_one_point_zero_are_the_same() {
        let check = |left: Value, right: Value, expected: bool| {
            assert_eq!(same(&left, &right), expected, "{left} {right}");
            assert_eq!(Scalar(left) == Scalar(right), expected);
        };
        check(json!(1), json!(1.0), true);
        check(json!({"a": [1]}), json!({"a": [1.0]}), true);
        check(json!(1), json!("1"), false);
        check(json!(null), json!({}), false);
        check(json!({"a": 1}), json!({"a": 1, "b": null}), false);
    }
}
