//! The connection to one workload cluster, kept up by one task.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::Client;
use kube::api::Api;
use refit_hooks::chain;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::connect::{self, ConnectError};
use super::{Connected, NODE_BY_PROVIDER_ID, Shared, Workload};
use crate::cache::{Feed, Index, Informer, ObjectKey};
use crate::clock::{Clock, Drift, shifted};
use crate::queue::Backoff;

/// How often a cluster that answers is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// How long an answer may take.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// After so many failures in a row a connection is given up.
const PROBES: u32 = 5;
/// How long connecting may take, the first list of Nodes included.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// How long a cluster is left alone that cannot be connected to.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(30) };
/// What is asked for: everybody has it, and only who may talk to the cluster is told.
const PROBED: &str = "kube-system";

/// The connection to one cluster. The task ends with it.
pub(super) struct Link {
    line: Arc<Line>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Line {
    state: Mutex<State>,
    /// There is something new to connect with.
    retry: Notify,
}

#[derive(Default)]
struct State {
    workload: Workload,
    /// The version of the Secret that the connection was made with.
    secret: Option<String>,
    /// Of the clock, when the cluster last answered.
    drift: Option<Drift>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    pub fn start(cluster: ObjectKey, shared: Weak<Shared>) -> Self {
        let line = Arc::<Line>::default();
        let task = tokio::spawn(run(cluster, shared, Arc::clone(&line)));
        Self { line, task }
    }

    pub fn workload(&self, clock: &Clock) -> Workload {
        let mut state = self.line.state();
        state.follow(clock.drift());
        state.workload.clone()
    }

    /// Tries at once with another kubeconfig. The old one may be the one that does not work any more.
    pub fn secret_changed(&self, version: Option<&str>) {
        let mut state = self.line.state();
        if state.secret.as_deref() != version {
            state.workload.connected = None;
            self.line.retry.notify_one();
        }
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what came of a probe. Whether the connection is lost by it.
    fn note(&self, is_success: bool, is_final: bool, clock: &Clock) -> bool {
        let mut state = self.state();
        state.follow(clock.drift());
        let connection = &mut state.workload.connection;
        if is_success {
            connection.last_probe_success = Some(clock.now());
            connection.consecutive_failures = 0;
            return false;
        }
        connection.consecutive_failures = connection.consecutive_failures.saturating_add(1);
        let is_lost = is_final || connection.consecutive_failures >= PROBES;
        is_lost && state.workload.connected.take().is_some()
    }
}

impl State {
    /// Keeps the last answer as long ago as it was when the system's clock is set.
    fn follow(&mut self, drift: Drift) {
        let step = self.drift.replace(drift).and_then(|before| drift.step_since(before));
        if let (Some(step), Some(last)) = (step, &mut self.workload.connection.last_probe_success) {
            *last = shifted(*last, step);
        }
    }
}

async fn run(cluster: ObjectKey, shared: Weak<Shared>, line: Arc<Line>) {
    let mut failures = 0;
    loop {
        let pause = {
            let Some(shared) = shared.upgrade() else { return };
            if shared.clusters.get(&cluster).is_none() {
                return shared.forget(&cluster);
            }
            let connected = line.state().workload.connected.clone();
            match connected {
                Some(connected) => watch_over(&shared, &cluster, &line, &connected.client).await,
                None => match connect(&shared, &cluster, &line).await {
                    true => PROBE_INTERVAL,
                    false => BACKOFF.delay(failures, &shared.chance),
                },
            }
        };
        failures = if line.state().workload.connected.is_some() { 0 } else { failures.saturating_add(1) };
        tokio::select! {
            biased;
            () = line.retry.notified() => failures = 0,
            () = sleep(pause) => {}
        }
    }
}

/// Probes the cluster. Gives the time until the next look.
async fn watch_over(shared: &Shared, cluster: &ObjectKey, line: &Line, client: &Client) -> Duration {
    let answer = probe(client).await;
    shared.count(cluster, |metrics| metrics.probed(cluster, answer.is_ok()));
    let is_final = matches!(&answer, Err(ConnectError::Probe(kube::Error::Api(status))) if status.code == 401);
    if !line.note(answer.is_ok(), is_final, &shared.clock) {
        return PROBE_INTERVAL;
    }
    shared.count(cluster, |metrics| metrics.connected(cluster, false));
    tracing::warn!(%cluster, "connection to the workload cluster is lost");
    shared.tell_connection(cluster);
    Duration::ZERO
}

/// Connects to the cluster. Whether that worked.
async fn connect(shared: &Arc<Shared>, cluster: &ObjectKey, line: &Line) -> bool {
    let connected = timeout(CONNECT_LIMIT, try_connect(shared, cluster)).await.unwrap_or(Err(ConnectError::Late));
    match connected {
        Ok((connected, secret)) => {
            line.note(true, false, &shared.clock);
            shared.count(cluster, |metrics| metrics.connected(cluster, true));
            {
                let mut state = line.state();
                state.workload.connected = Some(connected);
                state.secret = secret;
            }
            tracing::info!(%cluster, "connected to the workload cluster");
            shared.tell_connection(cluster);
            true
        }
        Err(error) => {
            line.note(false, false, &shared.clock);
            shared.count(cluster, |metrics| metrics.connected(cluster, false));
            tracing::info!(%cluster, error = chain(&error), "no connection to the workload cluster");
            false
        }
    }
}

async fn try_connect(shared: &Arc<Shared>, cluster: &ObjectKey) -> Result<(Connected, Option<String>), ConnectError> {
    let (kubeconfig, version) = connect::read(&shared.management, cluster).await?;
    let client = (shared.connector)(cluster.clone(), kubeconfig).await?;
    probe(&client).await?;
    let by_provider_id = Index { name: NODE_BY_PROVIDER_ID, values: provider_id };
    let nodes = Informer::start(Feed::of(Api::all(client.clone())), vec![by_provider_id], shared.chance.clone());
    if !nodes.wait_ready(CONNECT_LIMIT).await {
        return Err(ConnectError::Late);
    }
    let (listening, key) = (Arc::downgrade(shared), cluster.clone());
    let tell = move |change: &_| listening.upgrade().iter().for_each(|shared| shared.tell_node(&key, change));
    nodes.subscribe("workload-clusters", Box::new(tell));
    Ok((Connected { client, nodes }, version))
}

/// Asks for something. Any answer to somebody who may ask shows that the cluster lives.
async fn probe(client: &Client) -> Result<(), ConnectError> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let answer = timeout(PROBE_LIMIT, namespaces.get_metadata_opt(PROBED)).await.map_err(|_| ConnectError::Late)?;
    match answer {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        answer => answer.map(drop).map_err(ConnectError::Probe),
    }
}

fn provider_id(node: &Node) -> Vec<String> {
    let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    provider_id.into_iter().filter(|provider_id| !provider_id.is_empty()).collect()
}
