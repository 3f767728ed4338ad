//! Every decision of refit, pure: from what was observed to what to do and why.
//!
//! There is no client, no clock and no randomness in this crate: the time is a field of what was observed, and a random
//! suffix comes in as a number. The same input gives the same output, whatever the order in which things were registered.

pub mod certificates;
pub mod check;
pub mod cluster;
pub mod control_plane;
pub mod coverage;
mod duration;
pub mod effect;
pub mod field_ownership;
pub mod fleet;
pub mod handover;
pub mod kubeadm_config;
pub mod machine;
pub mod machine_deployment;
pub mod machine_health_check;
pub mod machine_rollout;
pub mod machine_set;
mod merge;
pub mod ownership;
pub mod plan;
mod policy;
pub mod reading;
pub mod simulation;
pub mod status_patch;
#[cfg(test)]
mod testing;
pub mod waiting;
