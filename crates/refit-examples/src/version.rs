//! Changes the Kubernetes version of a machine.

use refit_sdk::{Claims, MachineUpdate, Paths, Progress, UpdateFailure, Updater};

use crate::host::{Host, HostChange};

/// Changes `spec.version` of the Machine, and the fields of its provider objects that go with a version.
#[derive(Debug, Clone)]
pub struct VersionUpdater<H> {
    paths: Paths,
    host: H,
}

impl<H> VersionUpdater<H> {
    /// Changes the version, the image of a `SimMachine`, and what kubeadm keeps that belongs to a version: the tags of
    /// the images of etcd and CoreDNS.
    pub fn new(host: H) -> Self {
        let paths = Paths::none()
            .machine("spec.version")
            .infrastructure_of("SimMachine", "spec.image")
            .bootstrap_of("KubeadmConfig", "spec.clusterConfiguration.etcd.local.imageTag")
            .bootstrap_of("KubeadmConfig", "spec.clusterConfiguration.dns.imageTag");
        Self { paths, host }
    }

    /// Claims these fields instead.
    pub fn claiming(self, paths: Paths) -> Self {
        Self { paths, ..self }
    }
}

impl<H: Host> Updater for VersionUpdater<H> {
    fn claims(&self) -> Claims {
        self.paths.clone().into()
    }

    async fn update(&self, machine: MachineUpdate) -> Result<Progress, UpdateFailure> {
        let version = machine.machine_field("spec.version").and_then(|version| version.as_str());
        let version = version.ok_or_else(|| UpdateFailure::new("the Machine has no version"))?.to_owned();
        machine.report(format!("installing {version}"));
        let changed = self.host.change(machine.namespace(), machine.name(), HostChange::Version(version)).await;
        changed.map(|()| Progress::Done).map_err(|error| UpdateFailure::new(error.to_string()))
    }
}
