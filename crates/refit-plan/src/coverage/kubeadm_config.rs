//! KubeadmConfigs of a control plane: what they should be, and what of them counts as a change.
//!
//! The first machine of a control plane has a config for `kubeadm init`, all others one for `kubeadm join`. What a
//! machine should be is always a config for `join`, and an update in place makes one of the first machine's, too. To
//! be compared, both sides are prepared on copies: parts that others write, that are needed only once, or that older
//! versions of Cluster API left in another form are no change.

mod prepare;
#[cfg(test)]
mod tests;

use refit_api::bootstrap::{InitConfiguration, JoinConfiguration, KubeadmConfig, KubeadmConfigSpec};
use refit_api::hooks::{RawObject, RawObjectError};
use refit_api::version::KubernetesVersion;

pub use prepare::{InitConversion, Prepared, prepare};

/// A feature gate of kubeadm that lets the kubelet of a control plane machine talk to the API server beside it.
pub const CONTROL_PLANE_KUBELET_LOCAL_MODE: &str = "ControlPlaneKubeletLocalMode";

/// The versions that have the gate: from the first one on, until before the last one.
const LOCAL_MODE_VERSIONS: [KubernetesVersion; 2] =
    [KubernetesVersion::new(1, 31, 0), KubernetesVersion::new(1, 36, 0)];

/// How a machine becomes part of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// It is the first one.
    Init,
    /// It joins the others.
    Join,
}

impl Flavour {
    /// What a config is for. One that joins says so by `joinConfiguration.controlPlane`.
    ///
    /// Cluster API v1.11 could fail to write that. The flags of the kubelet then tell: on the first machine, the
    /// whole `joinConfiguration` is empty but for a timeout that the conversion from v1beta1 can leave.
    pub fn of(config: &KubeadmConfigSpec) -> Self {
        let join = &config.join_configuration;
        let joins = join.control_plane.is_some() || !join.node_registration.kubelet_extra_args.is_empty();
        if joins { Self::Join } else { Self::Init }
    }
}

/// Whether a machine's KubeadmConfig is as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct KubeadmConfigMatch {
    /// Nothing that counts is different.
    pub is_up_to_date: bool,
    /// What the config should be: always one for `join`.
    pub desired: KubeadmConfigSpec,
}

/// What the config of a machine should be, from the control plane's own and the version that the machine is to run.
pub fn desired(template: &KubeadmConfigSpec, version: &KubernetesVersion, flavour: Flavour) -> KubeadmConfigSpec {
    let mut desired = template.clone();
    match flavour {
        Flavour::Init => desired.join_configuration = JoinConfiguration::default(),
        Flavour::Join => {
            desired.init_configuration = InitConfiguration::default();
            desired.join_configuration.control_plane.get_or_insert_default();
        }
    }
    default_feature_gates(&mut desired, version);
    desired
}

/// Turns on the gates that Cluster API wants on, where the version has them and nobody says otherwise.
///
/// Pre-releases of a version count as that version.
pub fn default_feature_gates(config: &mut KubeadmConfigSpec, version: &KubernetesVersion) {
    let [first, end] = LOCAL_MODE_VERSIONS;
    if version.cmp_release(&first).is_ge() && version.cmp_release(&end).is_lt() {
        let gates = &mut config.cluster_configuration.feature_gates;
        gates.entry(CONTROL_PLANE_KUBELET_LOCAL_MODE.to_owned()).or_insert(true);
    }
}

/// Compares a machine's config with the control plane's own.
///
/// The config of the first machine is compared twice: as if it had joined, and as it is. Users whose `init` and `join`
/// sections differ would see that machine replaced for nothing otherwise.
pub fn compare(
    template: &KubeadmConfigSpec,
    version: &KubernetesVersion,
    current: &KubeadmConfigSpec,
) -> KubeadmConfigMatch {
    let joining = desired(template, version, Flavour::Join);
    let matches_joining = prepare(&joining, current, InitConversion::ToJoin).is_equal();
    let matches_init = || {
        let init = desired(template, version, Flavour::Init);
        Flavour::of(current) == Flavour::Init && prepare(&init, current, InitConversion::None).is_equal()
    };
    KubeadmConfigMatch { is_up_to_date: matches_joining || matches_init(), desired: joining }
}

/// Both configs as extensions are shown them, to go into a [`Question`](super::Question): current, then desired.
///
/// Without `discovery`, in which the token of a machine that joined still stands.
pub fn prepare_objects(
    current: &KubeadmConfig,
    desired: &KubeadmConfig,
) -> Result<(RawObject, RawObject), RawObjectError> {
    let prepared = prepare(&desired.spec, &current.spec, InitConversion::ToJoin);
    let object = |config: &KubeadmConfig, spec| RawObject::encode(&KubeadmConfig { spec, ..config.clone() });
    Ok((object(current, prepared.current)?, object(desired, prepared.desired)?))
}
