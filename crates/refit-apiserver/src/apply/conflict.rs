//! Fields that an applier wants and others own.

use std::collections::BTreeMap;
use std::fmt;

use http::StatusCode;
use serde_json::{Value, json};

use crate::status::Status;

use super::field_set::FieldSet;
use super::managed::Owner;
use super::path::FieldPath;

/// Every owner that is in the way, with its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflicts(pub BTreeMap<Owner, FieldSet>);

impl Conflicts {
    /// The owners in Kubernetes' order, each with its paths as text.
    fn listed(&self) -> Vec<(&Owner, Vec<String>)> {
        let mut owners: Vec<(&Owner, &FieldSet)> = self.0.iter().collect();
        owners.sort_by_cached_key(|(owner, _)| owner.sort_key());
        let paths = |set: &FieldSet| {
            let mut paths = Vec::new();
            set.for_each(&mut |path| paths.push(FieldPath(path).to_string()));
            paths
        };
        owners.into_iter().map(|(owner, set)| (owner, paths(set))).collect()
    }

    /// The refusal that a client sees.
    pub fn status(&self) -> Status {
        let mut causes = Vec::new();
        for (owner, paths) in self.listed() {
            let message = format!("conflict with {}", owner.described());
            let cause = |path: String| json!({"reason": "FieldManagerConflict", "message": message, "field": path});
            causes.extend(paths.into_iter().map(cause));
        }
        Status::new(StatusCode::CONFLICT, Some("Conflict"), self.to_string()).with("causes", Value::Array(causes))
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.listed();
        let count: usize = listed.iter().map(|(_, paths)| paths.len()).sum();
        if let [(owner, paths)] = listed.as_slice()
            && let [path] = paths.as_slice()
        {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {path}", owner.described());
        }
        let mut lines = Vec::new();
        for (owner, paths) in &listed {
            lines.push(format!("conflicts with {}:", owner.described()));
            lines.extend(paths.iter().map(|path| format!("- {path}")));
        }
        write!(f, "Apply failed with {count} conflicts: {}", lines.join("\n"))
    }
}
