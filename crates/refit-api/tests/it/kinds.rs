//! All kinds, so that a test can be run for each.

use refit_api::resource::CustomKind;
use refit_api::{crd, rollout};
use serde_json::Value;

use crate::upstream;

/// One test per kind, each calling `$check::<Kind>()`.
macro_rules! for_every_kind {
    ($check:ident) => {
        mod of {
            use refit_api::bootstrap::*;
            use refit_api::cluster::*;
            use refit_api::controlplane::*;
            use refit_api::rollout::*;
            use refit_api::runtime::*;

            $crate::kinds::for_every_kind! {
                $check:
                cluster: Cluster, extension_config: ExtensionConfig, kubeadm_config: KubeadmConfig,
                kubeadm_config_template: KubeadmConfigTemplate, kubeadm_control_plane: KubeadmControlPlane,
                machine: Machine, machine_deployment: MachineDeployment,
                machine_health_check: MachineHealthCheck, machine_rollout: MachineRollout,
                machine_set: MachineSet
            }
        }
    };
    ($check:ident: $($name:ident: $Kind:ty),+) => {
        $(
            #[test]
            fn $name() {
                super::$check::<$Kind>();
            }
        )+

        #[test]
        fn every_kind_there_is() {
            assert_eq!([$(stringify!($Kind)),+].len(), refit_api::crd::all().len(), "a kind is not in the list");
        }
    };
}
pub(crate) use for_every_kind;

/// The CRD by which a kind is judged: upstream's, or our own for a kind that upstream does not have.
///
/// Nothing where upstream's cannot be had; the test then says so and returns.
pub fn judging_crd<K: CustomKind>() -> Option<Value> {
    let definition = K::DEFINITION;
    if definition.group == rollout::GROUP {
        return Some(crd::of::<K>());
    }
    upstream::crd(definition.group, definition.plural)
}
