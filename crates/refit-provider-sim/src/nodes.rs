//! Writes what kubelets say into workload clusters, and remembers it.

mod control_plane;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};

use crate::etcd::EtcdRefusal;
use crate::kinds::SimMachine;
use crate::name::{Name, version};
use crate::node::NodeReport;
use crate::words::MANAGER;
use crate::workload::Workloads;
pub use control_plane::ControlPlaneError;
use control_plane::{ControlPlaneWriter, Written};

/// Why a Node is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("node {name} cannot be read or written")]
    Request { name: String, source: kube::Error },
    #[error("node {name} is another host's")]
    Taken { name: String },
    #[error("{0}")]
    ControlPlane(#[from] ControlPlaneError),
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// The workload cluster says it.
    Done,
    /// It says already what follows from a newer version of the SimMachine.
    Outdated,
    /// It says it but for the member of etcd, which cannot join at the moment.
    WaitingForEtcd(EtcdRefusal),
}

/// The Nodes of all simulated hosts. Cloning shares what is known of them.
///
/// A Node is written by the provider and by whoever changes its host. Only one of them writes at a time, and nobody
/// who knows less of the SimMachine than the one before.
#[derive(Clone)]
pub struct Nodes {
    workloads: Workloads,
    known: Arc<Mutex<BTreeMap<Name, Known>>>,
}

/// What is known of one Node.
#[derive(Default)]
struct Known {
    /// What it says, and the version of the SimMachine by which it does.
    said: Option<(u64, Arc<NodeReport>)>,
    /// Held by whoever writes it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Nodes {
    /// Nobody has looked at any Node yet.
    pub fn new(workloads: Workloads) -> Self {
        Self { workloads, known: Arc::default() }
    }

    /// What the Node of a SimMachine says, as far as it is known.
    pub fn known(&self, machine: &Name) -> Option<Arc<NodeReport>> {
        self.lock().get(machine)?.said.as_ref().map(|(_, report)| Arc::clone(report))
    }

    /// Forgets what is known of the Node of a SimMachine.
    pub fn forget(&self, machine: &Name) {
        self.lock().remove(machine);
    }

    /// Makes the Node of a SimMachine, and its part of a control plane, say what follows from it: registers it, or changes
    /// its status where that differs.
    pub async fn report(
        &self,
        machine: &SimMachine,
        cluster: &str,
        report: &NodeReport,
        now: Timestamp,
    ) -> Result<Reported, NodeError> {
        // Who is dead registers nothing.
        let if_missing = if report.is_dead { IfMissing::Leave } else { IfMissing::Register };
        self.write(machine, cluster, report, if_missing, now).await
    }

    /// Makes the Node of a SimMachine say what follows from it, where there is one. Only the provider registers Nodes:
    /// whoever else did might bring back the Node of a SimMachine that has just gone.
    pub async fn refresh(
        &self,
        machine: &SimMachine,
        cluster: &str,
        report: &NodeReport,
        now: Timestamp,
    ) -> Result<(), NodeError> {
        self.write(machine, cluster, report, IfMissing::Leave, now).await.map(drop)
    }

    /// A host is gone: deletes its Pods and its Node, and leaves its member of etcd behind. All may be gone already.
    pub async fn remove(&self, machine: &Name, cluster: &str, host: &GoneHost) -> Result<(), NodeError> {
        self.forget(machine);
        if self.workloads.find(&machine.namespace, cluster).is_none() {
            return Ok(());
        }
        if let Some(member) = &host.control_plane_host {
            self.control_plane(machine, cluster).remove(&machine.name, member).await?;
        }
        let provider_id = host.provider_id.as_str();
        let nodes: Api<Node> = Api::all(self.workloads.client(&machine.namespace, cluster));
        let failed = |source| NodeError::Request { name: machine.name.clone(), source };
        let Some(node) = nodes.get_opt(&machine.name).await.map_err(failed)? else { return Ok(()) };
        if node.spec.and_then(|spec| spec.provider_id).as_deref() != Some(provider_id) {
            return Ok(());
        }
        match nodes.delete(&machine.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    async fn write(
        &self,
        machine: &SimMachine,
        cluster: &str,
        report: &NodeReport,
        if_missing: IfMissing,
        now: Timestamp,
    ) -> Result<Reported, NodeError> {
        let (name, version) = (Name::of(machine), version(machine));
        let turn = Arc::clone(&self.lock().entry(name.clone()).or_default().turn);
        let _turn = turn.lock().await;
        match self.lock().get(&name).and_then(|known| known.said.as_ref()) {
            Some((newer, _)) if *newer > version => return Ok(Reported::Outdated),
            Some((_, said)) if **said == *report => return Ok(Reported::Done),
            _ => {}
        }
        let nodes = Api::all(self.workloads.client(&name.namespace, cluster));
        let Some(node) = write(&nodes, report, if_missing, now).await? else { return Ok(Reported::Done) };
        if let Some(refusal) = self.write_control_plane(&name, cluster, &node, report, now).await? {
            return Ok(Reported::WaitingForEtcd(refusal));
        }
        self.lock().entry(name).or_default().said = Some((version, Arc::new(report.clone())));
        Ok(Reported::Done)
    }

    /// Gives why the member of etcd cannot join, where it cannot.
    async fn write_control_plane(
        &self,
        machine: &Name,
        cluster: &str,
        node: &Node,
        report: &NodeReport,
        now: Timestamp,
    ) -> Result<Option<EtcdRefusal>, NodeError> {
        let Some(control_plane) = &report.control_plane else { return Ok(None) };
        let version = report.host.kubernetes_version.as_deref().unwrap_or_default();
        let writer = self.control_plane(machine, cluster);
        match writer.write(node, version, control_plane, now).await? {
            Written::All => Ok(None),
            Written::WithoutEtcd(refusal) => Ok(Some(refusal)),
        }
    }

    fn control_plane(&self, machine: &Name, cluster: &str) -> ControlPlaneWriter {
        ControlPlaneWriter {
            workload: self.workloads.client(&machine.namespace, cluster),
            cluster: cluster.to_owned(),
            endpoint: self.workloads.endpoint(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a host that goes leaves behind.
#[derive(Debug, Clone)]
pub struct GoneHost {
    pub provider_id: String,
    /// The id of the host, where it was part of a control plane.
    pub control_plane_host: Option<String>,
}

/// What to do about a Node that is not there.
#[derive(Debug, Clone, Copy)]
enum IfMissing {
    Register,
    Leave,
}

/// Makes a Node say this. Gives the Node, where there is one now.
async fn write(
    nodes: &Api<Node>,
    report: &NodeReport,
    if_missing: IfMissing,
    now: Timestamp,
) -> Result<Option<Node>, NodeError> {
    let failed = |source| NodeError::Request { name: report.name.clone(), source };
    let found = match (nodes.get_opt(&report.name).await.map_err(failed)?, if_missing) {
        (Some(node), _) => node,
        (None, IfMissing::Leave) => return Ok(None),
        (None, IfMissing::Register) => {
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            nodes.create(&params, &report.node(now)).await.map_err(failed)?
        }
    };
    if !report.is_of(&found) {
        return Err(NodeError::Taken { name: report.name.clone() });
    }
    if let Some(patch) = report.difference(&found, now) {
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        nodes.patch_status(&report.name, &params, &Patch::Merge(patch)).await.map_err(failed)?;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use refit_apiserver::credentials::Credentials;
    use refit_apiserver::host::Host;
    use refit_apiserver::server::{Limits, Server};
    use refit_apiserver::store::Store;

    use super::*;
    use crate::kinds::SimHost;

    fn report(memory: &str) -> NodeReport {
        NodeReport {
            name: "a".to_owned(),
            provider_id: "sim://ns/a".to_owned(),
            host: SimHost { memory: memory.to_owned(), ..SimHost::default() },
            address: "10.0.0.1".to_owned(),
            is_dead: false,
            control_plane: None,
        }
    }

    fn machine(version: u64) -> SimMachine {
        let mut machine = SimMachine::default();
        machine.metadata.namespace = Some("ns".to_owned());
        machine.metadata.name = Some("a".to_owned());
        machine.metadata.resource_version = Some(version.to_string());
        machine
    }

    #[tokio::test]
    async fn who_looked_before_the_host_was_changed_does_not_take_it_back() {
        let folder = tempfile::tempdir().expect("there must be a folder");
        let now = Timestamp::now();
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        let credentials = Credentials::open(folder.path(), &[], now).expect("there must be credentials");
        let server = Server::bind(host.clone(), credentials, ([127, 0, 0, 1], 0).into(), Limits::default()).await;
        let workloads = Workloads::on(host, &server.expect("the server must listen"));
        workloads.create("ns", "c").await.expect("a cluster must be made");
        let (nodes, name) = (Nodes::new(workloads.clone()), Name::new("ns", "a"));
        let told = async |version, memory| nodes.report(&machine(version), "c", &report(memory), now).await;
        assert_eq!(told(5, "8Gi").await.expect("the Node must be registered"), Reported::Done);
        nodes.refresh(&machine(7), "c", &report("16Gi"), now).await.expect("the Node must be written");
        assert_eq!(told(6, "8Gi").await.expect("there must be nothing to do"), Reported::Outdated);
        let node = Api::<Node>::all(workloads.client("ns", "c")).get("a").await.expect("there must be a Node");
        let memory = node.status.and_then(|status| status.capacity?.get("memory").map(|memory| memory.0.clone()));
        assert_eq!(memory.as_deref(), Some("16Gi"));
        assert_eq!(nodes.known(&name).map(|said| said.host.memory.clone()).as_deref(), Some("16Gi"));
        // A SimMachine that is made anew under its name begins anew.
        let host = GoneHost { provider_id: "sim://ns/a".to_owned(), control_plane_host: None };
        nodes.remove(&name, "c", &host).await.expect("the Node must go");
        assert_eq!(told(9, "8Gi").await.expect("the Node must be registered"), Reported::Done);
    }
}
