//! All controllers of a process: started together, ready together, ended together.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use prometheus_client::registry::Registry;
use refit_hooks::Extensions;
use refit_hooks::chain;
use refit_hooks::extension_config::warm_up;
use refit_plan::machine::Settings;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::act::EventQueue;
use crate::cache::{Cache, ObjectKey, Watched};
use crate::chance::Chance;
use crate::clock::Clock;
use crate::cluster::Clusters;
use crate::context::Context;
use crate::control_plane::{ControlPlanes, WorkloadAccess};
use crate::controller::{self, Controller};
use crate::extension_config::{ExtensionConfigs, Waiting};
use crate::kubeadm_config::KubeadmConfigs;
use crate::machine::{self, MachineController};
use crate::machine_deployment::MachineDeployments;
use crate::machine_health_check::MachineHealthChecks;
use crate::machine_rollout::MachineRollouts;
use crate::machine_set::MachineSets;
use crate::queue::{Backoff, Queue, QueueMetrics};
use crate::shell::Shell;
use crate::workload::{Connector, WorkloadClusters};

/// How many objects of each kind but Machines are worked on at a time, as upstream.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(10).expect("ten must be above zero");
/// How long work that has begun may take when the process ends. What is left is found by the next process.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(30);
/// How long events that wait may take then.
const EVENTS_LIMIT: Duration = Duration::from_secs(5);
/// How often to look whether the system's clock was set.
const CLOCK_INTERVAL: Duration = Duration::from_secs(5);
/// How long to wait for the first lists before that is told.
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// How long to leave a server alone on which ExtensionConfigs cannot be listed.
const WARM_UP_BACKOFF: Backoff = Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(30) };

/// What the controllers need beside a client.
pub struct Options {
    /// The extensions of the management cluster. Those that ExtensionConfigs name are registered with them.
    pub extensions: Extensions,
    /// How workload clusters are reached.
    pub connector: Connector,
    /// What control planes ask of their workload clusters, and how. Nothing: KubeadmControlPlanes and KubeadmConfigs are another
    /// controller's.
    pub workload_access: Option<WorkloadAccess>,
    pub settings: Settings,
    pub clock: Clock,
    pub chance: Chance,
    /// Names this process in events.
    pub instance: String,
    pub metrics: QueueMetrics,
}

/// All controllers of a process.
pub struct Controllers {
    context: Context,
    queues: Vec<Queue<ObjectKey>>,
    machines: MachineController,
    running: Running,
    is_cold: Arc<AtomicBool>,
}

/// Tells whether the controllers do their work, or could. Clones tell the same.
#[derive(Clone)]
pub struct Readiness {
    cache: Cache,
    /// The controllers are to work, but cannot yet.
    is_cold: Arc<AtomicBool>,
}

/// Tells whether the loops of the controllers go round. Clones tell the same.
#[derive(Clone)]
pub struct Liveness {
    queues: Vec<Queue<ObjectKey>>,
    watched: Watched,
}

/// The loops of all controllers, each until its queue is closed.
struct Running {
    clusters: (Arc<Clusters>, Queue<ObjectKey>),
    machine_deployments: (Arc<MachineDeployments>, Queue<ObjectKey>),
    machine_sets: (Arc<MachineSets>, Queue<ObjectKey>),
    machine_health_checks: (Arc<MachineHealthChecks>, Queue<ObjectKey>),
    extension_configs: (Arc<ExtensionConfigs>, Queue<ObjectKey>),
    machine_rollouts: (Arc<MachineRollouts>, Queue<ObjectKey>),
    control_planes: Option<OfControlPlanes>,
}

/// The loops that make control planes, and the bootstrap data of their machines.
struct OfControlPlanes {
    control_planes: (Arc<ControlPlanes>, Queue<ObjectKey>),
    kubeadm_configs: (Arc<KubeadmConfigs>, Queue<ObjectKey>),
}

impl Controllers {
    /// Begins to watch. Nothing is written before [`run`](Self::run). Must be called inside a tokio runtime.
    pub fn start(client: Client, options: Options) -> Self {
        let Options { extensions, connector, workload_access, settings, clock, chance, instance, metrics } = options;
        let cache = Cache::start(&client, &chance);
        let (clusters, secrets) = (cache.clusters.clone(), cache.secrets.clone());
        let workloads = WorkloadClusters::new(client.clone(), clusters, secrets, connector, clock, chance.clone());
        let events = EventQueue::start(client.clone(), instance, clock, chance.clone());
        let shell = Shell { client, cache, workloads, extensions, clock, chance, events };
        let context = Context::new(shell.clone(), metrics.clone());
        let running = Running::new(&context, workload_access, settings.remote_conditions_grace_period);
        let machines = MachineController::new(shell, settings, &metrics);
        let queues = running.queues().into_iter().chain([machines.queue()]).collect();
        Self { queues, context, machines, running, is_cold: Arc::default() }
    }

    /// Whether the controllers do their work. As long as nobody lets them, it is enough that they could.
    pub fn readiness(&self) -> Readiness {
        Readiness { cache: self.context.cache.clone(), is_cold: Arc::clone(&self.is_cold) }
    }

    /// Whether the loops of the controllers go round.
    pub fn liveness(&self) -> Liveness {
        Liveness { queues: self.queues.clone(), watched: self.context.cache.watched() }
    }

    /// Shows what is counted of workload clusters, events and objects that cannot be decoded.
    pub fn register(&self, registry: &mut Registry) {
        self.context.workloads.metrics().register(registry);
        self.context.events.metrics().register(registry);
        registry.register_collector(Box::new(self.context.cache.watched()));
    }

    /// Works until `end`. What has begun then is finished, as far as that does not take too long.
    pub async fn run(self, end: impl Future<Output = ()>) {
        self.run_since(None, end).await;
    }

    /// The same, and decides nothing on what is older than `since`: the moment from which on nobody else acts.
    pub async fn run_since(self, since: Option<Instant>, end: impl Future<Output = ()>) {
        let Self { context, queues, machines, running, is_cold } = self;
        is_cold.store(true, Ordering::Relaxed);
        tokio::pin!(end);
        tokio::select! {
            () = warm(&context, since) => {}
            () = &mut end => return,
        }
        is_cold.store(false, Ordering::Relaxed);
        let mut loops = running.spawn(&context.cache);
        loops.spawn(async move { machines.run(machine::CONCURRENCY).await });
        tokio::select! {
            () = follow(context.clock, &queues) => {}
            () = &mut end => {}
        }
        queues.iter().for_each(Queue::close);
        let ended = timeout(SHUTDOWN_LIMIT, async { while loops.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            tracing::warn!("work was cut short after {}s", SHUTDOWN_LIMIT.as_secs());
        }
        if !context.events.drain(EVENTS_LIMIT).await {
            tracing::warn!("not all events were written within {}s", EVENTS_LIMIT.as_secs());
        }
    }
}

impl Readiness {
    /// Why the controllers are not ready, if they are not.
    pub fn check(&self) -> Result<(), String> {
        match (self.cache.is_ready(), self.is_cold.load(Ordering::Relaxed)) {
            (false, _) => Err("not all kinds are listed yet".to_owned()),
            (true, true) => Err("what there is and the extensions are not known yet".to_owned()),
            (true, false) => Ok(()),
        }
    }
}

impl Liveness {
    /// Why the process should be ended and begun anew, if it should.
    pub fn check(&self) -> Result<(), String> {
        self.queues.iter().try_for_each(Queue::check)?;
        self.watched.check()
    }
}

impl Running {
    fn new(context: &Context, access: Option<WorkloadAccess>, grace_period: SignedDuration) -> Self {
        let [clusters, deployments, sets, checks, configs, rollouts] =
            ["cluster", "machinedeployment", "machineset", "machinehealthcheck", "extensionconfig", "machinerollout"]
                .map(|name| context.queue(name));
        let [planes, kubeadm_configs] = ["kubeadmcontrolplane", "kubeadmconfig"].map(|name| context.queue(name));
        let waiting = Waiting {
            machine_deployments: deployments.clone(),
            machine_sets: sets.clone(),
            kubeadm_control_planes: planes.clone(),
        };
        let of = || context.clone();
        Self {
            clusters: (Arc::new(Clusters::new(of(), clusters.clone())), clusters),
            machine_deployments: (Arc::new(MachineDeployments::new(of(), &deployments)), deployments),
            machine_sets: (Arc::new(MachineSets::new(of(), &sets)), sets),
            machine_health_checks: (Arc::new(MachineHealthChecks::new(of(), &checks)), checks),
            extension_configs: (Arc::new(ExtensionConfigs::new(of(), &configs, waiting)), configs),
            machine_rollouts: (Arc::new(MachineRollouts::new(of(), &rollouts)), rollouts),
            control_planes: access.map(|access| OfControlPlanes {
                control_planes: (Arc::new(ControlPlanes::new(of(), access, grace_period, &planes)), planes),
                kubeadm_configs: (Arc::new(KubeadmConfigs::new(of(), &kubeadm_configs)), kubeadm_configs),
            }),
        }
    }

    fn queues(&self) -> Vec<Queue<ObjectKey>> {
        let (clusters, deployments, sets) = (&self.clusters.1, &self.machine_deployments.1, &self.machine_sets.1);
        let (checks, configs, rollouts) =
            (&self.machine_health_checks.1, &self.extension_configs.1, &self.machine_rollouts.1);
        let of_kubeadm = self.control_planes.iter().flat_map(|it| [&it.control_planes.1, &it.kubeadm_configs.1]);
        [clusters, deployments, sets, checks, configs, rollouts].into_iter().chain(of_kubeadm).cloned().collect()
    }

    fn spawn(self, cache: &Cache) -> JoinSet<()> {
        let mut loops = JoinSet::new();
        spawn(&mut loops, cache, self.clusters);
        spawn(&mut loops, cache, self.machine_deployments);
        spawn(&mut loops, cache, self.machine_sets);
        spawn(&mut loops, cache, self.machine_health_checks);
        spawn(&mut loops, cache, self.extension_configs);
        spawn(&mut loops, cache, self.machine_rollouts);
        if let Some(OfControlPlanes { control_planes, kubeadm_configs }) = self.control_planes {
            spawn(&mut loops, cache, control_planes);
            spawn(&mut loops, cache, kubeadm_configs);
        }
        loops
    }
}

fn spawn<C: Controller>(loops: &mut JoinSet<()>, cache: &Cache, (one, queue): (Arc<C>, Queue<ObjectKey>)) {
    loops.spawn(controller::run(one, cache.clone(), queue, CONCURRENCY));
}

/// Gives everything a turn that waits for its time whenever the system's clock was set, or has gone on while the system
/// slept: those times were computed by the clock as it was. Never ends.
async fn follow(clock: Clock, queues: &[Queue<ObjectKey>]) {
    let mut known = clock.drift();
    loop {
        sleep(CLOCK_INTERVAL).await;
        let drift = clock.drift();
        if let Some(step) = drift.step_since(known) {
            tracing::warn!(seconds = step.as_secs(), "the system's clock was set, or the system slept");
            queues.iter().for_each(Queue::hurry);
            known = drift;
        }
    }
}

/// Waits until everything is listed, as it was at this time or later, and the extensions are known.
async fn warm(context: &Context, since: Option<Instant>) {
    while !context.cache.wait_ready(LIST_LIMIT).await {
        tracing::warn!("not all kinds can be listed: are the CRDs installed?");
    }
    if let Some(since) = since {
        while !context.cache.wait_as_new_as(since, LIST_LIMIT).await {
            tracing::warn!("not all kinds can be listed anew");
        }
    }
    let mut failures = 0;
    while let Err(error) = warm_up(&context.client, &context.extensions, context.clock.now()).await {
        tracing::warn!(error = chain(&error), "the extensions cannot be listed");
        sleep(WARM_UP_BACKOFF.delay(failures, &context.chance)).await;
        failures = failures.saturating_add(1);
    }
}
