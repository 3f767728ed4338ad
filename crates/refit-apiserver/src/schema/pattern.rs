//! Regular expressions of schemas and rules, compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use crate::go_regex;

/// What an ordinary expression takes up when it is compiled; each of at most sixteen caches that belong to it takes up as
/// much again.
const SMALL_BYTES: usize = 64 * 1024;
/// What the largest takes up that is accepted.
const LARGE_BYTES: usize = 1024 * 1024;
/// What is kept, in small ones: 256 × 17 × 64 KiB are 272 MiB at the very worst. Cluster API's definitions have about fifty.
const MAX_KEPT: usize = 256;

type Compiled = Result<Arc<Regex>, String>;

static KEPT: Mutex<Kept> = Mutex::new(Kept { known: BTreeMap::new(), weight: 0 });

struct Kept {
    known: BTreeMap<String, Compiled>,
    weight: usize,
}

/// Whether the text has a match. An expression that does not compile matches nothing.
pub(super) fn matches(expression: &str, text: &str) -> bool {
    compiled(expression).is_ok_and(|regex| regex.is_match(text))
}

/// What is wrong with an expression.
pub fn error(expression: &str) -> Option<String> {
    build(expression).0.err()
}

pub(super) fn compiled(expression: &str) -> Compiled {
    if let Some(compiled) = kept(|kept| kept.known.get(expression).cloned()) {
        return compiled;
    }
    let (compiled, weight) = build(expression);
    kept(|kept| {
        if kept.weight + weight > MAX_KEPT {
            (kept.known, kept.weight) = (BTreeMap::new(), 0);
        }
        kept.weight += weight;
        kept.known.insert(expression.to_owned(), compiled.clone());
    });
    compiled
}

fn kept<T>(work: impl FnOnce(&mut Kept) -> T) -> T {
    work(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Compiles an expression. Returns what it weighs, too, in small ones.
fn build(expression: &str) -> (Compiled, usize) {
    let translated = go_regex::translate(expression);
    let build = |bytes| RegexBuilder::new(&translated).size_limit(bytes).dfa_size_limit(bytes).build();
    let (built, weight) = match build(SMALL_BYTES) {
        Err(regex::Error::CompiledTooBig(_)) => (build(LARGE_BYTES), LARGE_BYTES / SMALL_BYTES),
        built => (built, 1),
    };
    (built.map(Arc::new).map_err(|error| reason(&error)), weight + expression.len() / SMALL_BYTES)
}

/// The last line of what the library says; the lines before quote the expression.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_a_bound_and_what_is_too_large_is_refused() {
        for number in 0..2_000 {
            assert!(matches(&format!("^a{number}[a-z]{{1,50}}$"), &format!("a{number}xyz")));
        }
        assert!(kept(|kept| kept.weight <= MAX_KEPT && kept.known.len() <= MAX_KEPT));
        assert!(error("a{1000}{1000}").is_some_and(|error| error.contains("size limit")));
        assert!(error("(").is_some());
        assert_eq!(error(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), None);
    }
}
