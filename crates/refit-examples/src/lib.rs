//! Two update extensions, after those of the in-place proposal: [`memory`] and [`version`].
//!
//! Each is written as an extension author would write it. What really happens to a machine is behind [`Host`]: the
//! programs here have none and only say what they would do; a demo brings its simulated machines.

pub mod host;
pub mod memory;
pub mod version;

pub use host::{Host, HostError, LoggedHost};
pub use memory::MemoryUpdater;
pub use version::VersionUpdater;
