//! Looks into the workload cluster of a control plane.

use std::sync::Arc;

use kube::Client;
use refit_api::conditions;
use refit_api::vocabulary::condition_types::ETCD_MEMBER_HEALTHY;
use refit_plan::control_plane::inspection::{self, Inspection};
use refit_plan::control_plane::{Observed, ObservedMachine, is_at_work};
use refit_workload::WorkloadCluster;
use refit_workload::etcd::EtcdAuthority;

use super::ControlPlanes;
use crate::cache::ObjectKey;
use crate::controller::Pass;

/// Which workload cluster is meant, and how it is reached.
#[derive(Clone)]
pub struct Reach {
    /// For the workload cluster.
    pub client: Client,
    /// Of the Cluster.
    pub cluster: ObjectKey,
    /// Of the etcd that runs on the machines of the control plane; nothing where it is somebody else's, or is not known.
    pub etcd: Option<EtcdAuthority>,
    /// etcd does not run on the machines of the control plane.
    pub is_etcd_external: bool,
}

/// Makes what the controller of control planes asks a workload cluster through.
pub type WorkloadAccess = Arc<dyn Fn(Reach) -> Arc<dyn WorkloadCluster> + Send + Sync>;

impl ControlPlanes {
    /// Notes what the workload cluster says, and whether there are certificates. Gives the workload cluster if it can be
    /// reached.
    pub(super) async fn look(
        &self,
        key: &ObjectKey,
        observed: &mut Observed,
        pass: &mut Pass,
    ) -> Option<Arc<dyn WorkloadCluster>> {
        if !is_at_work(observed) {
            return None;
        }
        let etcd = self.certificates(key, observed, pass).await;
        let cluster = ObjectKey::of(&observed.cluster);
        let workload = self.context.workloads.get(&cluster);
        let configuration = &observed.control_plane.spec.kubeadm_config_spec.cluster_configuration;
        let is_etcd_external = configuration.etcd.external.is_some();
        let reach = |client| Reach { client, cluster, etcd, is_etcd_external };
        let reached = workload.connected.map(|connected| (self.access)(reach(connected.client)));
        let inspection = match &reached {
            Some(reached) => reached.inspect(&nodes(observed)).await,
            None => Inspection::NotConnected,
        };
        let inspected = inspection::read(
            &inspection,
            &inspection::Context {
                now: observed.now,
                control_plane: &observed.control_plane,
                machines: &observed.machines,
                connection: workload.connection,
                grace_period: self.grace_period,
            },
        );
        observed.etcd = inspected.etcd;
        observed.nodes_without_machine = inspected.nodes_without_machine;
        observed.has_kubeadm_config = inspected.has_kubeadm_config;
        observed.inspected = inspected.conditions;
        observed.not_inspected = observed.not_inspected.take().or(inspected.blocked);
        reached
    }
}

/// The Nodes of the Machines. Those whose etcd was well come first: it is asked through the first that answers.
fn nodes(observed: &Observed) -> Vec<String> {
    let is_unwell = |it: &&ObservedMachine| !conditions::is_true(&it.machine.status.conditions, ETCD_MEMBER_HEALTHY);
    let mut machines: Vec<&ObservedMachine> = observed.machines.values().collect();
    machines.sort_by_key(is_unwell);
    machines.iter().filter_map(|it| it.machine.status.node_ref.as_ref()).map(|node| node.name.clone()).collect()
}
