//! Reaches simulated hosts: what update extensions change.
//!
//! What the provider has seen spares reading: a write names the version that it is for, so that one decided from an old
//! state is refused, and decided again from what the server has. What is not written is never decided from the cache.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, PostParams};
use refit_api::cluster::Machine;
use refit_apiserver::api::Clock;
use refit_examples::host::{Host, HostChange, HostError};

use crate::facts::{MachineFacts, cluster_of};
use crate::kinds::{SimMachine, SimMachineStatus};
use crate::machine;
use crate::name::Name;
use crate::nodes::{NodeError, Nodes};
use crate::provider::World;
use crate::update::{self, ChangeStep};
use crate::words::MANAGER;

/// How often one change is tried again because somebody else wrote the SimMachine.
const MAX_CONFLICTS: usize = 32;

/// Why a host was not changed.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("{kind} {name} cannot be read: {source}")]
    Read { kind: &'static str, name: Name, source: kube::Error },
    #[error("SimMachine {name} cannot be written: {source}")]
    Write { name: Name, source: kube::Error },
    #[error("SimMachine {name} was changed by others all the time")]
    Contended { name: Name },
    #[error("SimMachine {name} has no host yet")]
    NoHost { name: Name },
    #[error("the host of SimMachine {name} does not answer, as it was told to; take back spec.failures.dead")]
    Unreachable { name: Name },
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Node(#[from] NodeError),
}

/// The simulated hosts, for [`MemoryUpdater`](refit_examples::MemoryUpdater) and
/// [`VersionUpdater`](refit_examples::VersionUpdater). Cloning is cheap.
#[derive(Clone)]
pub struct SimHosts {
    client: Client,
    nodes: Nodes,
    clock: Clock,
    /// What the provider has seen so far; nothing if it does not run.
    world: Arc<Mutex<World>>,
}

impl SimHosts {
    /// The hosts whose SimMachines the client sees.
    pub(crate) fn new(client: Client, nodes: Nodes, clock: Clock, world: Arc<Mutex<World>>) -> Self {
        Self { client, nodes, clock, world }
    }

    async fn carry_out(&self, machine: &Name, change: &HostChange) -> Result<(), ChangeError> {
        let owner = self.owner(machine).await?;
        let name = machine.beside(&owner.infrastructure.name);
        let api: Api<SimMachine> = Api::namespaced(self.client.clone(), &name.namespace);
        let mut seen = self.written_from_cache(&api, &name, change).await?;
        for _ in 0..MAX_CONFLICTS {
            let found = match seen.take() {
                Some(written) => written,
                None => api.get(&name.name).await.map_err(read("SimMachine", &name))?,
            };
            if let Some(changed) = self.advance(&api, found, change).await? {
                return self.report(&changed, &owner).await;
            }
        }
        Err(ChangeError::Contended { name })
    }

    /// What counts of the Machine. Where its host is never changes, so that what was seen is as good as what is.
    async fn owner(&self, machine: &Name) -> Result<Arc<MachineFacts>, ChangeError> {
        if let Some(known) = self.world().machines.get(machine) {
            return Ok(known);
        }
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &machine.namespace);
        let found = machines.get(&machine.name).await.map_err(read("Machine", machine))?;
        Ok(Arc::new(MachineFacts::of(&found)))
    }

    /// The first write, for the version that the provider has seen. Nothing if there is none to make, or it was refused.
    async fn written_from_cache(
        &self,
        api: &Api<SimMachine>,
        name: &Name,
        change: &HostChange,
    ) -> Result<Option<SimMachine>, ChangeError> {
        let known = self.world().sim_machines.get(name);
        let Some(known) = known else { return Ok(None) };
        match update::decide(&known.spec, &known.status, change, (self.clock)()) {
            ChangeStep::Write(status) => write(api, &known, *status).await,
            ChangeStep::Done
            | ChangeStep::NoHost
            | ChangeStep::Unreachable
            | ChangeStep::WaitUntil(_)
            | ChangeStep::Fail(..) => Ok(None),
        }
    }

    /// Goes on until the host is changed; nothing when somebody else wrote the SimMachine in between.
    async fn advance(
        &self,
        api: &Api<SimMachine>,
        mut found: SimMachine,
        change: &HostChange,
    ) -> Result<Option<SimMachine>, ChangeError> {
        loop {
            let now = (self.clock)();
            match update::decide(&found.spec, &found.status, change, now) {
                ChangeStep::Done => return Ok(Some(found)),
                ChangeStep::NoHost => return Err(ChangeError::NoHost { name: Name::of(&found) }),
                ChangeStep::Unreachable => return Err(ChangeError::Unreachable { name: Name::of(&found) }),
                ChangeStep::WaitUntil(time) => sleep(now, time).await,
                ChangeStep::Write(status) => match write(api, &found, *status).await? {
                    Some(written) => found = written,
                    None => return Ok(None),
                },
                ChangeStep::Fail(status, why) => {
                    let written = write(api, &found, *status).await?;
                    return if written.is_some() { Err(ChangeError::Refused(why)) } else { Ok(None) };
                }
            }
        }
    }

    /// The Node says it before the update is over, as whoever waits for the update looks at the Node next.
    async fn report(&self, changed: &SimMachine, owner: &MachineFacts) -> Result<(), ChangeError> {
        let now = (self.clock)();
        let Some(report) = machine::report(changed, owner, now) else { return Ok(()) };
        let cluster = cluster_of(changed).unwrap_or(&owner.cluster);
        Ok(self.nodes.refresh(changed, cluster, &report, now).await?)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for SimHosts {
    async fn change(&self, namespace: &str, name: &str, change: HostChange) -> Result<(), HostError> {
        let changed = self.carry_out(&Name::new(namespace, name), &change).await;
        changed.map_err(|error| HostError(error.to_string()))
    }
}

/// Waits on tokio's clock, at least as long as it takes for time to go on.
async fn sleep(now: jiff::Timestamp, until: jiff::Timestamp) {
    let time = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    tokio::time::sleep(time.max(Duration::from_millis(1))).await;
}

/// Writes the status of what was read; nothing when it is no longer that. The provider hears of it by its watch, and
/// looks at the machine then.
async fn write(
    api: &Api<SimMachine>,
    found: &SimMachine,
    status: SimMachineStatus,
) -> Result<Option<SimMachine>, ChangeError> {
    let name = Name::of(found);
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api.replace_status(&name.name, &params, &SimMachine { status, ..found.clone() }).await {
        Ok(written) => Ok(Some(written)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(source) => Err(ChangeError::Write { name, source }),
    }
}

fn read(kind: &'static str, name: &Name) -> impl FnOnce(kube::Error) -> ChangeError {
    let name = name.clone();
    move |source| ChangeError::Read { kind, name, source }
}
