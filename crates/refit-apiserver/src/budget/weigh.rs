//! How much a value weighs.

use serde_json::Value;

use super::{BYTES_PER_STEP, Budget, Exceeded, MAX_DEPTH};

/// How much deeper than what a client sends the server's own `managedFields` of it nest.
const OWN_DEPTH: usize = 4;

/// A JSON value without what it points to.
pub const VALUE_BYTES: usize = size_of::<Value>();

/// An object that is not empty has at least one node of a B-tree, with room for eleven names and values.
pub const OBJECT_BYTES: usize = 11 * (size_of::<String>() + VALUE_BYTES) + 16;

/// What a further member takes up: the nodes of a tree that grew are at least half full.
pub const MEMBER_BYTES: usize = OBJECT_BYTES / 5;

/// What one value comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// In memory.
    pub bytes: usize,
    /// As JSON, without escapes.
    pub text: usize,
    pub nodes: usize,
    /// How many objects and lists stand in each other.
    pub depth: usize,
}

/// The weight of a value, which need not be within any bound yet: looking stops where it nests too deep.
pub fn weigh(value: &Value, budget: &Budget) -> Result<Weight, Exceeded> {
    let mut scale = Scale { budget, sum: Weight::default(), path: None };
    scale.add(value, 0)?;
    Ok(scale.sum)
}

/// Charges for a value as it is, and for the paths that whoever walks over it may write down.
pub fn check(value: &Value, budget: &Budget) -> Result<Weight, Exceeded> {
    let mut scale = Scale { budget, sum: Weight::default(), path: Some(0) };
    scale.add(value, 0)?;
    budget.take_bytes(scale.sum.bytes)?;
    Ok(scale.sum)
}

struct Scale<'a> {
    budget: &'a Budget,
    sum: Weight,
    /// How long the path to the current value is, where paths count.
    path: Option<usize>,
}

impl Scale<'_> {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), Exceeded> {
        self.budget.take_steps(1 + self.path.unwrap_or(0) / BYTES_PER_STEP)?;
        self.sum.nodes += 1;
        self.sum.bytes += VALUE_BYTES;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.sum.text += 4,
            Value::String(text) => {
                self.sum.text += text.len() + 2;
                self.sum.bytes += text.len();
            }
            Value::Array(items) => {
                let depth = self.deeper(depth)?;
                self.sum.text += 2 + items.len();
                for item in items {
                    self.below(7, item, depth)?;
                }
            }
            Value::Object(members) => {
                let depth = self.deeper(depth)?;
                self.sum.text += 2 + 4 * members.len();
                self.sum.bytes += if members.is_empty() { 0 } else { OBJECT_BYTES + members.len() * MEMBER_BYTES };
                for (name, member) in members {
                    self.sum.text += name.len();
                    self.sum.bytes += name.len();
                    self.below(name.len() + 1, member, depth)?;
                }
            }
        }
        Ok(())
    }

    fn below(&mut self, segment: usize, value: &Value, depth: usize) -> Result<(), Exceeded> {
        let before = self.path;
        self.path = before.map(|path| path + segment);
        let added = self.add(value, depth);
        self.path = before;
        added
    }

    fn deeper(&mut self, depth: usize) -> Result<usize, Exceeded> {
        if depth == MAX_DEPTH + OWN_DEPTH {
            return Err(self.budget.refuse(Exceeded::Depth));
        }
        self.sum.depth = self.sum.depth.max(depth + 1);
        Ok(depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_weighs_what_it_holds() {
        let budget = Budget::default();
        let weight = weigh(&json!({"a": [1, "xyz"]}), &budget).expect("it must be within the bounds");
        assert_eq!((weight.nodes, weight.depth), (4, 2));
        assert!(weight.bytes >= 4 * VALUE_BYTES + OBJECT_BYTES && weight.bytes < 2_000, "{weight:?}");
    }

    #[test]
    fn a_value_that_is_too_deep_is_refused_before_anybody_walks_over_it() {
        let deep = (0..MAX_DEPTH + OWN_DEPTH).fold(json!(1), |value, _| json!([value]));
        assert_eq!(weigh(&deep, &Budget::default()).map(|weight| weight.depth), Ok(MAX_DEPTH + OWN_DEPTH));
        assert_eq!(weigh(&json!([deep]), &Budget::default()), Err(Exceeded::Depth));
    }

    #[test]
    fn a_long_name_over_a_long_list_is_refused() {
        let value = json!({"k".repeat(1 << 20): vec![1; 1 << 20]});
        assert_eq!(check(&value, &Budget::default()), Err(Exceeded::Steps));
        assert!(weigh(&value, &Budget::default()).is_ok());
    }
}
