//! One look at one object: observe, decide, act, until there is nothing more to do at the moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use refit_api::vocabulary::labels;
use refit_apiserver::api::Clock;
use refit_apiserver::clusters::ClusterError;
use refit_apiserver::credentials::CredentialsError;
use serde_json::json;

use super::cache::Cache;
use super::objects::{Kind, Objects};
use super::secrets;
use super::world::{Key, Owners, World, slim};
use crate::facts::MachineFacts;
use crate::kinds::{SimBootstrapConfig, SimCluster, SimControlPlane, SimMachine};
use crate::name::Name;
use crate::nodes::{GoneHost, NodeError, Nodes, Reported};
use crate::words::{CLUSTER_FINALIZER, MACHINE_FINALIZER, kubeconfig_secret};
use crate::workload::Workloads;
use crate::{bootstrap, cluster, control_plane, machine};

/// Steps in one look. The longest way of an object has five: claim, begin, arrive, report, wait.
const MAX_STEPS: usize = 8;
/// When a member that cannot join etcd tries again.
const ETCD_RETRY: SignedDuration = SignedDuration::from_secs(1);

/// Why a look ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error("the management cluster refused a request: {0}")]
    Request(#[from] kube::Error),
    #[error("{0}")]
    Node(#[from] NodeError),
    #[error("the workload cluster cannot be made or dropped: {0}")]
    Workload(#[from] ClusterError),
    #[error("there is no kubeconfig: {0}")]
    Kubeconfig(#[from] CredentialsError),
    #[error("the object took more than {MAX_STEPS} steps")]
    Unsettled,
}

impl ReconcileError {
    /// Whether somebody else wrote the object since it was seen. The next look will see it.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(kube::Error::Api(status)) if status.code == 409)
    }

    fn is_gone(&self) -> bool {
        matches!(self, Self::Request(kube::Error::Api(status)) if status.code == 404)
    }
}

/// What every look uses. Cloning shares it.
#[derive(Clone)]
pub struct Reconciler {
    pub objects: Objects,
    pub workloads: Workloads,
    pub nodes: Nodes,
    pub clock: Clock,
    pub world: Arc<Mutex<World>>,
}

impl Reconciler {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at an object. Gives the time when it has to be looked at again.
    pub async fn reconcile(&self, key: &Key) -> Result<Option<Timestamp>, ReconcileError> {
        for _ in 0..MAX_STEPS {
            let step = match key {
                Key::Cluster(name) => self.cluster(name).await,
                Key::Config(name) => self.config(name).await,
                Key::ControlPlane(name) => self.plane(name).await,
                Key::Machine(name) => self.machine(name).await,
            };
            match step {
                Ok(Progress::Again) => {}
                Ok(Progress::Wait(until)) => return Ok(until),
                Err(error) if error.is_gone() => return Ok(self.forget(key)),
                Err(error) => return Err(error),
            }
        }
        Err(ReconcileError::Unsettled)
    }

    /// The name of the Cluster of a SimCluster, while its workload cluster is served.
    pub fn served(&self, sim: &Name) -> Option<String> {
        let (object, owners) = self.find(sim, |world| &world.sim_clusters)?;
        let is_served = object.status.workload.is_some() && object.metadata.deletion_timestamp.is_none();
        owners.cluster_name.filter(|_| is_served)
    }

    /// The object went while it was looked at.
    fn forget(&self, key: &Key) -> Option<Timestamp> {
        let mut world = self.world();
        match key {
            Key::Cluster(name) => world.sim_clusters.forget(name),
            Key::Config(name) => world.configs.forget(name),
            Key::ControlPlane(name) => world.planes.forget(name),
            Key::Machine(name) => world.sim_machines.forget(name),
        }
        None
    }

    async fn cluster(&self, name: &Name) -> Result<Progress, ReconcileError> {
        let Some((object, Owners { cluster: owner, cluster_name, .. })) = self.find(name, |world| &world.sim_clusters)
        else {
            return Ok(Progress::Wait(None));
        };
        let cluster_name = cluster_name.unwrap_or_default();
        let (now, endpoint) = ((self.clock)(), self.workloads.endpoint());
        let workload = self.workloads.find(&name.namespace, &cluster_name);
        let observed = cluster::Observed {
            now,
            cluster: &object,
            owner: owner.as_deref(),
            workload: workload.as_ref(),
            endpoint: &endpoint,
        };
        let written = match cluster::decide(&observed) {
            cluster::Step::Wait { until } => return Ok(Progress::Wait(until)),
            cluster::Step::Create => {
                self.workloads.create(&name.namespace, &cluster_name).await?;
                return Ok(Progress::Again);
            }
            cluster::Step::Claim { endpoint } => {
                let spec = json!({ "controlPlaneEndpoint": endpoint });
                self.objects.claim(&*object, CLUSTER_FINALIZER, spec).await?
            }
            cluster::Step::Publish(status) => {
                self.publish_kubeconfig(&object, &cluster_name, now).await?;
                self.objects.set_status(&SimCluster { status: *status, ..(*object).clone() }).await?
            }
            cluster::Step::SetStatus(status) => {
                self.objects.set_status(&SimCluster { status: *status, ..(*object).clone() }).await?
            }
            cluster::Step::Leave => {
                self.tear_down(&name.namespace, &cluster_name).await?;
                self.objects.release(&*object, CLUSTER_FINALIZER).await?
            }
        };
        self.world().sim_clusters.learn(written, slim);
        Ok(Progress::Again)
    }

    /// Drops the workload cluster of a Cluster. Where nothing says which Cluster that was, there is nothing to drop.
    async fn tear_down(&self, namespace: &str, cluster: &str) -> Result<(), ReconcileError> {
        if cluster.is_empty() {
            return Ok(());
        }
        self.workloads.drop(namespace, cluster).await?;
        Ok(self.objects.delete_secret(namespace, &kubeconfig_secret(cluster)).await?)
    }

    async fn publish_kubeconfig(&self, object: &SimCluster, name: &str, now: Timestamp) -> Result<(), ReconcileError> {
        let namespace = object.namespace().unwrap_or_default();
        if let Some(kubeconfig) = self.workloads.kubeconfig(&namespace, name, now)? {
            self.objects.apply_secret(&secrets::kubeconfig(object, name, kubeconfig)).await?;
        }
        Ok(())
    }

    async fn config(&self, name: &Name) -> Result<Progress, ReconcileError> {
        let Some((object, owners)) = self.find(name, |world| &world.configs) else { return Ok(Progress::Wait(None)) };
        let (owner, cluster) = (owners.machine.as_deref(), owners.cluster.as_deref());
        let status =
            match bootstrap::decide(&bootstrap::Observed { now: (self.clock)(), config: &object, owner, cluster }) {
                bootstrap::Step::Wait { until } => return Ok(Progress::Wait(until)),
                bootstrap::Step::SetStatus(status) => status,
                bootstrap::Step::Publish(status) => {
                    let cluster = owners.cluster_name.unwrap_or_default();
                    self.objects.apply_secret(&secrets::bootstrap(&object, &cluster)).await?;
                    status
                }
            };
        let changed = SimBootstrapConfig { status: *status, ..(*object).clone() };
        let written = self.objects.set_status(&changed).await?;
        self.world().configs.learn(written, slim);
        Ok(Progress::Again)
    }

    async fn plane(&self, name: &Name) -> Result<Progress, ReconcileError> {
        let Some((object, owners)) = self.find(name, |world| &world.planes) else { return Ok(Progress::Wait(None)) };
        let cluster = owners.cluster_name.unwrap_or_default();
        let status = control_plane::decide(&control_plane::Observed {
            now: (self.clock)(),
            plane: &object,
            owner: owners.cluster.as_deref(),
            has_workload: self.workloads.find(&name.namespace, &cluster).is_some(),
        });
        if status == object.status {
            return Ok(Progress::Wait(None));
        }
        let written = self.objects.set_status(&SimControlPlane { status, ..(*object).clone() }).await?;
        self.world().planes.learn(written, slim);
        Ok(Progress::Again)
    }

    async fn machine(&self, name: &Name) -> Result<Progress, ReconcileError> {
        let Some((object, owners)) = self.find(name, |world| &world.sim_machines) else {
            self.nodes.forget(name);
            return Ok(Progress::Wait(None));
        };
        let cluster = owners.cluster_name.unwrap_or_default();
        let (now, reported) = ((self.clock)(), self.nodes.known(name));
        let observed = machine::Observed {
            now,
            machine: &object,
            owner: owners.machine.as_deref(),
            cluster: owners.cluster.as_deref(),
            has_workload: self.workloads.find(&name.namespace, &cluster).is_some(),
            reported: reported.as_deref(),
        };
        let written = match machine::decide(&observed) {
            machine::Step::Wait { until } => return Ok(Progress::Wait(until)),
            machine::Step::Report(report) => {
                return Ok(match self.nodes.report(&object, &cluster, &report, now).await? {
                    Reported::Done if report.is_dead => Progress::Wait(None),
                    Reported::Done => Progress::Again,
                    // Somebody has changed the host since, and the event of that is on its way.
                    Reported::Outdated => Progress::Wait(None),
                    Reported::WaitingForEtcd(refusal) => {
                        tracing::info!(machine = %name, %refusal, "a member cannot join etcd yet");
                        Progress::Wait(Some(machine::after(now, ETCD_RETRY)))
                    }
                });
            }
            machine::Step::Claim { provider_id } => {
                let spec = json!({ "providerID": provider_id });
                self.objects.claim(&*object, MACHINE_FINALIZER, spec).await?
            }
            machine::Step::SetStatus(status) => {
                self.objects.set_status(&SimMachine { status: *status, ..(*object).clone() }).await?
            }
            machine::Step::Leave => {
                self.nodes.remove(name, &cluster, &gone_host(&object, owners.machine.as_deref())).await?;
                self.objects.release(&*object, MACHINE_FINALIZER).await?
            }
        };
        self.world().sim_machines.learn(written, slim);
        Ok(Progress::Again)
    }

    fn find<K: Kind + PartialEq>(&self, name: &Name, cache: impl Fn(&World) -> &Cache<K>) -> Option<(Arc<K>, Owners)> {
        let world = self.world();
        let object = cache(&world).get(name)?;
        let owners = world.owners(&*object);
        Some((object, owners))
    }
}

/// What a SimMachine that goes leaves behind. Its label tells whether it was part of a control plane when its Machine is gone.
fn gone_host(machine: &SimMachine, owner: Option<&MachineFacts>) -> GoneHost {
    let is_labelled = machine.labels().contains_key(labels::CONTROL_PLANE);
    let is_control_plane = is_labelled || owner.is_some_and(|owner| owner.is_control_plane);
    let host = machine.status.host.as_ref().filter(|_| is_control_plane);
    GoneHost { provider_id: machine::provider_id(machine), control_plane_host: host.map(|host| host.id.clone()) }
}

/// How a look goes on after a step.
enum Progress {
    Again,
    Wait(Option<Timestamp>),
}
