//! Carrying out what follows from deletions: garbage collection, emptied namespaces and definitions.
//!
//! Follows the changes of every resource of a logical cluster. What is to be looked at comes from changes alone, so
//! that the cost follows them.

mod attention;
mod collect;
mod empty;
mod follow;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, FuturesUnordered};
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::decide::off_the_threads_of_connections;
use super::write::{MAX_ATTEMPTS, Refused};
use super::{Api, Request};
use crate::budget::PIECE_BYTES;
use crate::request::{Path, Query, User};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Key, Record, Write, WriteError};
use crate::write::delete::DeleteOptions;
use crate::write::is_let_go;
use follow::{Ended, Follower};

pub(super) use attention::Attention;

/// The namespaces that a cluster has from the beginning.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// How many deletions are on their way to the disk at once: they share its syncs.
const PARALLEL: usize = 64;
/// How long after a failure the same is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// An object whose owners changed, or that waits for those it owns.
    Object(Key),
    /// A namespace that is being deleted.
    Namespace(Arc<str>),
    /// A definition that is being deleted.
    Definition(Arc<str>),
}

/// What looking came to.
#[derive(Debug, Default)]
struct Looked {
    /// What is to be looked at next.
    next: Vec<Task>,
    /// The object names an owner of a kind that nothing serves, so that nothing can be said.
    unresolved: Option<Key>,
    /// It did not work, and may work later.
    failed: Option<Task>,
}

impl Api {
    /// Makes a logical cluster, with the namespaces that every cluster has. One that is there stays as it is.
    pub async fn create_cluster(&self, cluster: &Arc<str>) -> Result<(), Status> {
        for name in NAMESPACES {
            let request = namespace_request(cluster, name);
            let Path::Resource(path) = &request.path else { continue };
            match self.resource(&request, path).await {
                Err(status) if status.reason != Some("AlreadyExists") => return Err(status),
                Err(_) | Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Deletes a logical cluster with all that it holds. Its watches end.
    pub async fn drop_cluster(&self, cluster: &str) -> Result<(), WriteError> {
        self.shared.store.drop_cluster(cluster).await?;
        self.forget_catalog(cluster);
        Ok(())
    }

    /// Looks after all logical clusters, those to come included. Goes on for as long as it is polled; one at a time.
    pub async fn run_lifecycle(&self) {
        let attention = &self.shared.attention;
        attention.release_all();
        for cluster in self.shared.store.clusters() {
            self.settle(&cluster).await;
        }
        let mut running = FuturesUnordered::new();
        loop {
            running.extend(attention.take().into_iter().map(|cluster| self.look_after(cluster)));
            tokio::select! {
                Some(ended) = running.next() => {
                    attention.release(&ended);
                    // It may have been made anew meanwhile, which nobody took in.
                    if self.shared.store.clusters().contains(&ended) {
                        attention.touch(&ended);
                    }
                }
                () = attention.changed.notified() => {}
            }
        }
    }

    /// Looks after one logical cluster until nothing is left to do. For callers that do not let
    /// [`Api::run_lifecycle`] run.
    pub async fn settle(&self, cluster: &Arc<str>) {
        let Ok(mut follower) = Follower::begin(self, cluster) else { return };
        if let Ok(true) = follower.settle().await {
            self.shared.attention.touch(cluster);
        }
    }

    /// Looks after a logical cluster until it is dropped. Returns its name.
    async fn look_after(&self, cluster: Arc<str>) -> Arc<str> {
        while self.look_on(&cluster).await != Ended::Dropped {}
        cluster
    }

    async fn look_on(&self, cluster: &Arc<str>) -> Ended {
        let mut follower = match Follower::begin(self, cluster) {
            Ok(follower) => follower,
            Err(ended) => {
                sleep(RETRY_AFTER).await;
                return ended;
            }
        };
        loop {
            let has_failed = match follower.settle().await {
                Ok(has_failed) => has_failed,
                Err(ended) => return ended,
            };
            let changed = follower.changed();
            let ended = if has_failed {
                tokio::select! { ended = changed => ended, () = sleep(RETRY_AFTER) => Ok(()) }
            } else {
                changed.await
            };
            if let Err(ended) = ended {
                return ended;
            }
        }
    }

    /// Changes an object on behalf of the server. One that nothing holds any more goes.
    async fn amend(&self, key: &Key, change: impl Fn(&mut Value)) -> Result<(), Status> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(live) = self.shared.store.get(key) else { return Ok(()) };
            let amended = || amended(&live, &change);
            let is_large = live.json().len() > PIECE_BYTES;
            let write = if is_large { off_the_threads_of_connections(amended) } else { amended() };
            let Some(write) = write else { return Ok(()) };
            match self.commit(write, None).await {
                Ok(_) => return Ok(()),
                Err(Refused::Taken(_)) => {}
                Err(Refused::Status(status)) => return Err(status),
            }
        }
        Err(Status::internal("others were faster each time"))
    }

    /// Deletes objects, several at once. Returns whether all went or are marked; those gone already are fine.
    async fn delete_all(&self, resource: &Resource, keys: Vec<Key>, options: &DeleteOptions) -> bool {
        let deletions = keys.into_iter().map(|key| async move { self.delete_object(resource, &key, options).await });
        let failures = stream::iter(deletions).buffer_unordered(PARALLEL).filter(|result| {
            let failed = result.as_ref().is_err_and(|status| status.code != http::StatusCode::NOT_FOUND);
            std::future::ready(failed)
        });
        failures.count().await == 0
    }
}

/// The write of what a change makes of an object; `None` where it stays as it is.
fn amended(live: &Record, change: &impl Fn(&mut Value)) -> Option<Write> {
    let before = live.value();
    let mut object = (*before).clone();
    change(&mut object);
    if object == *before {
        return None;
    }
    let key = live.key().clone();
    Some(match is_let_go(&object) {
        true => Write::delete(key, live.revision()),
        false => Write::replace(key, live.revision(), object),
    })
}

fn namespace_request(cluster: &Arc<str>, name: &str) -> Request {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    Request {
        method: Method::POST,
        cluster: cluster.clone(),
        path: Path::parse("/api/v1/namespaces"),
        query: Query::default(),
        headers: HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, HeaderValue::from_static("kube-apiserver")),
        ]),
        body: body.to_string().into(),
        user: User { name: "system:apiserver".to_owned(), groups: Vec::new() },
    }
}
