//! Sets of field paths.

use std::cmp::Ordering;

use super::path::PathElement;

/// A set of paths, kept as a tree of their elements. Every node is in the set, or has something below that is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: Vec<Node>,
}

/// One element of a path and what the set says below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub element: PathElement,
    /// Whether the path that ends here is in the set.
    pub member: bool,
    pub below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of these paths of named fields.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let elements: Vec<PathElement> = path.iter().map(|name| PathElement::field(*name)).collect();
            set.insert(&elements);
        }
        set
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes of the first level, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of an element, if the set has the element or something below it.
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        self.find(element).ok().map(|at| &self.nodes[at])
    }

    /// Whether a path is in the set. The empty path never is.
    pub fn contains(&self, path: &[&PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.node(first).is_some_and(|node| node.below.contains(rest)),
        }
    }

    /// Adds a path. The empty path stands for the whole object, which nobody owns.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.entry(first);
        match rest {
            [] => node.member = true,
            rest => node.below.insert(rest),
        }
    }

    /// Adds what is known about an element: whether it is in the set, and what is below it.
    pub fn attach(&mut self, element: PathElement, member: bool, below: FieldSet) {
        if !member && below.is_empty() {
            return;
        }
        let node = Node { element, member, below };
        match self.nodes.last() {
            Some(last) if last.element >= node.element => self.attach_between(node),
            _ => self.nodes.push(node),
        }
    }

    /// The set of these nodes, in whatever order they come. Of elements that repeat, `join` makes one.
    pub fn of_nodes(mut nodes: Vec<Node>, join: impl Fn(&mut Node, Node)) -> Self {
        nodes.retain(|node| !node.is_empty());
        nodes.sort_by(|left, right| left.element.cmp(&right.element));
        let mut set = Self::default();
        for node in nodes {
            match set.nodes.last_mut() {
                Some(last) if last.element == node.element => join(last, node),
                _ => set.nodes.push(node),
            }
        }
        set
    }

    fn attach_between(&mut self, node: Node) {
        match self.find(&node.element) {
            Ok(at) => {
                let present = &mut self.nodes[at];
                present.member |= node.member;
                present.below = present.below.union(&node.below);
            }
            Err(at) => self.nodes.insert(at, node),
        }
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other.clone() } else { self.clone() };
        }
        self.combine(other, |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(Node {
                element: left.element.clone(),
                member: left.member || right.member,
                below: left.below.union(&right.below),
            }),
            (one, other) => one.or(other).cloned(),
        })
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |left, right| {
            let (left, right) = (left?, right?);
            Some(Node {
                element: left.element.clone(),
                member: left.member && right.member,
                below: left.below.intersection(&right.below),
            })
        })
    }

    /// What is in this set and not in the other. A path stays although the other set has one above it.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(Node {
                element: left.element.clone(),
                member: left.member && !right.member,
                below: left.below.difference(&right.below),
            }),
            (left, _) => left.cloned(),
        })
    }

    /// What is in this set, and neither in the other nor below a path of the other.
    #[must_use]
    pub fn without_subtrees(&self, other: &Self) -> Self {
        self.combine(other, |left, right| match (left, right) {
            (Some(_), Some(right)) if right.member => None,
            (Some(left), Some(right)) => Some(Node {
                element: left.element.clone(),
                member: left.member,
                below: left.below.without_subtrees(&right.below),
            }),
            (left, _) => left.cloned(),
        })
    }

    /// Whether the other set has everything that this one has.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.nodes.iter().all(|node| {
            let there = other.node(&node.element);
            there.is_some_and(|there| (!node.member || there.member) && node.below.is_subset(&there.below))
        })
    }

    /// The paths that have no other path of the set below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let leaf = |node: &Node| Node {
            element: node.element.clone(),
            member: node.member && node.below.is_empty(),
            below: node.below.leaves(),
        };
        Self { nodes: self.nodes.iter().map(leaf).collect() }
    }

    /// Calls `visit` with every path; at each level first what ends there, then what goes on.
    pub fn for_each<'a>(&'a self, visit: &mut impl FnMut(&[&'a PathElement])) {
        self.walk(&mut Vec::new(), visit);
    }

    fn walk<'a>(&'a self, path: &mut Vec<&'a PathElement>, visit: &mut impl FnMut(&[&'a PathElement])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(&node.element);
            visit(path);
            path.pop();
        }
        for node in &self.nodes {
            path.push(&node.element);
            node.below.walk(path, visit);
            path.pop();
        }
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.element.cmp(element))
    }

    fn entry(&mut self, element: &PathElement) -> &mut Node {
        let at = match self.find(element) {
            Ok(at) => at,
            Err(at) => {
                let node = Node { element: element.clone(), member: false, below: FieldSet::default() };
                self.nodes.insert(at, node);
                at
            }
        };
        &mut self.nodes[at]
    }

    /// Walks two levels in step, and keeps what `merge` makes of each element that either has.
    fn combine(&self, other: &Self, merge: impl Fn(Option<&Node>, Option<&Node>) -> Option<Node>) -> Self {
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        let mut nodes = Vec::with_capacity(self.nodes.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(left), Some(right)) => left.element.cmp(&right.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Self { nodes },
            };
            let from_left = if order.is_le() { left.next() } else { None };
            let from_right = if order.is_ge() { right.next() } else { None };
            nodes.extend(merge(from_left, from_right).filter(|node| !node.is_empty()));
        }
    }
}

#[cfg(test)]
mod tests;
