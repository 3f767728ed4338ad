//! All informers of the process.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;
use kube::core::{ApiResource, PartialObjectMeta};
use kube::{Client, Resource};
use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::resource::CustomKind;
use refit_api::rollout::MachineRollout;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::labels;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::ObjectKey;
use super::feed::Feed;
use super::index::{BY_OWNER, BY_TARGET, Index, namespaced};
use super::informer::Informer;
use super::provided::Provided;
use super::providers::Providers;
use super::sight::{Sight, Written};
use super::watched::Watched;
use crate::chance::Chance;

/// Group and kind, and whether it is watched as a kind of ours or of a provider. Some are both.
type KindName = (String, String, Watcher);

/// As what a kind is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Watcher {
    Own,
    Provider,
}

/// All informers of the process. Clones are the same.
#[derive(Clone)]
pub struct Cache {
    pub clusters: Informer<Cluster>,
    pub machine_deployments: Informer<MachineDeployment>,
    pub machine_sets: Informer<MachineSet>,
    pub machines: Informer<Machine>,
    pub machine_health_checks: Informer<MachineHealthCheck>,
    pub extension_configs: Informer<ExtensionConfig>,
    /// Nobody waits for them: a server may not have the kind.
    pub kubeadm_configs: Informer<KubeadmConfig>,
    /// The same.
    pub kubeadm_control_planes: Informer<KubeadmControlPlane>,
    /// The same.
    pub machine_rollouts: Informer<MachineRollout>,
    pub namespaces: Informer<PartialObjectMeta<Namespace>>,
    /// Only of which versions they say what; their schemas are large.
    pub definitions: Informer<PartialObjectMeta<CustomResourceDefinition>>,
    /// Those of clusters, and only that they changed: what is in a Secret is read when it is needed, and not kept.
    pub secrets: Informer<PartialObjectMeta<Secret>>,
    providers: Arc<Providers>,
    sights: Arc<Mutex<BTreeMap<KindName, Arc<dyn Sight>>>>,
    watched: Watched,
}

impl Cache {
    /// Begins to watch all kinds that are ours. Must be called inside a tokio runtime.
    pub fn start(client: &Client, chance: &Chance) -> Self {
        let starting = Starting { client, chance, sights: Arc::default(), watched: Watched::default() };
        let definitions = starting.metadata(None);
        Self {
            clusters: starting.own(vec![Index::REFERENCE]),
            machine_deployments: starting.own(vec![Index::CLUSTER]),
            machine_sets: starting.own(vec![Index::OWNER, Index::CLUSTER, Index::DEPLOYMENT]),
            machines: starting.own(vec![
                Index::OWNER,
                Index::CLUSTER,
                Index::DEPLOYMENT,
                Index::PROVIDER_ID,
                Index::ORPHANED,
                Index::CONTROL_PLANE,
            ]),
            machine_health_checks: starting.own(vec![Index::CLUSTER]),
            extension_configs: starting.own(vec![]),
            kubeadm_configs: starting.own(vec![]),
            kubeadm_control_planes: starting.own(vec![]),
            machine_rollouts: starting.own(vec![Index::OWNER, Index::TARGET]),
            namespaces: starting.metadata(None),
            providers: Providers::new(client, chance, &definitions),
            definitions,
            secrets: starting.metadata(Some(labels::CLUSTER_NAME)),
            sights: starting.sights,
            watched: starting.watched,
        }
    }

    /// The informer of a provider's kind: begun when somebody first asks, and anew when the kind's version changes. While
    /// the kind is not defined nothing is asked of the server.
    pub fn provider(&self, resource: &ApiResource) -> Informer<Provided> {
        let (informer, is_new) = self.providers.informer(resource, &self.definitions);
        if is_new {
            self.watched.add(&resource.plural, &informer);
            let name = (resource.group.clone(), resource.kind.clone(), Watcher::Provider);
            remember(&self.sights, name, informer.clone());
        }
        informer
    }

    /// Waits until all that are ours have their first list, at most for `limit`. Whether they have.
    pub async fn wait_ready(&self, limit: Duration) -> bool {
        let all = tokio::join!(
            self.clusters.wait_ready(limit),
            self.machine_deployments.wait_ready(limit),
            self.machine_sets.wait_ready(limit),
            self.machines.wait_ready(limit),
            self.machine_health_checks.wait_ready(limit),
            self.extension_configs.wait_ready(limit),
            self.namespaces.wait_ready(limit),
            self.definitions.wait_ready(limit),
            self.secrets.wait_ready(limit),
        );
        all == (true, true, true, true, true, true, true, true, true)
    }

    /// Whether all that are ours have their first list.
    pub fn is_ready(&self) -> bool {
        self.clusters.is_ready()
            && self.machine_deployments.is_ready()
            && self.machine_sets.is_ready()
            && self.machines.is_ready()
            && self.machine_health_checks.is_ready()
            && self.extension_configs.is_ready()
            && self.namespaces.is_ready()
            && self.definitions.is_ready()
            && self.secrets.is_ready()
    }

    /// Waits until everything that is watched has been listed by a request that was made after this time, at most for
    /// `limit`. Whether it has. What was listed before that is listed anew.
    pub async fn wait_as_new_as(&self, time: Instant, limit: Duration) -> bool {
        self.watched.wait_as_new_as(time, limit).await
    }

    /// The MachineRollouts that the MachineDeployment owns, and those that name it and that nobody owns.
    pub fn rollouts_of(&self, deployment: &MachineDeployment) -> Vec<Arc<MachineRollout>> {
        let key = ObjectKey::of(deployment);
        let mut rollouts = self.machine_rollouts.by(BY_OWNER, deployment.metadata.uid.as_deref().unwrap_or_default());
        rollouts.extend(self.machine_rollouts.by(BY_TARGET, &namespaced(&key.namespace, &key.name)));
        rollouts
    }

    /// All informers, for who looks after the process.
    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// Waits until what was written has been seen, at most for `limit`. Gives what has not. What nobody watches need not
    /// be waited for.
    pub async fn has_seen(&self, written: Vec<Written>, limit: Duration) -> Vec<Written> {
        let deadline = Instant::now() + limit;
        let seen = join_all(written.into_iter().map(async |written| {
            for sight in self.sights_of(&written) {
                let left = deadline.saturating_duration_since(Instant::now());
                if !sight.has_seen(&written, left).await {
                    return Some(written);
                }
            }
            None
        }));
        seen.await.into_iter().flatten().collect()
    }

    fn sights_of(&self, written: &Written) -> Vec<Arc<dyn Sight>> {
        let target = written.target();
        let group = target.api_version.split_once('/').map_or("", |(group, _)| group);
        let sights = self.sights.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |watcher| (group.to_owned(), target.kind.clone(), watcher);
        [Watcher::Own, Watcher::Provider].into_iter().filter_map(|it| sights.get(&name(it)).cloned()).collect()
    }
}

/// Starts informers, and remembers whom to ask what they have seen.
struct Starting<'a> {
    client: &'a Client,
    chance: &'a Chance,
    sights: Arc<Mutex<BTreeMap<KindName, Arc<dyn Sight>>>>,
    watched: Watched,
}

impl Starting<'_> {
    fn own<K: CustomKind + Debug + Send + Sync>(&self, indexes: Vec<Index<K>>) -> Informer<K> {
        let informer = Informer::start(Feed::of(Api::all(self.client.clone())), indexes, self.chance.clone());
        let definition = K::DEFINITION;
        self.watched.add(definition.plural, &informer);
        remember(
            &self.sights,
            (definition.group.to_owned(), definition.kind.to_owned(), Watcher::Own),
            informer.clone(),
        );
        informer
    }

    /// Only the metadata of a kind; of those that have the label, if there is one.
    fn metadata<K>(&self, label: Option<&'static str>) -> Informer<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let api = Api::all(self.client.clone());
        let feed = match label {
            Some(label) => Feed::labelled(api, label),
            None => Feed::of(api),
        };
        let informer = Informer::start(feed, vec![Index::CLUSTER], self.chance.clone());
        self.watched.add(&K::plural(&()), &informer);
        informer
    }
}

fn remember(sights: &Mutex<BTreeMap<KindName, Arc<dyn Sight>>>, name: KindName, sight: impl Sight + 'static) {
    sights.lock().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(sight));
}
