//! Every name that refit shares with others, once: labels, annotations, finalizers, field managers, taints,
//! condition types, condition reasons and event reasons.
//!
//! A name is written out here and nowhere else. Upstream's names are in the modules of their sort; the names that
//! refit adds are in [`refit`], so that nobody takes one for the other. Each line says on what object a name is
//! found, who puts it there, and what it means.

pub mod annotations;
pub mod condition_types;
pub mod events;
pub mod finalizers;
pub mod labels;
pub mod managers;
pub mod reasons;
pub mod refit;
pub mod taints;
