//! Who works on the objects: the controllers, the simulated provider and the example extensions.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use refit_controllers::chance::Chance;
use refit_controllers::clock::Clock;
use refit_controllers::controllers::{Controllers, Options};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::workload::by_kubeconfig;
use refit_hooks::Extensions;
use refit_hooks::client::{Client as HookClient, ClientIdentity, TlsTransport};
use refit_hooks::metrics::HookMetrics;
use refit_plan::machine::Settings;
use refit_provider_sim::{Provider, SimHosts, etcd_connector};
use refit_workload::etcd::EtcdConnector;

use crate::backend::Backend;
use crate::client::ClientError;
use crate::examples::{self, Example, ExampleError};
use crate::requests::{Kind, Requests};
use crate::task::Task;
use crate::workload_access::workload_access;

/// Why nobody works.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Example(#[from] ExampleError),
}

/// Everybody who works on the objects of a [`Backend`]. What they have begun is found by the next ones.
pub struct Workers {
    controllers: Task,
    provider: Task,
    examples: Vec<Task>,
    client: Client,
    hosts: SimHosts,
}

/// Counts what workers do.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Requests of the controllers to the management cluster.
    pub controllers: Requests,
    /// Requests of the simulated provider and of the extensions.
    pub provider: Requests,
    /// Calls of extensions.
    pub hooks: HookMetrics,
}

/// What was counted up to a moment.
pub(crate) struct Counted {
    pub(crate) controllers: BTreeMap<Kind, u64>,
    pub(crate) provider: BTreeMap<Kind, u64>,
    pub(crate) hooks: BTreeMap<String, u64>,
}

impl Counters {
    pub(crate) fn now(&self) -> Counted {
        Counted { controllers: self.controllers.counted(), provider: self.provider.counted(), hooks: self.calls() }
    }

    /// Calls by hook since then.
    pub(crate) fn hooks_since(&self, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let more = |(hook, count): (String, u64)| (hook.clone(), count - before.get(&hook).copied().unwrap_or(0));
        self.calls().into_iter().map(more).collect()
    }

    /// Read as everybody reads metrics: from their text.
    fn calls(&self) -> BTreeMap<String, u64> {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.hooks.register(&mut registry);
        let mut calls = BTreeMap::new();
        if encode(&mut text, &registry).is_ok() {
            for (hook, count) in text.lines().filter_map(calls_of) {
                *calls.entry(hook).or_default() += count;
            }
        }
        calls
    }
}

/// The hook and the number in one line of metrics.
fn calls_of(line: &str) -> Option<(String, u64)> {
    let labels = line.strip_prefix("capi_runtime_sdk_requests_total")?;
    let (_, hook) = labels.split_once("hook=\"")?;
    let (_, count) = labels.rsplit_once(' ')?;
    Some((hook.split('"').next()?.to_owned(), count.parse().ok()?))
}

impl Workers {
    /// Starts the controllers, the simulated provider and these extensions.
    pub async fn start(backend: &Backend, examples: &[Example]) -> Result<Self, WorkersError> {
        Self::start_counted(backend, examples, &Counters::default()).await
    }

    /// The same, and counts what they do.
    pub async fn start_counted(
        backend: &Backend,
        examples: &[Example],
        counters: &Counters,
    ) -> Result<Self, WorkersError> {
        let client = backend.client_counted(&counters.provider).await?;
        let provider = Provider::new(client.clone(), backend.workloads(), Arc::new(Timestamp::now));
        let hosts = provider.hosts();
        let provider = Task::spawn(|ended| provider.run(ended.wait()));
        let mut served = Vec::new();
        // Before anybody could call them where they were before a restart.
        for &example in examples {
            served.push(examples::start(example, &client, hosts.clone(), backend.folder()).await?);
        }
        let options = options(QueueMetrics::default(), counters.hooks.clone(), Some(etcd_connector()));
        let controllers = Controllers::start(backend.client_counted(&counters.controllers).await?, options);
        let controllers = Task::spawn(|ended| controllers.run(ended.wait()));
        Ok(Self { controllers, provider, examples: served, client, hosts })
    }

    /// Serves one more extension, and registers it.
    pub async fn add(&mut self, backend: &Backend, example: Example) -> Result<(), WorkersError> {
        let task = examples::start(example, &self.client, self.hosts.clone(), backend.folder()).await?;
        self.examples.push(task);
        Ok(())
    }

    /// Lets everybody finish what they have begun, and ends.
    pub async fn stop(self) {
        self.controllers.stop().await;
        for example in self.examples {
            example.stop().await;
        }
        self.provider.stop().await;
    }
}

/// What controllers need to reach extensions and workload clusters over the network, with their etcd reached in this way.
/// Without a way to etcd, control planes are another controller's.
pub(crate) fn options(queues: QueueMetrics, hooks: HookMetrics, etcd: Option<EtcdConnector>) -> Options {
    let (transport, chance) = (TlsTransport::new(ClientIdentity::none()).boxed(), Chance::from_system());
    Options {
        extensions: Extensions::new(HookClient::new(transport, hooks)),
        connector: by_kubeconfig(),
        workload_access: etcd.map(workload_access),
        settings: Settings::default(),
        clock: Clock::from_system(),
        instance: instance(&chance),
        chance,
        metrics: queues,
    }
}

/// Tells this process from others: the host, something random, and the process on it. Pods that share the network of a host
/// share its name, and are all process 1.
pub(crate) fn instance(chance: &Chance) -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "refit" } else { host };
    format!("{host}-{:016x}-{}", chance.number(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_with_one_host_name_and_one_number_are_not_the_same() {
        assert_ne!(instance(&Chance::from_system()), instance(&Chance::from_system()));
    }
}
