//! The provider's kinds. Each names the contract that it fulfils in a label of its CRD.

mod bootstrap_config;
mod cluster;
mod control_plane;
mod failures;
mod machine;
mod machine_template;

use serde_json::Value;

pub use bootstrap_config::*;
pub use cluster::*;
pub use control_plane::*;
pub use failures::*;
pub use machine::*;
pub use machine_template::*;

/// The group of what stands for machines and networks.
pub const INFRASTRUCTURE_GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// The version of all kinds here.
pub const VERSION: &str = "v1beta2";

/// The CRDs of all kinds of this provider.
pub fn crds() -> Vec<Value> {
    use refit_api::crd::of;
    vec![
        of::<SimBootstrapConfig>(),
        of::<SimBootstrapConfigTemplate>(),
        of::<SimCluster>(),
        of::<SimControlPlane>(),
        of::<SimMachine>(),
        of::<SimMachineTemplate>(),
    ]
}

#[cfg(test)]
mod tests {
    use refit_api::contract::{crd_name, resolve};

    use super::*;

    #[test]
    fn every_kind_is_found_by_the_contract() {
        for crd in crds() {
            let spec = &crd["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = text(&crd["metadata"]["name"]);
            assert_eq!(name, crd_name(&text(&spec["group"]), &text(&spec["names"]["kind"])));
            let labels = serde_json::from_value(crd["metadata"]["labels"].clone()).expect("there must be labels");
            assert_eq!(resolve(&name, &labels).map(|found| found.version), Ok(VERSION.to_owned()), "{name}");
        }
    }
}
