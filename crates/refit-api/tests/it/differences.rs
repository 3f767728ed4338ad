//! What differs from upstream on purpose, from the table in the docs.

const DOCUMENTED: &str = include_str!("../../../../docs/src/reference/upstream.md");

/// A row of the table of differences.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    plural: String,
    field: String,
}

impl Row {
    /// A row speaks of its field and all beneath it.
    pub fn covers(&self, plural: &str, field: &str) -> bool {
        let beneath =
            field.strip_prefix(&self.field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', ' ']));
        self.plural == plural && beneath
    }
}

/// The rows between the markers in the docs: `| plural | field | ... |`, both in backticks.
pub fn documented_differences() -> Vec<Row> {
    let table =
        DOCUMENTED.split("<!-- differences -->").nth(1).expect("the docs must have the table between its markers");
    let quoted = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.split('|').collect();
        let [plural, field, ..] = cells.as_slice() else { return None };
        plural.contains('`').then(|| Row { plural: quoted(plural), field: quoted(field) })
    };
    table.lines().filter_map(row).collect()
}
