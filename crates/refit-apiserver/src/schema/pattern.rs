//! Regular expressions of schemas, compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;

/// How many compiled expressions are kept. Cluster API's definitions have about fifty.
const MAX_KEPT: usize = 1_000;

static COMPILED: Mutex<BTreeMap<String, Option<Arc<Regex>>>> = Mutex::new(BTreeMap::new());

/// Whether the text has a match. An expression that does not compile matches nothing.
pub(super) fn matches(expression: &str, text: &str) -> bool {
    compiled(expression).is_some_and(|regex| regex.is_match(text))
}

fn compiled(expression: &str) -> Option<Arc<Regex>> {
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.get(expression) {
        return regex.clone();
    }
    if known.len() >= MAX_KEPT {
        known.clear();
    }
    let regex = Regex::new(expression).ok().map(Arc::new);
    known.insert(expression.to_owned(), regex.clone());
    regex
}
