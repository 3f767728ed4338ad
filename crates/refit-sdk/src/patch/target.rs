//! What an object becomes when only the claimed paths follow "desired".

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::path::Segment;

/// What stands here afterwards; None is nothing. `claimed` are the paths from here on.
pub(super) fn of(current: Option<&Value>, desired: Option<&Value>, claimed: &[&[Segment]]) -> Option<Value> {
    if claimed.is_empty() {
        return current.cloned();
    }
    if claimed.iter().any(|path| path.is_empty()) {
        return desired.cloned();
    }
    let empty = Map::new();
    match (current, desired) {
        (Some(Value::Object(current)), Some(Value::Object(desired))) => Some(block(current, desired, claimed).into()),
        (Some(Value::Object(current)), desired) => shrunk(current, desired, claimed),
        (None, Some(Value::Object(desired))) => {
            Some(block(&empty, desired, claimed)).filter(|block| !block.is_empty()).map(Value::from)
        }
        // Nothing claimed can be put beneath something that is no object.
        (None, _) | (Some(_), _) => current.cloned(),
    }
}

fn block(current: &Map<String, Value>, desired: &Map<String, Value>, claimed: &[&[Segment]]) -> Map<String, Value> {
    let names: BTreeSet<&String> = current.keys().chain(desired.keys()).collect();
    let field = |name: &String| {
        let value = of(current.get(name), desired.get(name), &beneath(claimed, name))?;
        Some((name.clone(), value))
    };
    names.into_iter().filter_map(field).collect()
}

/// A block that "desired" does not have loses its claimed fields, and goes when none but those were in it.
fn shrunk(current: &Map<String, Value>, desired: Option<&Value>, claimed: &[&[Segment]]) -> Option<Value> {
    let left = block(current, &Map::new(), claimed);
    let goes = desired.is_none() && left.is_empty() && !current.is_empty();
    (!goes).then(|| left.into())
}

fn beneath<'a>(claimed: &[&'a [Segment]], name: &str) -> Vec<&'a [Segment]> {
    let inside = |path: &&'a [Segment]| match path.split_first() {
        Some((first, rest)) if first.matches(name) => Some(rest),
        _ => None,
    };
    claimed.iter().filter_map(inside).collect()
}
