//! Writes Nodes into workload clusters, and remembers what they say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};

use crate::name::Name;
use crate::node::NodeReport;
use crate::words::MANAGER;
use crate::workload::Workloads;

/// Why a Node is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("node {name} cannot be read or written")]
    Request { name: String, source: kube::Error },
    #[error("node {name} is another host's")]
    Taken { name: String },
}

/// The Nodes of all simulated hosts. Cloning shares what is known of them.
#[derive(Clone)]
pub struct Nodes {
    workloads: Workloads,
    known: Arc<Mutex<BTreeMap<Name, Arc<NodeReport>>>>,
}

impl Nodes {
    /// Nobody has looked at any Node yet.
    pub fn new(workloads: Workloads) -> Self {
        Self { workloads, known: Arc::default() }
    }

    /// What the Node of a SimMachine says, as far as it is known.
    pub fn known(&self, machine: &Name) -> Option<Arc<NodeReport>> {
        self.lock().get(machine).cloned()
    }

    /// Forgets what is known of the Node of a SimMachine.
    pub fn forget(&self, machine: &Name) {
        self.lock().remove(machine);
    }

    /// Makes the Node of a SimMachine say this: registers it, or changes its status where that differs.
    pub async fn report(
        &self,
        machine: &Name,
        cluster: &str,
        report: &NodeReport,
        now: Timestamp,
    ) -> Result<(), NodeError> {
        self.write(machine, cluster, report, IfMissing::Register(now)).await
    }

    /// Makes the Node of a SimMachine say this, where there is one. Only the provider registers Nodes: whoever else did
    /// might bring back the Node of a SimMachine that has just gone.
    pub async fn refresh(&self, machine: &Name, cluster: &str, report: &NodeReport) -> Result<(), NodeError> {
        self.write(machine, cluster, report, IfMissing::Leave).await
    }

    /// Deletes the Node of a SimMachine, unless it is another host's. It may be gone already.
    pub async fn remove(&self, machine: &Name, cluster: &str, provider_id: &str) -> Result<(), NodeError> {
        self.forget(machine);
        if self.workloads.find(&machine.namespace, cluster).is_none() {
            return Ok(());
        }
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
        machine: &Name,
        cluster: &str,
        report: &NodeReport,
        if_missing: IfMissing,
    ) -> Result<(), NodeError> {
        if self.known(machine).is_some_and(|known| *known == *report) {
            return Ok(());
        }
        let nodes = Api::all(self.workloads.client(&machine.namespace, cluster));
        if write(&nodes, report, if_missing).await? {
            self.lock().insert(machine.clone(), Arc::new(report.clone()));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<NodeReport>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to do about a Node that is not there.
#[derive(Debug, Clone, Copy)]
enum IfMissing {
    Register(Timestamp),
    Leave,
}

/// Makes a Node say this. Gives whether there is one now.
async fn write(nodes: &Api<Node>, report: &NodeReport, if_missing: IfMissing) -> Result<bool, NodeError> {
    let failed = |source| NodeError::Request { name: report.name.clone(), source };
    let found = match (nodes.get_opt(&report.name).await.map_err(failed)?, if_missing) {
        (Some(node), _) => node,
        (None, IfMissing::Leave) => return Ok(false),
        (None, IfMissing::Register(now)) => {
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            nodes.create(&params, &report.node(now)).await.map_err(failed)?
        }
    };
    if !report.is_of(&found) {
        return Err(NodeError::Taken { name: report.name.clone() });
    }
    if let Some(patch) = report.difference(&found) {
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        nodes.patch_status(&report.name, &params, &Patch::Merge(patch)).await.map_err(failed)?;
    }
    Ok(true)
}
