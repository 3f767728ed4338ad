//! What differs on purpose, from the table in the docs.

use std::collections::BTreeSet;

const DOCUMENTED: &str = include_str!("../../../../../docs/src/reference/apiserver-differences.md");

/// The names of the rows between the markers: the first cell, in backticks.
pub fn rows() -> BTreeSet<String> {
    let table =
        DOCUMENTED.split("<!-- differences -->").nth(1).expect("the docs must have the table between its markers");
    let name = |line: &str| {
        let cell = line.trim().strip_prefix('|')?.split('|').next()?.trim();
        cell.strip_prefix('`')?.strip_suffix('`').map(str::to_owned)
    };
    table.lines().filter_map(name).collect()
}
