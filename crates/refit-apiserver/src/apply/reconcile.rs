//! Brings owners' fields in line with a schema that says since then that a list or map is one field.

use super::field_set::{FieldSet, Node};
use super::path::PathElement;
use super::types::{Items, Shape, Type};

/// The set, where what has become one field is owned as one; `None` where nothing changed.
///
/// The other way round nothing is done: the owner of what was one field still owns that path.
pub fn reconcile(set: &FieldSet, of: Type<'_>) -> Option<FieldSet> {
    needs_change(set, of).then(|| level(set, of))
}

fn needs_change(set: &FieldSet, of: Type<'_>) -> bool {
    let needs = |node: &Node| {
        child(node, of).is_some_and(|child| has_become_one_field(node, child) || needs_change(&node.below, child))
    };
    set.nodes().iter().any(needs)
}

fn level(set: &FieldSet, of: Type<'_>) -> FieldSet {
    let mut out = FieldSet::default();
    for node in set.nodes() {
        let (member, below) = match child(node, of) {
            Some(child) if has_become_one_field(node, child) => (true, FieldSet::default()),
            Some(child) => (node.member, level(&node.below, child)),
            None => (node.member, node.below.clone()),
        };
        out.attach(node.element.clone(), member, below);
    }
    out
}

fn has_become_one_field(node: &Node, of: Type<'_>) -> bool {
    let is_one_field = match of.shape(None) {
        Shape::Map => !of.is_free_map() && of.is_atomic_map(),
        Shape::List => matches!(of.items(), Items::Atomic),
        Shape::Scalar => false,
    };
    is_one_field && !node.below.is_empty()
}

/// The type below a node; `None` where there is nothing to bring in line.
fn child<'s>(node: &Node, of: Type<'s>) -> Option<Type<'s>> {
    match of.shape(None) {
        Shape::Map if of.is_free_map() => None,
        Shape::Map => match &node.element {
            PathElement::Field(name) => of.member(name),
            PathElement::Key(_) | PathElement::Item(_) | PathElement::Index(_) => None,
        },
        Shape::List => Some(of.item()),
        Shape::Scalar => None,
    }
}
