//! The reconciliation of an ExtensionConfig: certificates injected, handlers discovered, status written, registered.
//!
//! What to do is decided by functions without I/O, in `decision` and `ca`; [`reconcile`] and [`warm_up`] carry it out.
//! Watching ExtensionConfigs and Secrets, and keeping a queue of them, is their caller's.

mod ca;
mod decision;
mod reconcile;
#[cfg(test)]
mod tests;
mod warm_up;

pub use ca::{CaError, SecretName};
pub use decision::{NOT_READY_INTERVAL, REDISCOVERY_INTERVAL, Step, discovered_status, first_step, paused_status};
pub use reconcile::{ReconcileError, reconcile, reconcile_seen};
pub use warm_up::{WARM_UP_CONCURRENCY, WARM_UP_LIMIT, WarmUpFailure, warm_up};
