//! `refit bench rollout`: what it costs to update many simulated machines in place.

mod process;
mod report;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use refit_api::cluster::{Machine, MachineDeployment};
use refit_api::runtime::ExtensionConfig;
use refit_hooks::chain;
use refit_hooks::metrics::HookMetrics;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::backend::{Backend, BackendError, EmbeddedOptions};
use crate::client::ClientError;
use crate::examples::Example;
use crate::requests::Requests;
use crate::sample::{self, WORKERS};
use crate::signals::Signals;
use crate::workers::{Counters, Workers, WorkersError};

pub use report::Report;

/// How often it is looked whether the machines are done. One request each time, which is not counted.
const EVERY: Duration = Duration::from_millis(100);
/// How long making or updating one machine may take at most, on average, and what is added for few machines.
const LIMIT_PER_MACHINE: Duration = Duration::from_millis(500);
const LIMIT: Duration = Duration::from_secs(120);
/// The memory that machines get.
const MEMORY: &str = "16Gi";

/// What is measured.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    pub machines: i32,
    /// A number or a percentage.
    pub max_unavailable: Value,
    /// The API server; none: an embedded one in memory.
    pub kubeconfig: Option<PathBuf>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("there is no API server to measure with")]
    Backend(#[from] BackendError),
    #[error("nobody works")]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the API server refused a request")]
    Request(#[source] Box<kube::Error>),
    #[error("the machines were not {what} after {seconds}s")]
    TooLong { what: &'static str, seconds: u64 },
    #[error("interrupted")]
    Interrupted,
    #[error("the process cannot be set up")]
    Process(#[source] io::Error),
}

impl From<kube::Error> for BenchError {
    fn from(error: kube::Error) -> Self {
        Self::Request(Box::new(error))
    }
}

/// Makes the machines, updates them in place, and reports what the update took. `say` is told how far it is.
///
/// On an API server that stays, everything that was made is deleted afterwards, also after an error and after a signal; a
/// second signal ends that, and it is said what is left. The definitions of kinds stay.
pub async fn rollout(options: BenchOptions, say: impl Fn(&str)) -> Result<Report, BenchError> {
    let mut signals = Signals::new().map_err(BenchError::Process)?;
    let backend = match &options.kubeconfig {
        Some(kubeconfig) => Backend::foreign(kubeconfig, None).await?,
        None => Backend::embedded(&EmbeddedOptions::default()).await?,
    };
    let counters =
        Counters { controllers: Requests::default(), provider: Requests::default(), hooks: HookMetrics::default() };
    let workers = Workers::start_counted(&backend, &[Example::Memory], &counters).await?;
    let fleet = Fleet::new(&backend, &options).await?;
    say(&format!("making {} machines", options.machines));
    let made = fleet.sample.apply(&fleet.client).await;
    let measured = tokio::select! {
        measured = fleet.run(made, &counters, &say) => measured,
        () = signals.next() => Err(BenchError::Interrupted),
    };
    if options.kubeconfig.is_some() {
        say("deleting them");
        let deleted = tokio::select! {
            deleted = fleet.delete() => deleted,
            () = signals.next() => Err(BenchError::Interrupted),
        };
        if let Err(error) = deleted {
            say(&format!("namespace {} is left: {}", fleet.sample.namespace, chain(&error)));
        }
    }
    workers.stop().await;
    backend.stop().await;
    measured
}

/// The machines, in a namespace of their own.
struct Fleet {
    client: Client,
    sample: sample::Workers,
}

impl Fleet {
    async fn new(backend: &Backend, options: &BenchOptions) -> Result<Self, BenchError> {
        let client = backend.client().await?;
        let mut namespace = Namespace::default();
        namespace.metadata.generate_name = Some("refit-bench-".to_owned());
        let made = Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
        let host = sample::Host { update_seconds: 0, ..sample::Host::default() };
        let sample = sample::Workers {
            namespace: made.metadata.name.unwrap_or_default(),
            replicas: options.machines,
            max_unavailable: options.max_unavailable.clone(),
            host,
            ..sample::Workers::default()
        };
        Ok(Self { client, sample })
    }

    async fn run(
        &self,
        made: Result<(), kube::Error>,
        counters: &Counters,
        say: &impl Fn(&str),
    ) -> Result<Report, BenchError> {
        made?;
        self.wait("there", |status| status.available_replicas).await?;
        say("updating them");
        self.measure(counters).await
    }

    /// Deletes everything that was made, while somebody is there who takes finalizers off: the machines, the Cluster that
    /// they need until then, and the rest.
    async fn delete(&self) -> Result<(), BenchError> {
        let mut objects = self.sample.objects();
        objects.sort_by_key(|object| match object["kind"].as_str() {
            Some("MachineDeployment") => 0,
            Some("Cluster") => 1,
            _ => 2,
        });
        for object in &objects {
            self.delete_one(object).await?;
        }
        let options = DeleteParams::default();
        let configs: Api<ExtensionConfig> = Api::all(self.client.clone());
        gone(configs.delete(Example::Memory.name(), &options).await)?;
        gone(Api::<Namespace>::all(self.client.clone()).delete(&self.sample.namespace, &options).await)
    }

    /// Deletes an object, and waits until it is gone.
    async fn delete_one(&self, object: &Value) -> Result<(), BenchError> {
        let (api, name) = sample::address(&self.client, object);
        gone(api.delete(&name, &DeleteParams::default()).await)?;
        let (began, limit) = (Instant::now(), self.limit());
        while api.get_metadata_opt(&name).await?.is_some() {
            if began.elapsed() > limit {
                return Err(BenchError::TooLong { what: "gone", seconds: limit.as_secs() });
            }
            sleep(EVERY).await;
        }
        Ok(())
    }

    async fn measure(&self, counters: &Counters) -> Result<Report, BenchError> {
        let uids = self.uids().await?;
        let before = counters.now();
        let (began, cpu) = (Instant::now(), process::cpu_seconds());
        self.update().await?;
        self.wait("updated", |status| status.up_to_date_replicas).await?;
        let seconds = began.elapsed().as_secs_f64();
        let cpu_seconds = process::cpu_seconds().zip(cpu).map(|(now, then)| now - then);
        Ok(Report {
            machines: self.sample.replicas,
            in_place: self.uids().await?.intersection(&uids).count(),
            seconds,
            cpu_seconds,
            peak_memory_bytes: process::peak_memory_bytes(),
            controllers: counters.controllers.since(&before.controllers),
            provider: counters.provider.since(&before.provider),
            hooks: counters.hooks_since(&before.hooks),
        })
    }

    async fn update(&self) -> Result<(), BenchError> {
        let host = sample::Host { memory: MEMORY.to_owned(), ..self.sample.host.clone() };
        sample::apply(&self.client, &self.sample.machine_template(&host)).await?;
        let patch = json!({ "spec": { "template": { "spec": { "infrastructureRef": { "name": host.template() } } } } });
        self.deployments().patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until a counter has all machines, all of them available, of the generation that is wished for.
    async fn wait(
        &self,
        what: &'static str,
        counter: impl Fn(&refit_api::cluster::MachineDeploymentStatus) -> Option<i32>,
    ) -> Result<(), BenchError> {
        let (began, machines) = (Instant::now(), Some(self.sample.replicas));
        let limit = self.limit();
        loop {
            let MachineDeployment { metadata, status, .. } = self.deployments().get(WORKERS).await?;
            let is_current = status.observed_generation == metadata.generation;
            let counters = [counter(&status), status.replicas, status.available_replicas, status.ready_replicas];
            if is_current && counters.iter().all(|counter| *counter == machines) {
                return Ok(());
            }
            if began.elapsed() > limit {
                return Err(BenchError::TooLong { what, seconds: limit.as_secs() });
            }
            sleep(EVERY).await;
        }
    }

    async fn uids(&self) -> Result<std::collections::BTreeSet<String>, BenchError> {
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &self.sample.namespace);
        let all = machines.list_metadata(&ListParams::default()).await?;
        Ok(all.items.into_iter().filter_map(|machine| machine.metadata.uid).collect())
    }

    /// How long a step with all machines may take.
    fn limit(&self) -> Duration {
        LIMIT + LIMIT_PER_MACHINE * u32::try_from(self.sample.replicas).unwrap_or(0)
    }

    fn deployments(&self) -> Api<MachineDeployment> {
        Api::namespaced(self.client.clone(), &self.sample.namespace)
    }
}

/// What is not there need not be deleted.
fn gone<T>(answer: Result<T, kube::Error>) -> Result<(), BenchError> {
    match answer {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        answer => Ok(answer.map(drop)?),
    }
}
