//! For authors of update extensions: say which fields can be changed on a running host and how; the rest is here.
//!
//! Implement [`Updater`], make an [`Extension`] of it, and give that to a [`Server`]. Controllers then find it through an
//! ExtensionConfig, ask it what it can change, and tell it to. The protocol is Cluster API's; controllers written in
//! Go and in Rust call the same server.
//!
//! [`conformance`] holds a running extension, in any language, to the rules of the protocol.
//!
//! This crate knows no Kubernetes client: what an extension needs to know comes with the call.

pub mod claims;
#[cfg(feature = "conformance")]
pub mod conformance;
mod extension;
mod patch;
mod path;
mod program;
mod progress;
pub mod scaffold;
pub mod server;
mod updater;

pub use claims::{Change, Claims, MachineObject, ObjectChange, Paths, Refusal};
pub use extension::{Extension, ExtensionBuilder, MAX_REQUEST_BYTES, RegistrationError};
pub use path::{FieldPath, FieldPathError, PathProblem};
pub use program::run;
pub use server::{Server, ServerOptions};
pub use updater::{MachineUpdate, Progress, UpdateFailure, Updater};

/// The nouns of the protocol: hooks, payloads, names.
pub use refit_api::hooks;
