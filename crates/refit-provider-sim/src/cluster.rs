//! Decides what becomes of a SimCluster. Pure.

use jiff::Timestamp;
use kube::ResourceExt;
use refit_api::cluster::APIEndpoint;
use refit_api::conditions::NewCondition;

use crate::facts::{ClusterFacts, pause};
use crate::kinds::{ProvisionedStatus, SimCluster, SimClusterStatus, WorkloadStatus};
use crate::readiness::{Waiting, ready, silent_until, with_conditions};
use crate::words::{CLUSTER_FINALIZER, reasons};

/// Everything that the decision may look at.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub cluster: &'a SimCluster,
    /// The Cluster that owns it.
    pub owner: Option<&'a ClusterFacts>,
    /// The workload cluster as it is now.
    pub workload: Option<&'a WorkloadStatus>,
    /// Where workload clusters are served.
    pub endpoint: &'a APIEndpoint,
}

/// The next step. Each may be done twice with the effect of once.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Put the finalizer on, and say where the API server is.
    Claim { endpoint: APIEndpoint },
    /// Make the workload cluster.
    Create,
    /// Write the kubeconfig secret, then this status.
    Publish(Box<SimClusterStatus>),
    /// Write the status, if nobody has changed the object since.
    SetStatus(Box<SimClusterStatus>),
    /// Drop the workload cluster and its secret, then let the object go.
    Leave,
    /// Nothing, until something changes or this time has come.
    Wait { until: Option<Timestamp> },
}

/// The next step for a SimCluster.
pub fn decide(observed: &Observed<'_>) -> Step {
    let Observed { cluster, owner, .. } = *observed;
    let (is_paused, paused) = pause("SimCluster", cluster, owner);
    if is_paused {
        return set_status(observed, with(observed, [paused]));
    }
    let is_claimed = cluster.finalizers().iter().any(|finalizer| finalizer == CLUSTER_FINALIZER);
    if cluster.metadata.deletion_timestamp.is_some() {
        return if is_claimed { Step::Leave } else { Step::Wait { until: None } };
    }
    if owner.is_none() {
        return wait(observed, paused);
    }
    if !is_claimed || cluster.spec.control_plane_endpoint == APIEndpoint::default() {
        return Step::Claim { endpoint: observed.endpoint.clone() };
    }
    let Some(workload) = observed.workload else { return Step::Create };
    let mut status = with(observed, [ready(), paused]);
    status.initialization = ProvisionedStatus { provisioned: Some(true) };
    if cluster.status.workload.as_ref() == Some(workload) {
        return set_status(observed, status);
    }
    status.workload = Some(workload.clone());
    Step::Publish(Box::new(status))
}

fn wait(observed: &Observed<'_>, paused: NewCondition) -> Step {
    if let Some(end) = silent_until(observed.cluster, observed.now) {
        return Step::Wait { until: Some(end) };
    }
    let waiting = Waiting::new(reasons::WAITING_FOR_OWNER, "Waiting for a Cluster to own it");
    set_status(observed, with(observed, [waiting.condition(), paused]))
}

fn set_status(observed: &Observed<'_>, status: SimClusterStatus) -> Step {
    if status == observed.cluster.status { Step::Wait { until: None } } else { Step::SetStatus(Box::new(status)) }
}

fn with<const N: usize>(observed: &Observed<'_>, conditions: [NewCondition; N]) -> SimClusterStatus {
    let status = observed.cluster.status.clone();
    SimClusterStatus { conditions: with_conditions(&status.conditions, conditions, observed.now), ..status }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    /// What a SimCluster comes across.
    struct World {
        cluster: SimCluster,
        owner: Option<ClusterFacts>,
        workload: Option<WorkloadStatus>,
    }

    impl World {
        fn decide(&self) -> Step {
            let endpoint = APIEndpoint { host: Some("127.0.0.1".to_owned()), port: Some(6443) };
            decide(&Observed {
                now: Timestamp::UNIX_EPOCH,
                cluster: &self.cluster,
                owner: self.owner.as_ref(),
                workload: self.workload.as_ref(),
                endpoint: &endpoint,
            })
        }

        /// Carries out steps until there is none; gives their names.
        fn settle(&mut self) -> Vec<&'static str> {
            let mut names = Vec::new();
            loop {
                match self.decide() {
                    Step::Wait { .. } => return names,
                    Step::Claim { endpoint } => {
                        names.push("claim");
                        self.cluster.metadata.finalizers = Some(vec![CLUSTER_FINALIZER.to_owned()]);
                        self.cluster.spec.control_plane_endpoint = endpoint;
                    }
                    Step::Create => {
                        names.push("create");
                        self.workload = Some(workload("1"));
                    }
                    Step::Publish(status) => {
                        names.push("publish");
                        self.cluster.status = *status;
                    }
                    Step::SetStatus(status) => {
                        names.push("status");
                        self.cluster.status = *status;
                    }
                    Step::Leave => {
                        names.push("leave");
                        return names;
                    }
                }
            }
        }
    }

    fn workload(uid: &str) -> WorkloadStatus {
        let server = "https://127.0.0.1:6443".to_owned();
        WorkloadStatus { name: "ns.demo".to_owned(), uid: uid.to_owned(), server }
    }

    #[test]
    fn a_cluster_comes_up_and_stays() {
        let mut world = World { cluster: SimCluster::default(), owner: None, workload: None };
        assert_eq!(world.settle(), ["status"], "it has no owner yet");
        world.owner = Some(ClusterFacts::default());
        assert_eq!(world.settle(), ["claim", "create", "publish"]);
        assert_eq!(world.cluster.status.initialization.provisioned, Some(true));
        assert_eq!(world.settle(), [""; 0]);
        world.workload = Some(workload("2"));
        assert_eq!(world.settle(), ["publish"], "another workload cluster has other credentials");
        world.cluster.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(world.settle(), ["leave"]);
    }
}
