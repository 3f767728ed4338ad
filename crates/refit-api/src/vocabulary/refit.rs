//! The names that refit adds. All work on upstream's CRDs.

pub mod annotations;
pub mod condition_types;
pub mod events;
pub mod reasons;
