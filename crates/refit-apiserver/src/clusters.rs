//! Logical clusters: each is a whole API of its own under `/clusters/<name>`, made and dropped while the server runs.
//!
//! They share the store and nothing else: objects, definitions, namespaces, names, uids and users are each cluster's own.
//! A cluster exists as long as its namespace `kube-system` does, whose uid is the cluster's.

use std::sync::Arc;

use tokio::sync::{Mutex, RwLock, RwLockReadGuard};

use crate::api::Api;
use crate::metadata::names::NameRule;
use crate::metadata::text;
use crate::status::Status;
use crate::store::{Key, WriteError};

/// The namespace that is made last: where it is, the others are.
const LAST_NAMESPACE: &str = "kube-system";
/// The name of the cluster that the server itself is.
pub const ROOT: &str = "";
/// How many logical clusters there may be. Each costs a few objects and, once asked, a catalog of what it serves.
pub const MAX_CLUSTERS: usize = 50_000;

/// A logical cluster that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalCluster {
    pub name: Arc<str>,
    /// Another one of the same name has another uid.
    pub uid: String,
}

/// Why a logical cluster was not made or dropped.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("{name:?} cannot be the name of a logical cluster: {problem}")]
    Name { name: String, problem: String },
    #[error("there is a logical cluster {name:?} already")]
    Exists { name: String },
    #[error("there is no logical cluster {name:?}")]
    Missing { name: String },
    #[error("there are {MAX_CLUSTERS} logical clusters already")]
    TooMany,
    #[error("the first objects of the cluster were refused: {}", .0.message)]
    Refused(Status),
    #[error("the cluster could not be dropped")]
    Store(#[source] WriteError),
}

/// All logical clusters. Cloning shares them.
#[derive(Clone)]
pub struct Clusters {
    api: Api,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    /// One is made or dropped at a time.
    changing: Mutex<()>,
    /// Held shared by each write to a logical cluster, and alone by a drop: no write lands in a cluster that is gone.
    writing: RwLock<()>,
}

impl Clusters {
    pub fn new(api: Api) -> Self {
        Self { api, gate: Arc::default() }
    }

    /// Makes a logical cluster with the namespaces that every cluster has.
    pub async fn create(&self, name: &str) -> Result<LogicalCluster, ClusterError> {
        check_name(name)?;
        let _changing = self.gate.changing.lock().await;
        if self.find(name).is_some() {
            return Err(ClusterError::Exists { name: name.to_owned() });
        }
        let known = self.api.store().clusters();
        if known.len() > MAX_CLUSTERS {
            return Err(ClusterError::TooMany);
        }
        if known.iter().any(|known| **known == *name) {
            // What a crash in the middle of an earlier creation left behind must not turn up in the new cluster.
            self.erase(name).await?;
        }
        self.furnish(name).await
    }

    /// Makes the cluster that the server itself is, where it is not there yet.
    pub async fn create_root(&self) -> Result<LogicalCluster, ClusterError> {
        let _changing = self.gate.changing.lock().await;
        self.furnish(ROOT).await
    }

    /// Deletes a logical cluster and everything in it. Its watches end, and its users are users of nothing.
    pub async fn drop(&self, name: &str) -> Result<(), ClusterError> {
        check_name(name)?;
        let _changing = self.gate.changing.lock().await;
        if self.find(name).is_none() {
            return Err(ClusterError::Missing { name: name.to_owned() });
        }
        self.erase(name).await
    }

    /// The logical cluster of a name.
    pub fn find(&self, name: &str) -> Option<LogicalCluster> {
        let key = Key::new(name, "/namespaces", "", LAST_NAMESPACE);
        let record = self.api.store().get(&key)?;
        let uid = text(&record.value(), "uid").to_owned();
        Some(LogicalCluster { name: name.into(), uid })
    }

    /// All of them, without the one that the server itself is.
    pub fn list(&self) -> Vec<LogicalCluster> {
        let names = self.api.store().clusters();
        names.iter().filter(|name| &***name != ROOT).filter_map(|name| self.find(name)).collect()
    }

    /// Keeps clusters from being dropped while a write is on its way.
    pub(crate) async fn writing(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.writing.read().await
    }

    async fn furnish(&self, name: &str) -> Result<LogicalCluster, ClusterError> {
        self.api.create_cluster(&Arc::from(name)).await.map_err(ClusterError::Refused)?;
        self.find(name).ok_or_else(|| ClusterError::Missing { name: name.to_owned() })
    }

    async fn erase(&self, name: &str) -> Result<(), ClusterError> {
        let _alone = self.gate.writing.write().await;
        self.api.drop_cluster(name).await.map_err(ClusterError::Store)
    }
}

/// Names are parts of paths and of certificates.
fn check_name(name: &str) -> Result<(), ClusterError> {
    match NameRule::Subdomain.problems(name).next() {
        Some(problem) => Err(ClusterError::Name { name: name.to_owned(), problem }),
        None => Ok(()),
    }
}
