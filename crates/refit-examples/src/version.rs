//! Changes the Kubernetes version of a machine.

mod image;

use refit_sdk::{Change, Claims, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
use serde_json::Value;

use crate::host::{Host, HostChange};

/// What the control plane turns on by itself for the versions that need it.
const LOCAL_MODE: &str = "spec.clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode";

/// Changes `spec.version` of the Machine, and the fields of its provider objects that go with a version.
#[derive(Debug, Clone)]
pub struct VersionUpdater<H> {
    /// What it claims instead of [`covered`].
    paths: Option<Paths>,
    host: H,
}

impl<H> VersionUpdater<H> {
    /// Changes the version, the image of a `SimMachine` that belongs to it, and what kubeadm keeps that belongs to a version:
    /// the tags of the images of etcd and CoreDNS, and the feature gate that lets a kubelet talk to the API server beside it.
    ///
    /// An image belongs to a version by its name: `worker-1.35` and `worker-1.35.0` to `v1.35.0`. It is changed if it belongs
    /// to the version that is wanted, and if its name differs from that of the old one in the version only. To install a
    /// version on a running host does not make it another system: `worker-1.34` never becomes `windows-1.35`.
    pub fn new(host: H) -> Self {
        Self { paths: None, host }
    }

    /// Claims these fields instead, whatever is in them.
    pub fn claiming(self, paths: Paths) -> Self {
        Self { paths: Some(paths), ..self }
    }
}

/// The fields of this change that go with a version.
fn covered(change: &Change<'_>) -> Paths {
    const VERSION: &str = "spec.version";
    const IMAGE: &str = "spec.image";
    let mut paths = Paths::none().machine(VERSION);
    let wanted = change.machine.desired_field(VERSION).and_then(Value::as_str).unwrap_or_default();
    let is_another = change.machine.current_field(VERSION) != change.machine.desired_field(VERSION);
    let image = |field: Option<&Value>| field.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (from, to) =
        (image(change.infrastructure.current_field(IMAGE)), image(change.infrastructure.desired_field(IMAGE)));
    if image::goes_with(&from, &to, wanted) {
        paths = paths.infrastructure_of("SimMachine", IMAGE);
    }
    if is_another {
        paths = paths
            .bootstrap_of("KubeadmConfig", "spec.clusterConfiguration.etcd.local.imageTag")
            .bootstrap_of("KubeadmConfig", "spec.clusterConfiguration.dns.imageTag")
            .bootstrap_of("KubeadmConfig", LOCAL_MODE);
    }
    paths
}

impl<H: Host> Updater for VersionUpdater<H> {
    fn claims(&self) -> Claims {
        match &self.paths {
            Some(paths) => paths.clone().into(),
            None => Claims::decided(|change| Ok(covered(change))),
        }
    }

    async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
        let version = machine.machine_field("spec.version").and_then(|version| version.as_str());
        let version = version.ok_or_else(|| UpdateFailure::new("the Machine has no version"))?.to_owned();
        machine.report(format!("installing {version}"));
        let changed = self.host.change(machine.namespace(), machine.name(), HostChange::Version(version)).await;
        changed.map(|()| Progress::Done).map_err(|error| UpdateFailure::new(error.to_string()))
    }
}
