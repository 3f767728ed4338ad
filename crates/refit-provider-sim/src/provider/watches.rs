//! One watch per kind.

use std::fmt::Debug;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, select_all};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::world::Seen;
use crate::steady::Steady;

/// All watches, as one stream.
pub fn all(client: &Client) -> SelectAll<BoxStream<'static, Seen>> {
    select_all([
        watch(client, Seen::SimCluster),
        watch(client, Seen::SimControlPlane),
        watch(client, Seen::SimMachine),
        watch(client, Seen::SimBootstrapConfig),
        watch(client, Seen::Machine),
        watch(client, Seen::Cluster),
    ])
}

fn watch<K>(client: &Client, seen: fn(Event<K>) -> Seen) -> BoxStream<'static, Seen>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let events = watcher(Api::<K>::all(client.clone()), Config::default()).backoff(Steady);
    let said = move |event: Result<Event<K>, watcher::Error>| async move {
        event.inspect_err(|error| tracing::warn!(kind = %K::kind(&()), %error, "a watch failed")).ok().map(seen)
    };
    events.filter_map(said).boxed()
}
