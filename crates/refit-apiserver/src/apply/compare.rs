//! Which fields differ between two values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::path::{PathElement, same};
use super::types::{Items, Shape, Type};

/// The fields by which one value differs from another. Maps and items that came or went are in it, too, not only
/// their leaves.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

impl Comparison {
    /// Leaves out these fields and everything below them.
    pub fn exclude(&mut self, fields: &FieldSet) {
        if fields.is_empty() {
            return;
        }
        for set in [&mut self.added, &mut self.modified, &mut self.removed] {
            *set = set.without_subtrees(fields);
        }
    }
}

/// Compares two values that fit their type.
pub fn compare(old: &Value, new: &Value, of: Type<'_>) -> Comparison {
    Pair { old: Some(old), new: Some(new) }.compare(of).below
}

/// Two versions of a value, of which one may be missing.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

/// How a value differs: in itself, and below.
#[derive(Default)]
struct Difference {
    itself: Changes,
    below: Comparison,
}

/// What happened to a value. Items that repeated can have come and gone at once.
#[derive(Default, Clone, Copy)]
struct Changes {
    added: bool,
    modified: bool,
    removed: bool,
}

impl Changes {
    const ADDED: Self = Self { added: true, modified: false, removed: false };
    const REMOVED: Self = Self { added: false, modified: false, removed: true };

    fn modified(modified: bool) -> Self {
        Self { added: false, modified, removed: false }
    }

    fn or(self, other: Self) -> Self {
        Self {
            added: self.added || other.added,
            modified: self.modified || other.modified,
            removed: self.removed || other.removed,
        }
    }
}

impl Comparison {
    fn attach(&mut self, element: PathElement, difference: Difference) {
        let Difference { itself, below } = difference;
        for (member, set, below) in [
            (itself.added, &mut self.added, below.added),
            (itself.modified, &mut self.modified, below.modified),
            (itself.removed, &mut self.removed, below.removed),
        ] {
            if member || !below.is_empty() {
                set.attach(element.clone(), member, below);
            }
        }
    }

    fn union(self, other: Self) -> Self {
        Self {
            added: self.added.union(&other.added),
            modified: self.modified.union(&other.modified),
            removed: self.removed.union(&other.removed),
        }
    }
}

impl Difference {
    fn and(mut self, changes: Changes) -> Self {
        self.itself = self.itself.or(changes);
        self
    }
}

impl Pair<'_> {
    fn is_unchanged(self) -> bool {
        matches!((self.old, self.new), (Some(old), Some(new)) if same(old, new))
    }

    /// Where the type leaves it to the values what they are, and they are different things, both readings count.
    fn compare(self, of: Type<'_>) -> Difference {
        let shape = of.shape(self.new.or(self.old));
        let mut difference = self.as_shape(shape, of);
        if let (true, Some(old), Some(_)) = (of.is_open(), self.old, self.new)
            && of.shape(Some(old)) != shape
        {
            let as_old = self.as_shape(of.shape(Some(old)), of);
            difference.itself = difference.itself.or(as_old.itself);
            difference.below = as_old.below.union(difference.below);
        }
        difference
    }

    fn as_shape(self, shape: Shape, of: Type<'_>) -> Difference {
        match shape {
            Shape::Scalar => self.leaf(),
            Shape::Map => {
                let (old, new) = (self.old.and_then(Value::as_object), self.new.and_then(Value::as_object));
                let is_nothing = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
                if of.is_atomic_map() || (is_nothing(old) && is_nothing(new)) {
                    return self.leaf();
                }
                Difference { itself: self.presence(), below: members(old, new, of) }
            }
            Shape::List => {
                let (old, new) = (items(self.old), items(self.new));
                if matches!(of.items(), Items::Atomic) || (old.is_empty() && new.is_empty()) {
                    return self.leaf();
                }
                Difference { itself: self.presence(), below: list_items(old, new, of) }
            }
        }
    }

    fn leaf(self) -> Difference {
        let itself = match (self.old, self.new) {
            (Some(old), Some(new)) => Changes::modified(!same(old, new)),
            _ => self.presence(),
        };
        Difference { itself, below: Comparison::default() }
    }

    fn presence(self) -> Changes {
        match (self.old, self.new) {
            (None, Some(_)) => Changes::ADDED,
            (Some(_), None) => Changes::REMOVED,
            _ => Changes::default(),
        }
    }
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members(old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>, of: Type<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    let mut visit = |name: &str, pair: Pair<'_>| {
        let member = of.member(name).filter(|_| !pair.is_unchanged());
        if let Some(member) = member {
            comparison.attach(PathElement::field(name), pair.compare(member));
        }
    };
    for (name, value) in old.into_iter().flatten() {
        visit(name, Pair { old: Some(value), new: new.and_then(|new| new.get(name)) });
    }
    for (name, value) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(name)) {
            visit(name, Pair { old: None, new: Some(value) });
        }
    }
    comparison
}

/// The items of a list by what tells them apart; several where they repeat.
type ByIdentity<'a> = BTreeMap<PathElement, Sides<'a>>;

#[derive(Default)]
struct Sides<'a> {
    old: Vec<&'a Value>,
    new: Vec<&'a Value>,
}

fn list_items(old: &[Value], new: &[Value], of: Type<'_>) -> Comparison {
    let mut sides = ByIdentity::new();
    for (element, item) in identified(old, of) {
        sides.entry(element).or_default().old.push(item);
    }
    for (element, item) in identified(new, of) {
        sides.entry(element).or_default().new.push(item);
    }
    let mut comparison = Comparison::default();
    for (element, sides) in sides {
        comparison.attach(element, sides.compare(of.item()));
    }
    comparison
}

fn identified<'a>(items: &'a [Value], of: Type<'_>) -> impl Iterator<Item = (PathElement, &'a Value)> {
    items.iter().filter_map(move |item| of.identity(item).ok().map(|element| (element, item)))
}

impl Sides<'_> {
    /// Items that repeat are one field together; nothing below them is looked at.
    fn compare(&self, of: Type<'_>) -> Difference {
        let repeated = |itself| Difference { itself, below: Comparison::default() };
        match (self.old.as_slice(), self.new.as_slice()) {
            ([], [_, _, ..]) => repeated(Changes::ADDED),
            ([_, _, ..], []) => repeated(Changes::REMOVED),
            ([_, _, ..], [_, _, ..]) => {
                let same = self.old.len() == self.new.len() && self.old.iter().zip(&self.new).all(|(a, b)| same(a, b));
                repeated(Changes::modified(!same))
            }
            ([_, _, ..], [new]) => Pair { old: None, new: Some(new) }.compare(of).and(Changes::REMOVED),
            ([old], [_, _, ..]) => Pair { old: Some(old), new: None }.compare(of).and(Changes::ADDED),
            (old, new) => Pair { old: old.first().copied(), new: new.first().copied() }.compare(of),
        }
    }
}
