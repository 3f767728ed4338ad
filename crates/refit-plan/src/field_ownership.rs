//! Which fields of an object belong to which manager, as its `managedFields` say.
//!
//! An apply is left out when it would change neither a value nor an owner: a settled world is not written to.

mod applied;
mod intent;
mod repair;

pub use applied::{is_applied, is_applied_or_handed_over, is_spec_applied};
pub use intent::applied_spec;
pub use repair::{Layout, remember, repair};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

/// The operation of an entry that server-side apply made.
const APPLY: &str = "Apply";
/// The operation of an entry that any other write made.
const UPDATE: &str = "Update";

/// Whether the entry is about metadata and spec, and made by this manager in this way.
fn is_by(entry: &ManagedFieldsEntry, manager: &str, operation: &str) -> bool {
    entry.manager.as_deref() == Some(manager)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.as_deref().unwrap_or_default().is_empty()
}
