//! A whole management plane in one process: an API server, the controllers, simulated machines, example extensions.
//!
//! ```text
//! Backend  where objects are: the embedded server, or somebody else's API server
//! Workers  who works on them: controllers, simulated provider, extensions; ends and begins again over the same Backend
//! ```
//!
//! What is started is decided here; what it does is in the crates below, and so is every decision about machines.

mod backend;
mod backup;
pub mod bench;
mod client;
mod controller;
mod definitions;
pub mod demo;
mod examples;
pub mod requests;
pub mod sample;
mod signals;
mod task;
mod up;
mod workers;
mod workload_access;

pub use backend::{Backend, BackendError, EmbeddedOptions};
pub use backup::{DataError, back_up, restore, verify};
pub use client::{ClientError, connect};
pub use controller::{ControllerError, ControllerOptions, run as run_controller};
pub use definitions::{DefinitionError, install};
pub use examples::{Example, ExampleError};
pub use up::{Started, UpError, UpOptions, run as run_up};
pub use workers::{Counters, Workers, WorkersError};
pub use workload_access::workload_access;
