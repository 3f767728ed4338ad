//! Fields that an applier wants and others own.

use std::collections::BTreeMap;
use std::fmt;

use http::StatusCode;
use serde_json::{Value, json};

use crate::field_error::{MAX_ERRORS, MAX_ERRORS_BYTES, MORE, cut};
use crate::status::Status;

use super::field_set::FieldSet;
use super::managed::Owner;
use super::path::FieldPath;

/// Every owner that is in the way, with its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflicts(pub BTreeMap<Owner, FieldSet>);

/// What a refusal names of all conflicts, within the bounds of every refusal.
struct Named<'a> {
    /// The owners in Kubernetes' order, each with its paths as text.
    owners: Vec<(&'a Owner, Vec<String>)>,
    /// How many fields are in conflict.
    count: usize,
    has_more: bool,
}

impl Conflicts {
    fn named(&self) -> Named<'_> {
        let mut owners: Vec<(&Owner, &FieldSet)> = self.0.iter().collect();
        owners.sort_by_cached_key(|(owner, _)| owner.sort_key());
        let mut named = Named { owners: Vec::new(), count: 0, has_more: false };
        let (mut errors, mut bytes) = (0, 0);
        for (owner, set) in owners {
            let (described, mut paths) = (owner.described().len(), Vec::new());
            set.for_each(&mut |path| {
                named.count += 1;
                if named.has_more {
                    return;
                }
                let path = cut(FieldPath(path).to_string());
                errors += 1;
                bytes += path.len() + described;
                named.has_more = errors > MAX_ERRORS || bytes > MAX_ERRORS_BYTES;
                if !named.has_more {
                    paths.push(path);
                }
            });
            if !paths.is_empty() {
                named.owners.push((owner, paths));
            }
        }
        named
    }

    /// The refusal that a client sees.
    pub fn status(&self) -> Status {
        let named = self.named();
        let cause =
            |message: &str, path: &str| json!({"reason": "FieldManagerConflict", "message": message, "field": path});
        let mut causes = Vec::new();
        for (owner, paths) in &named.owners {
            let message = format!("conflict with {}", owner.described());
            causes.extend(paths.iter().map(|path| cause(&message, path)));
        }
        causes.extend(named.has_more.then(|| cause(MORE, "<nil>")));
        Status::new(StatusCode::CONFLICT, Some("Conflict"), named.to_string()).with("causes", Value::Array(causes))
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.named().fmt(f)
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([(owner, paths)], 1) = (self.owners.as_slice(), self.count)
            && let [path] = paths.as_slice()
        {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {path}", owner.described());
        }
        let mut lines = Vec::new();
        for (owner, paths) in &self.owners {
            lines.push(format!("conflicts with {}:", owner.described()));
            lines.extend(paths.iter().map(|path| format!("- {path}")));
        }
        lines.extend(self.has_more.then(|| format!("- {MORE}")));
        write!(f, "Apply failed with {} conflicts: {}", self.count, lines.join("\n"))
    }
}
