//! Walks over one value: what apply refuses about it, and which fields it is made of.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::field_set::{FieldSet, Node};
use super::go;
use super::path::PathElement;
use super::types::{Items, ScalarType, Shape, Type};

/// Whether the items of sets and keyed lists may repeat. What is stored may, what is applied may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    Allowed,
    Refused,
}

/// Everything about a value that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch(Vec<String>);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => f.write_str(one),
            several => {
                f.write_str("errors:")?;
                several.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}

/// Checks that a value fits its type as far as merging needs it.
pub fn check<'a>(value: &'a Value, of: Type<'a>, duplicates: Duplicates) -> Result<(), Mismatch> {
    let mut checker = Checker { duplicates, path: Vec::new(), errors: Vec::new() };
    checker.value(value, of);
    if checker.errors.is_empty() { Ok(()) } else { Err(Mismatch(checker.errors)) }
}

/// The fields of a value: its leaves, the items of its sets and keyed lists, and the members of its free maps.
pub fn fields(value: &Value, of: Type<'_>) -> FieldSet {
    below(value, of).1
}

struct Checker<'a> {
    duplicates: Duplicates,
    path: Vec<Step<'a>>,
    errors: Vec<String>,
}

/// A step that is only printed when something is wrong.
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Item(Type<'a>, &'a Value),
}

impl<'a> Checker<'a> {
    fn value(&mut self, value: &'a Value, of: Type<'a>) {
        match (of.shape(Some(value)), value) {
            (_, Value::Null) => {}
            (Shape::Map, Value::Object(members)) => self.map(members, of),
            (Shape::Map, other) => self.refuse(format!("expected map, got {}", go::printed(other))),
            (Shape::List, Value::Array(items)) => self.list(items, of),
            (Shape::List, other) => self.refuse(format!("expected list, got {}", go::printed(other))),
            (Shape::Scalar, scalar) => self.scalar(scalar, of.scalar()),
        }
    }

    fn scalar(&mut self, value: &Value, expected: ScalarType) {
        let fits = match expected {
            ScalarType::Numeric => value.is_number(),
            ScalarType::String => value.is_string(),
            ScalarType::Boolean => value.is_boolean(),
            ScalarType::Any => !value.is_array() && !value.is_object(),
        };
        if fits {
            return;
        }
        self.refuse(match expected {
            ScalarType::Numeric => format!("expected numeric (int or float), got {}", go::type_name(value)),
            ScalarType::String => format!("expected string, got {}", go::source(value)),
            ScalarType::Boolean => format!("expected boolean, got {}", go::printed(value)),
            ScalarType::Any => format!("expected any scalar, got {}", go::printed(value)),
        });
    }

    fn map(&mut self, members: &'a Map<String, Value>, of: Type<'a>) {
        for (name, value) in members {
            self.path.push(Step::Field(name));
            match of.member(name) {
                Some(member) => self.value(value, member),
                None => self.refuse("field not declared in schema".to_owned()),
            }
            self.path.pop();
        }
    }

    fn list(&mut self, items: &'a [Value], of: Type<'a>) {
        let is_atomic = matches!(of.items(), Items::Atomic);
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if !is_atomic && let Err(why) = self.item(item, of, &mut seen) {
                return self.refuse(format!("element {index}: {why}"));
            }
            self.path.push(if is_atomic { Step::Index(index) } else { Step::Item(of, item) });
            self.value(item, of.item());
            self.path.pop();
        }
    }

    /// Checks that an item can be told from the others, and is.
    fn item(&mut self, item: &Value, of: Type<'_>, seen: &mut BTreeSet<PathElement>) -> Result<(), String> {
        match self.duplicates {
            Duplicates::Allowed => of.check_identity(item),
            Duplicates::Refused => {
                let element = of.identity(item)?;
                if seen.contains(&element) {
                    self.refuse(format!("duplicate entries for key {element}"));
                }
                seen.insert(element);
                Ok(())
            }
        }
    }

    fn refuse(&mut self, why: String) {
        let path: String = self.path.iter().map(ToString::to_string).collect();
        self.errors.push(if path.is_empty() { why } else { format!("{path}: {why}") });
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Item(list, item) => match list.identity(item) {
                Ok(element) => element.fmt(f),
                Err(_) => Ok(()),
            },
        }
    }
}

/// Whether the value is a field itself, and the fields below it.
fn below(value: &Value, of: Type<'_>) -> (bool, FieldSet) {
    match (of.shape(Some(value)), value) {
        (Shape::Scalar, _) => (true, FieldSet::default()),
        (Shape::List, _) if matches!(of.items(), Items::Atomic) => (true, FieldSet::default()),
        (Shape::List, Value::Array(items)) => (false, item_fields(items, of)),
        (Shape::Map, _) if of.is_atomic_map() => (true, FieldSet::default()),
        (Shape::Map, Value::Object(members)) => (false, member_fields(members, of)),
        (Shape::List | Shape::Map, _) => (false, FieldSet::default()),
    }
}

fn member_fields(members: &Map<String, Value>, of: Type<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in members {
        let Some(member) = of.member(name) else { continue };
        let (is_field, children) = below(value, member);
        let is_nothing = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        set.attach(PathElement::field(name.as_str()), is_field || is_nothing || !of.names(name), children);
    }
    set
}

/// The items of a list; of items that repeat only that they are there.
fn item_fields(items: &[Value], of: Type<'_>) -> FieldSet {
    let node = |item: &Value| {
        let element = of.identity(item).ok()?;
        Some(Node { element, member: true, below: below(item, of.item()).1 })
    };
    let nodes = items.iter().filter_map(node).collect();
    FieldSet::of_nodes(nodes, |present, _| present.below = FieldSet::default())
}
