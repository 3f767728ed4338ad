//! The two kinds of management cluster. Every story is told on both.

use std::sync::Arc;

use refit_peers::{ControlPlane, Options, require_peers};
use refit_plane::{Backend, EmbeddedOptions};

use crate::{chaos, kills, scenarios};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_embedded_server() {
    tell_all(embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_server() {
    let Some((_plane, backend)) = real().await else { return };
    tell_all(backend).await;
}

pub async fn embedded() -> Arc<Backend> {
    Arc::new(Backend::embedded(&EmbeddedOptions::default()).await.expect("the server must start"))
}

/// Nothing: the real servers are not there, and may be missing. They run for as long as the first value lives.
pub async fn real() -> Option<(ControlPlane, Arc<Backend>)> {
    let plane = ControlPlane::start(&require_peers()?, Options::default()).expect("a control plane must start");
    let backend = Backend::foreign(plane.kubeconfig(), None).await.expect("the definitions must be accepted");
    Some((plane, Arc::new(backend)))
}

async fn tell_all(backend: Arc<Backend>) {
    if let Some(seeds) = chaos::wanted_seeds() {
        return chaos::tell(&backend, seeds).await;
    }
    if let Ok(module) = std::env::var("REFIT_STORIES") {
        return scenarios::tell_only(&backend, &module).await;
    }
    scenarios::tell(&backend).await;
    kills::tell(&backend).await;
    chaos::play(&backend, chaos::SEEDS).await;
}
