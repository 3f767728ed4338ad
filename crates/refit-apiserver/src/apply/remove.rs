//! Takes fields out of an object that were applied before, are not applied any more, and belong to nobody else.

use serde_json::{Map, Value};

use super::field_set::{FieldSet, Node};
use super::path::PathElement;
use super::typed::fields;
use super::types::{Items, Shape, Type};

/// The object without what `last` had and neither the object's other owners nor its new owner have. `owned` is what
/// all of them have together.
pub fn abandoned(merged: Value, of: Type<'_>, last: &FieldSet, owned: &FieldSet) -> Value {
    let last = with_named_parents(last, of);
    let there = with_named_parents(&fields(&merged, of), of);
    let without_last = with_named_parents(&fields(&without(&merged, &last, of), of), of);
    let kept = without_last.union(&with_named_parents(owned, of));
    let without_unowned = without(&merged, &there.difference(&kept), of);
    let left = with_named_parents(&fields(&without_unowned, of), of);
    let gone = there.difference(&left).intersection(&last);
    if gone.is_empty() { merged } else { without(&merged, &gone, of) }
}

/// The value without these fields. A map or list that loses all it has becomes null.
pub fn without(value: &Value, set: &FieldSet, of: Type<'_>) -> Value {
    match (of.shape(Some(value)), value) {
        (Shape::Scalar, scalar) => scalar.clone(),
        (Shape::Map, Value::Object(members)) if !of.is_atomic_map() => without_members(members, set, of),
        (Shape::List, Value::Array(items)) if !matches!(of.items(), Items::Atomic) => without_items(items, set, of),
        (Shape::Map | Shape::List, _) => Value::Null,
    }
}

fn without_members(members: &Map<String, Value>, set: &FieldSet, of: Type<'_>) -> Value {
    let mut kept = Map::new();
    for (name, value) in members {
        let Some(member) = of.member(name) else { continue };
        let value = rest(value, set.node(&PathElement::field(name.as_str())), member);
        kept.extend(value.map(|value| (name.clone(), value)));
    }
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}

fn without_items(items: &[Value], set: &FieldSet, of: Type<'_>) -> Value {
    let node = |item: &Value| of.identity(item).ok().and_then(|element| set.node(&element));
    let kept: Vec<Value> = items.iter().filter_map(|item| rest(item, node(item), of.item())).collect();
    if kept.is_empty() { Value::Null } else { Value::Array(kept) }
}

/// What is left of a part of a value; nothing where the part itself goes.
fn rest(value: &Value, node: Option<&Node>, of: Type<'_>) -> Option<Value> {
    match node {
        Some(node) if node.member => None,
        Some(node) => Some(without(value, &node.below, of)),
        None => Some(value.clone()),
    }
}

/// The set with the named fields in it that it has something below of. Members of free maps and items of lists are
/// said by their owners and are not added.
fn with_named_parents(set: &FieldSet, of: Type<'_>) -> FieldSet {
    level(set, Some(of))
}

fn level(set: &FieldSet, of: Option<Type<'_>>) -> FieldSet {
    let mut out = FieldSet::default();
    for node in set.nodes() {
        let (named, below) = match (&node.element, of) {
            (PathElement::Field(name), Some(of)) if of.shape(None) == Shape::Map => {
                (of.names(name) && !node.below.is_empty(), of.member(name))
            }
            (PathElement::Key(_), Some(of)) if of.shape(None) == Shape::List || of.is_open() => {
                (false, Some(of.item()))
            }
            _ => (false, None),
        };
        out.attach(node.element.clone(), node.member || named, level(&node.below, below));
    }
    out
}
