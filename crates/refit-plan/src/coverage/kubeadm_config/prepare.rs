//! Preparing two KubeadmConfigs for their comparison.

use refit_api::bootstrap::{
    ClusterConfiguration, Discovery, EnvVar, Format, HostPathMount, InitConfiguration, JoinControlPlane,
    KubeadmConfigSpec, PullPolicy,
};

use super::Flavour;

/// What becomes of a config for `init`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitConversion {
    /// It is compared as the config for `join` that it corresponds to.
    ToJoin,
    /// It is compared as it is.
    None,
}

/// Two configs that differ only in what counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    pub current: KubeadmConfigSpec,
    pub desired: KubeadmConfigSpec,
}

impl Prepared {
    pub fn is_equal(&self) -> bool {
        self.current == self.desired
    }
}

/// Takes out of both what is no change of the machine.
pub fn prepare(desired: &KubeadmConfigSpec, current: &KubeadmConfigSpec, conversion: InitConversion) -> Prepared {
    let mut prepared = Prepared { current: current.clone(), desired: desired.clone() };
    let Prepared { current, desired } = &mut prepared;
    match (Flavour::of(current), conversion) {
        (Flavour::Init, InitConversion::ToJoin) => convert_to_join(current, desired),
        (Flavour::Init, InitConversion::None) => {}
        (Flavour::Join, InitConversion::ToJoin | InitConversion::None) => {
            current.join_configuration.control_plane.get_or_insert_default();
        }
    }
    adopt_what_others_write(current, desired);
    for config in [current, desired] {
        apply_historical_defaults(config);
        drop_what_is_needed_once(config);
        drop_omittable(&mut config.cluster_configuration);
    }
    prepared
}

/// Says of the first machine what would have been said had it joined. Its tokens are dropped: they were for others.
fn convert_to_join(current: &mut KubeadmConfigSpec, desired: &KubeadmConfigSpec) {
    let init: InitConfiguration = std::mem::take(&mut current.init_configuration);
    let join = &mut current.join_configuration;
    join.node_registration = init.node_registration;
    join.control_plane = Some(JoinControlPlane { local_api_endpoint: init.local_api_endpoint });
    join.skip_phases = init.skip_phases;
    join.patches = init.patches;
    join.timeouts = init.timeouts;
    // There is no such field for `init`.
    join.ca_cert_path.clone_from(&desired.join_configuration.ca_cert_path);
}

/// The endpoint is written by the bootstrap provider, and CoreDNS is changed in the running cluster.
fn adopt_what_others_write(current: &mut KubeadmConfigSpec, desired: &KubeadmConfigSpec) {
    let (current, desired) = (&mut current.cluster_configuration, &desired.cluster_configuration);
    current.control_plane_endpoint.clone_from(&desired.control_plane_endpoint);
    current.dns.clone_from(&desired.dns);
}

/// Fills in what older versions of Cluster API wrote into every config. (Also one in `discovery`, which is dropped.)
fn apply_historical_defaults(config: &mut KubeadmConfigSpec) {
    config.format.get_or_insert(Format::CloudConfig);
    let registrations =
        [&mut config.init_configuration.node_registration, &mut config.join_configuration.node_registration];
    for registration in registrations {
        registration.image_pull_policy.get_or_insert(PullPolicy::IfNotPresent);
    }
}

/// Drops what mattered when the machine joined, and what the conversion from v1beta1 moves around.
fn drop_what_is_needed_once(config: &mut KubeadmConfigSpec) {
    config.join_configuration.discovery = Discovery::default();
    for timeouts in [&mut config.init_configuration.timeouts, &mut config.join_configuration.timeouts] {
        timeouts.control_plane_component_health_check_seconds = None;
    }
}

/// Makes one of the two forms of nothing, where kubeadm sees no difference.
///
/// The types have already done so for most lists and maps. Taints of a Node are left alone: an empty list is not the
/// same as none.
fn drop_omittable(cluster: &mut ClusterConfiguration) {
    let environments = [
        &mut cluster.etcd.local.extra_envs,
        &mut cluster.api_server.extra_envs,
        &mut cluster.controller_manager.extra_envs,
        &mut cluster.scheduler.extra_envs,
    ];
    for environment in environments {
        *environment = environment.take().filter(|variables| !variables.is_empty());
        environment.iter_mut().flatten().for_each(drop_empty_value);
    }
    let volumes = [
        &mut cluster.api_server.extra_volumes,
        &mut cluster.controller_manager.extra_volumes,
        &mut cluster.scheduler.extra_volumes,
    ];
    volumes.into_iter().flatten().for_each(drop_empty_path_type);
}

fn drop_empty_value(variable: &mut EnvVar) {
    variable.value = variable.value.take().filter(|value| !value.is_empty());
}

fn drop_empty_path_type(mount: &mut HostPathMount) {
    mount.path_type = mount.path_type.take().filter(|path_type| !path_type.is_empty());
}
