//! What the fields of an object take up once they are written down.

use serde_json::Value;

use crate::budget::{Budget, Exceeded, VALUE_BYTES};

use super::Endpoint;
use super::types::{Items, Type};

/// How often what tells an item of a list from the others is written down at the same time: in what is applied, in what
/// there was, in what changed between them, and as text.
const COPIES: usize = 4;

/// Charges for what tells the items of keyed lists apart: keys that an item leaves out have their defaults, so that a small
/// item may have a large name.
pub fn charge(endpoint: &Endpoint, object: &Value, budget: &Budget) -> Result<(), Exceeded> {
    node(endpoint.root(), object, budget)
}

fn node(of: Type<'_>, value: &Value, budget: &Budget) -> Result<(), Exceeded> {
    budget.take_steps(1)?;
    match value {
        Value::Object(members) => members.iter().try_for_each(|(name, member)| match of.member(name) {
            Some(of) => node(of, member, budget),
            None => Ok(()),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| {
            if let Items::Keyed(keys) = of.items() {
                let bytes: usize = keys.iter().map(|key| key.len() + VALUE_BYTES + of.key_bytes(item, key)).sum();
                budget.take_bytes(COPIES * bytes)?;
            }
            node(of.item(), item, budget)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
