//! Server-side apply, and who owns which field of an object.
//!
//! Pure functions over JSON and [`Schema`](crate::schema::Schema): what is stored, what is asked for, who asks and when give the object to
//! store with its `metadata.managedFields`, or a refusal. [`update`] is for writes of every other kind, [`apply`] for
//! apply itself, and [`keep_times`] finishes both.
//!
//! An object is written through an [`Endpoint`]: a version of a resource, or a subresource of it. Owners of other
//! versions keep their entries, and their fields are looked up as if they were fields of the version at hand, since
//! all versions that are served here have one shape.

mod charge;
mod compare;
mod conflict;
mod endpoint;
mod field_set;
mod fields_v1;
mod go;
mod last_applied;
mod managed;
mod merge;
mod object_meta;
mod ownership;
mod path;
mod reconcile;
mod remove;
pub mod scale;
mod times;
mod typed;
mod types;
mod update;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::status::Status;

pub use charge::charge;
pub use conflict::Conflicts;
pub use endpoint::{Endpoint, Origin};
pub use field_set::FieldSet;
pub(crate) use go::{print as go_text, quoted as go_quoted};
pub use managed::{Managed, ManagedError, Operation, Owned, OwnedFields, Owner};
pub use object_meta::{graft, object_meta};
pub use path::{FieldPath, PathElement, Scalar};
pub use times::keep_times;
pub use typed::Mismatch;
pub use update::update;

use compare::Comparison;
use ownership::Change;
use typed::Duplicates;

/// The manager of everything that was there before an object without owners was first applied to.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who writes, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub manager: &'a str,
    pub now: Timestamp,
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApplyError {
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsApplied,
    #[error("invalid object type: {0}")]
    WrongKind(String),
    #[error("failed to decode managed fields: {0}")]
    Managed(#[from] ManagedError),
    /// The configuration does not fit the schema. The text names the object.
    #[error("failed to create typed patch object ({object}): {mismatch}")]
    Config { object: String, mismatch: Mismatch },
    /// What is stored does not fit the schema any more.
    #[error("failed to create typed live object ({object}): {mismatch}")]
    Live { object: String, mismatch: Mismatch },
    #[error("{0}")]
    Conflicts(Conflicts),
}

impl ApplyError {
    /// The refusal that a client sees.
    pub fn status(&self) -> Status {
        match self {
            Self::ManagedFieldsApplied | Self::WrongKind(_) => Status::bad_request(self.to_string()),
            Self::Managed(_) | Self::Config { .. } | Self::Live { .. } => Status::internal(self.to_string()),
            Self::Conflicts(conflicts) => conflicts.status(),
        }
    }
}

/// Applies a configuration: puts its fields into the live object, takes out what its manager applied before and does
/// not any more, and writes down who owns what. Without a live object the result is one to create.
///
/// `default` fills in defaults; it is called where the object changed.
///
/// # Guarantees
/// The same configuration applied again by the same manager gives the same object. Without `force`, no field changes
/// that somebody else owns.
pub fn apply(
    endpoint: &Endpoint,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
    default: impl FnOnce(&mut Value),
) -> Result<Value, ApplyError> {
    check_config(endpoint, config)?;
    let (attempt, managed) = Attempt::new(endpoint, live, config, writer)?;
    let outcome = match writer.manager {
        last_applied::MANAGER => attempt.run_for_kubectl(managed, force),
        _ => attempt.run(managed, force),
    };
    let Outcome { mut object, managed } = outcome.map_err(ApplyError::Conflicts)?;
    match &mut object {
        Some(changed) => default(changed),
        None => object = Some(attempt.live.into_owned()),
    }
    let mut object = object.unwrap_or_default();
    if writer.manager == last_applied::MANAGER {
        last_applied::rewrite(&mut object, config);
    }
    update::set_managed(&mut object, managed);
    Ok(object)
}

fn check_config(endpoint: &Endpoint, config: &Value) -> Result<(), ApplyError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if (text("apiVersion"), text("kind")) != (&endpoint.api_version, &endpoint.kind) {
        return Err(ApplyError::WrongKind(type_name(text("apiVersion"), text("kind"))));
    }
    if config.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
        return Err(ApplyError::ManagedFieldsApplied);
    }
    let fits = typed::check(config, endpoint.root(), Duplicates::Refused);
    fits.map_err(|mismatch| ApplyError::Config { object: object_name(config), mismatch })
}

/// One apply, ready to be tried with and without force.
struct Attempt<'a> {
    endpoint: &'a Endpoint,
    /// Without its owners.
    live: Cow<'a, Value>,
    config: &'a Value,
    owner: Owner,
    now: Timestamp,
}

/// What an apply leads to. No object: nothing but, perhaps, the owners changed.
struct Outcome {
    object: Option<Value>,
    managed: Managed,
}

impl<'a> Attempt<'a> {
    fn new(
        endpoint: &'a Endpoint,
        live: Option<&'a Value>,
        config: &'a Value,
        writer: &Writer<'_>,
    ) -> Result<(Self, Managed), ApplyError> {
        let mut managed = Managed::decode_stored(live.and_then(|live| live.pointer("/metadata/managedFields")))?;
        let live = live.map_or_else(|| Cow::Owned(endpoint.empty()), update::without_managed);
        let fits = typed::check(&live, endpoint.root(), Duplicates::Allowed);
        fits.map_err(|mismatch| ApplyError::Live { object: object_name(&live), mismatch })?;
        let owner = Owner::applier(writer.manager, &endpoint.subresource);
        if managed.0.is_empty() {
            let before = Writer { manager: BEFORE_FIRST_APPLY, now: writer.now };
            update::record(endpoint, &endpoint.before(&live), &live, &mut managed, &before);
        }
        ownership::reconcile(&mut managed, endpoint.root());
        Ok((Self { endpoint, live, config, owner, now: writer.now }, managed))
    }

    /// Forces what kubectl applied before, when it applied from the client.
    fn run_for_kubectl(&self, managed: Managed, force: bool) -> Result<Outcome, Conflicts> {
        self.run(managed.clone(), force).or_else(|conflicts| {
            let left = last_applied::left_conflicts(self.endpoint, &self.live, conflicts);
            left.map_or_else(|| self.run(managed, true), Err)
        })
    }

    fn run(&self, mut managed: Managed, force: bool) -> Result<Outcome, Conflicts> {
        let of = self.endpoint.root();
        let fields = typed::fields(self.config, of).without_subtrees(&self.endpoint.reset);
        let mut object = merge::merge(Some(&self.live), Some(self.config), of).unwrap_or_default();
        let last = ownership::hand_over(&mut managed, &self.owner, &self.endpoint.api_version, fields);
        if let Some(last) = last.as_ref().filter(|last| !last.is_subset(&managed.0[&self.owner].fields)) {
            object = remove::abandoned(object, of, last, &ownership::all(&managed));
        }
        let changed = !path::same(&self.live, &object);
        let mut comparison = Comparison::default();
        if changed {
            comparison = compare::compare(&self.live, &object, of);
            comparison.exclude(&self.endpoint.reset);
        }
        let change = Change { by: Some(&self.owner), comparison: &comparison, force };
        change.settle(&mut managed)?;
        ownership::strip(&mut managed, &self.owner, last);
        if let (true, Some(owned)) = (changed, managed.0.get_mut(&self.owner)) {
            owned.time = Some(self.now);
        }
        Ok(Outcome { object: changed.then_some(object), managed })
    }
}

/// `namespace/name; group/version, Kind=Kind`, from what the object says.
fn object_name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let of_type = type_name(text("/apiVersion"), text("/kind"));
    format!("{}/{}; {of_type}", text("/metadata/namespace"), text("/metadata/name"))
}

fn type_name(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}
