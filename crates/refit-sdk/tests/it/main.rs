//! Extensions that are served, called over the wire.

mod certificates;
mod conformance;
mod go_peer;
mod hostile;
mod support;
mod wire;

/// What `refit extension new` writes, built and tested here as well.
#[path = "../../templates/src/lib.rs"]
mod template;
