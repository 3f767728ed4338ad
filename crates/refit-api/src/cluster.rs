//! Resources of the group `cluster.x-k8s.io`.

#[expect(clippy::module_inception, reason = "the group and one of its kinds have the same name")]
mod cluster;
mod common;
mod machine;
mod machine_deployment;
mod machine_health_check;
mod machine_set;
mod topology;

pub use cluster::*;
pub use common::*;
pub use machine::*;
pub use machine_deployment::*;
pub use machine_health_check::*;
pub use machine_set::*;
pub use topology::*;

pub const GROUP: &str = "cluster.x-k8s.io";
pub const VERSION: &str = "v1beta2";
