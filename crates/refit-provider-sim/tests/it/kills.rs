//! The provider is killed again and again while machines come, change and go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Client, ResourceExt};
use refit_examples::Host;
use refit_examples::host::HostChange;
use refit_provider_sim::kinds::SimMachine;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::backend::Backend;
use crate::story::{Story, eventually};

const ROUNDS: u64 = 12;

/// All disks that each SimMachine ever had, by its uid. Fed by a watch, and by nothing of the provider's.
#[derive(Clone, Default)]
struct Disks(Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>);

impl Disks {
    fn record(&self, client: &Client) -> JoinHandle<()> {
        let (disks, api) = (self.clone(), Api::<SimMachine>::all(client.clone()));
        tokio::spawn(async move {
            let mut events = watcher(api, Config::default()).boxed();
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(sim) | Event::InitApply(sim)) = event {
                    disks.note(&sim);
                }
            }
        })
    }

    fn note(&self, sim: &SimMachine) {
        let mut all = self.0.lock().expect("nobody panics while it is held");
        let disks = all.entry(sim.uid().unwrap_or_default()).or_default();
        disks.extend(sim.status.host.iter().map(|host| host.disk_id.clone()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_killed_loses_and_doubles_nothing() {
    let backend = Backend::embedded().await;
    let disks = Disks::default();
    let recorder = disks.record(&backend.client);
    let provider = backend.start_provider();
    let story = Story::with_infrastructure(&backend.client, "kills").await;
    provider.kill().await;
    let (mut alive, mut deleted) = (BTreeSet::new(), Vec::new());
    for round in 0..ROUNDS {
        let provider = backend.start_provider();
        for machine in 0..3 {
            let name = format!("m-{round}-{machine}");
            story.add_bootstrapped_machine(&name, "v1.34.0", json!({ "memory": "8Gi" })).await;
            alive.insert(name);
        }
        // A different moment in each round, from the middle of the lists to the middle of the last machine.
        tokio::time::sleep(Duration::from_millis(round * 5)).await;
        if round % 3 == 2 {
            let name = alive.pop_first().expect("there must be machines");
            story.delete::<SimMachine>(&name).await;
            deleted.push(name);
        }
        if let Some(name) = alive.iter().nth(1) {
            let change = HostChange::Memory(format!("{}Gi", 16 + round));
            let _ = provider.hosts.change(&story.namespace, name, change).await;
        }
        provider.kill().await;
    }
    let provider = backend.start_provider();
    for name in &alive {
        story.wait_provisioned(name).await;
    }
    for name in &deleted {
        story.wait_gone::<SimMachine>(name).await;
    }
    let expected: Vec<String> = alive.iter().cloned().collect();
    eventually("each machine has its Node, and nobody else has", async || match story.node_names().await {
        names if names == expected => Ok(()),
        seen => Err(seen),
    })
    .await;
    check(&story, &disks, alive.len()).await;
    provider.stop().await;
    recorder.abort();
}

async fn check(story: &Story, disks: &Disks, count: usize) {
    let sims = story.api::<SimMachine>().list(&ListParams::default()).await.expect("they must be listed");
    assert_eq!(sims.iter().count(), count);
    let nodes = story.nodes().await;
    for sim in &sims {
        disks.note(sim);
        let host = sim.status.host.as_ref().expect("there must be a host");
        let memory = |node: &Node| Some(node.status.as_ref()?.capacity.as_ref()?.get("memory")?.0.clone());
        let wish = format!("Node {} says {}", sim.name_any(), host.memory);
        eventually(&wish, async || match nodes.get(&sim.name_any()).await {
            Ok(node) if memory(&node).as_ref() == Some(&host.memory) => Ok(()),
            seen => Err(seen),
        })
        .await;
    }
    let all = disks.0.lock().expect("nobody panics while it is held");
    assert!(all.values().all(|disks| disks.len() <= 1), "a machine had two hosts: {all:?}");
}
