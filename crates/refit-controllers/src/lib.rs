//! Observe, decide, act: the shell around `refit-plan`, on a `kube::Client` and nothing else.
//!
//! ```text
//! API server -> cache -> queue -> a controller: observe, decide (refit-plan), act -> API server
//!                 ^------------------------- waits until the write is seen ----'
//! ```
//!
//! No decision is made here. All time is tokio's, all chance comes from one seeded source: a whole management plane
//! runs in one process under a paused clock and one seed.

pub mod act;
pub mod answers;
pub mod cache;
pub mod certificates;
pub mod chance;
pub mod clock;
pub mod cluster;
pub mod context;
pub mod control_plane;
pub mod controller;
pub mod controllers;
mod doubts;
pub mod extension_config;
pub mod heart;
pub mod kubeadm_config;
pub mod leader;
pub mod machine;
pub mod machine_deployment;
pub mod machine_health_check;
pub mod machine_rollout;
pub mod machine_set;
pub mod made_from;
pub mod providers;
pub mod queue;
pub mod reasons;
pub mod serve;
pub mod shell;
pub mod transport;
pub mod workload;
