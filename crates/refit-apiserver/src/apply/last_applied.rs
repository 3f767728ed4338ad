//! The annotation in which `kubectl apply` keeps what it applied last, from before server-side apply.

use serde_json::Value;

use super::Endpoint;
use super::compare::compare;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::go;
use super::typed::{self, Duplicates, fields};

/// The manager that the annotation belongs to. To others it is an annotation like any.
pub const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How large the annotations of an object may be together, names included.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// The conflicts that are left when those do not count whose fields are still as kubectl applied them last. `None`:
/// there are none left.
pub fn left_conflicts(endpoint: &Endpoint, live: &Value, conflicts: Conflicts) -> Option<Conflicts> {
    let Some(applied) = applied_and_unchanged(endpoint, live) else { return Some(conflicts) };
    let left = conflicts.0.into_iter().map(|(owner, fields)| (owner, fields.difference(&applied)));
    let left = Conflicts(left.filter(|(_, fields)| !fields.is_empty()).collect());
    (!left.0.is_empty()).then_some(left)
}

/// Brings the annotation up to date with the applied configuration, where there is one.
pub fn rewrite(object: &mut Value, config: &Value) {
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return };
    let has_one = annotations.get(ANNOTATION).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !has_one {
        return;
    }
    annotations.insert(ANNOTATION.to_owned(), configuration(config).into());
    let size: usize = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn configuration(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    go::json(&config) + "\n"
}

/// The fields of the last configuration that the object still has as they were applied.
fn applied_and_unchanged(endpoint: &Endpoint, live: &Value) -> Option<FieldSet> {
    let text = live.pointer("/metadata/annotations")?.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    let of = endpoint.root();
    if last.get("apiVersion")?.as_str()? != endpoint.api_version {
        return None;
    }
    typed::check(live, of, Duplicates::Refused).ok()?;
    typed::check(&last, of, Duplicates::Refused).ok()?;
    let changes = compare(&last, live, of);
    let applied = fields(&last, of);
    Some(applied.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
}
