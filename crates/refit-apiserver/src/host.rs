//! The API at work: an [`Api`], its logical clusters, and what happens by itself in the background.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::api::{Answer, Api, Clock, Entropy};
use crate::audit::Audit;
use crate::clusters::{ClusterError, Clusters, ROOT};
use crate::health::{Health, READY};
use crate::metrics::Metrics;
use crate::request::{Query, User};
use crate::resource::Catalog;
use crate::service::Service;
use crate::store::{Condition, Store};

/// How long a question about readiness waits for a disk that fails to be tried again.
const MEND_PATIENCE: Duration = Duration::from_secs(2);

/// A running API. Cloning shares it; when the last clone goes, the background work ends and the store closes.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    api: Api,
    clusters: Clusters,
    health: Health,
    metrics: Metrics,
    audit: OnceLock<Audit>,
    /// The name of the cluster that the server itself is.
    root: Arc<str>,
    /// Where writes are carried out: they outlive whoever asked for them, and that one's runtime.
    runtime: Handle,
    /// Taken when it has been ended.
    background: Mutex<Option<JoinHandle<()>>>,
}

impl Host {
    /// Starts the API over a store. Must be called inside a tokio runtime.
    ///
    /// The system's own cluster is there when this returns. The clock and the randomness are given, so that a whole
    /// management plane can run on virtual time and one seed.
    pub async fn start(store: Store, clock: Clock, entropy: Entropy) -> Result<Self, ClusterError> {
        let api = Api::new(store, clock, entropy);
        let clusters = Clusters::new(api.clone());
        clusters.create_root().await?;
        let (background, runtime) = (Mutex::new(Some(spawn_background(&api))), Handle::current());
        let (health, metrics, audit, root) = (Health::default(), Metrics::default(), OnceLock::new(), Arc::from(ROOT));
        Ok(Self { inner: Arc::new(Inner { api, clusters, health, metrics, audit, root, runtime, background }) })
    }

    /// Starts the API by the system's clock and randomness.
    pub async fn start_on_system(store: Store) -> Result<Self, ClusterError> {
        Self::start(store, Arc::new(jiff::Timestamp::now), Entropy::from_system()).await
    }

    /// The API as a tower service in this process, asked by one user: what a `kube::Client` stands on.
    pub fn service(&self, user: User) -> Service {
        Service::new(self.clone(), user)
    }

    /// Ends the background work, and waits until it has let go of the store. When the last clone goes after this, the
    /// store is closed at once, and another process may open its folder.
    pub async fn rest(&self) {
        if let Some(background) = self.inner.take_background() {
            background.abort();
            let _ = background.await;
        }
    }

    pub fn api(&self) -> &Api {
        &self.inner.api
    }

    pub fn clusters(&self) -> &Clusters {
        &self.inner.clusters
    }

    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// From now on writes, refusals and reads of secrets are written down. The first log that is given is kept.
    pub fn keep_audit(&self, audit: Audit) {
        let _ = self.inner.audit.set(audit);
    }

    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.inner.audit.get()
    }

    /// What the cluster that the server itself is serves.
    pub(crate) fn root_catalog(&self) -> Arc<Catalog> {
        self.api().catalog(&self.inner.root)
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.inner.runtime
    }

    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// The answer to a path about the server itself. Whoever asks whether it is ready makes a failing store try again.
    pub(crate) async fn answer_health(&self, path: &str, query: &Query) -> Option<Answer> {
        let store = self.api().store();
        let mut condition = store.condition();
        if path == READY && condition == Condition::Failing {
            let mended = timeout(MEND_PATIENCE, store.commit(Vec::new())).await;
            condition = if matches!(mended, Ok(Ok(_))) { Condition::Working } else { condition };
        }
        self.health().answer(path, query, condition)
    }
}

/// What happens without anybody asking: garbage collection, namespaces on their way out. Both transports begin it here.
fn spawn_background(api: &Api) -> JoinHandle<()> {
    let api = api.clone();
    tokio::spawn(async move { api.run_lifecycle().await })
}

impl Inner {
    fn take_background(&self) -> Option<JoinHandle<()>> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(background) = self.take_background() {
            background.abort();
        }
    }
}
