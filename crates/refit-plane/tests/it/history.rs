//! Every state of the objects of a namespace, by watches of its own, in the order in which the server wrote them.
//!
//! The resource versions of a server are one count over all kinds, so that what several watches tell has an order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource, ResourceExt};
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::rollout::MachineRollout;
use refit_api::runtime::ExtensionConfig;
use refit_provider_sim::kinds::{SimBootstrapConfig, SimMachine};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// One state of one object.
#[derive(Debug, Clone)]
pub struct Entry {
    pub version: u64,
    /// Since the watches began.
    pub at: Duration,
    /// The object is there no more. What follows is its last state.
    pub is_gone: bool,
    pub object: Object,
}

#[derive(Debug, Clone)]
pub enum Object {
    Deployment(Box<MachineDeployment>),
    Set(Box<MachineSet>),
    Machine(Box<Machine>),
    Host(Box<SimMachine>),
    Bootstrap(Box<SimBootstrapConfig>),
    Rollout(Box<MachineRollout>),
    /// One that is asked about the machines of the namespace.
    Extension(Box<ExtensionConfig>),
}

/// Somebody who watches a namespace, and forgets nothing.
pub struct History {
    seen: Arc<Mutex<Vec<Entry>>>,
    /// The Nodes of the workload cluster: another server, with versions of its own.
    nodes: Arc<Mutex<Vec<(String, String)>>>,
    /// Something may have been missed.
    gaps: Arc<Mutex<Vec<String>>>,
    /// How many states there are.
    count: watch::Sender<usize>,
    began: Instant,
    watching: Vec<JoinHandle<()>>,
}

impl History {
    pub fn begin(client: &Client, namespace: &str) -> Self {
        let (seen, nodes, gaps) = (Arc::default(), Arc::default(), Arc::default());
        let count = watch::Sender::new(0);
        let mut history = Self { seen, nodes, gaps, count, began: Instant::now(), watching: Vec::new() };
        history.watch_own(client, namespace, Object::Deployment);
        history.watch_own(client, namespace, Object::Set);
        history.watch_own(client, namespace, Object::Machine);
        history.watch_own(client, namespace, Object::Host);
        history.watch_own(client, namespace, Object::Bootstrap);
        history.watch_own(client, namespace, Object::Rollout);
        let own = namespace.to_owned();
        history.watch(Api::all(client.clone()), move |it| selects(it, &own), Object::Extension);
        history
    }

    /// Watches the Nodes, too, once their cluster is there.
    pub fn watch_nodes(&mut self, workload: Client) {
        let nodes = Arc::clone(&self.nodes);
        let note = move |node: Node, _| lock(&nodes).push((node.name_any(), node.uid().unwrap_or_default()));
        self.watching.push(tokio::spawn(follow(Api::all(workload), note, Arc::clone(&self.gaps))));
    }

    /// Since the watches began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits for a state that may be over soon.
    pub async fn until_seen(&self, is_it: impl Fn(&Object) -> bool) {
        let (mut count, mut looked_at) = (self.count.subscribe(), 0);
        loop {
            let is_seen = lock(&self.seen)[looked_at..].iter().any(|entry| is_it(&entry.object));
            if is_seen {
                return;
            }
            looked_at = *count.borrow_and_update();
            let _ = count.wait_for(|count| *count > looked_at).await;
        }
    }

    /// Waits until something is written.
    pub async fn until_news(&self) {
        let _ = self.count.subscribe().changed().await;
    }

    /// All states so far, in the order in which they were written.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = lock(&self.seen).clone();
        entries.sort_by_key(|entry| entry.version);
        entries
    }

    /// The uids that the Nodes of each name have had.
    pub fn nodes(&self) -> BTreeMap<String, Vec<String>> {
        let mut nodes = BTreeMap::<String, Vec<String>>::new();
        for (name, uid) in lock(&self.nodes).iter() {
            let uids = nodes.entry(name.clone()).or_default();
            if !uids.contains(uid) {
                uids.push(uid.clone());
            }
        }
        nodes
    }

    /// Where states may be missing.
    pub fn gaps(&self) -> Vec<String> {
        lock(&self.gaps).clone()
    }

    /// The last version of each object of the namespace that is there.
    pub fn versions(&self) -> BTreeMap<String, u64> {
        let mut versions = BTreeMap::new();
        for entry in self.entries().into_iter().filter(|it| !matches!(it.object, Object::Extension(_))) {
            match entry.is_gone {
                true => versions.remove(&entry.object.key()),
                false => versions.insert(entry.object.key(), entry.version),
            };
        }
        versions
    }

    fn watch_own<K>(&mut self, client: &Client, namespace: &str, object: fn(Box<K>) -> Object)
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
    {
        self.watch(Api::namespaced(client.clone(), namespace), |_| true, object);
    }

    fn watch<K>(&mut self, api: Api<K>, which: impl Fn(&K) -> bool + Send + 'static, object: fn(Box<K>) -> Object)
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
    {
        let (seen, began, count) = (Arc::clone(&self.seen), self.began, self.count.clone());
        let note = move |it: K, is_gone| {
            if !which(&it) {
                return;
            }
            let version = it.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default();
            lock(&seen).push(Entry { version, at: began.elapsed(), is_gone, object: object(Box::new(it)) });
            count.send_modify(|count| *count += 1);
        };
        self.watching.push(tokio::spawn(follow(api, note, Arc::clone(&self.gaps))));
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.watching.iter().for_each(JoinHandle::abort);
    }
}

impl Object {
    /// Its kind and name.
    pub fn key(&self) -> String {
        match self {
            Self::Deployment(it) => format!("MachineDeployment/{}", it.name_any()),
            Self::Set(it) => format!("MachineSet/{}", it.name_any()),
            Self::Machine(it) => format!("Machine/{}", it.name_any()),
            Self::Host(it) => format!("SimMachine/{}", it.name_any()),
            Self::Bootstrap(it) => format!("SimBootstrapConfig/{}", it.name_any()),
            Self::Rollout(it) => format!("MachineRollout/{}", it.name_any()),
            Self::Extension(it) => format!("ExtensionConfig/{}", it.name_any()),
        }
    }
}

/// Whether an extension is asked about the machines of a namespace: those of the stories select all, or one by its name.
fn selects(config: &ExtensionConfig, namespace: &str) -> bool {
    let selector = config.spec.namespace_selector.clone().unwrap_or_default();
    selector.match_labels.iter().flatten().all(|(_, value)| value == namespace)
}

/// Tells of every change. A second list means that some may have been missed.
async fn follow<K>(api: Api<K>, note: impl Fn(K, bool), gaps: Arc<Mutex<Vec<String>>>)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
{
    let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()).default_backoff());
    let mut lists = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => note(object, false),
            Ok(Event::Delete(object)) => note(object, true),
            Ok(Event::Init) => lists += 1,
            Ok(Event::InitDone) if lists > 1 => lock(&gaps).push(format!("{} was listed again", K::kind(&()))),
            Ok(Event::InitDone) | Err(_) => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
