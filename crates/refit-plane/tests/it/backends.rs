//! The two kinds of management cluster. Every story is told on both.

use std::sync::Arc;

use refit_peers::{ControlPlane, Options, require_peers};
use refit_plane::{Backend, EmbeddedOptions};

use crate::{chaos, kills, scenarios};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_embedded_server() {
    let backend = Backend::embedded(&EmbeddedOptions::default()).await.expect("the server must start");
    tell_all(Arc::new(backend)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_server() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let backend = Backend::foreign(plane.kubeconfig(), None).await.expect("the definitions must be accepted");
    tell_all(Arc::new(backend)).await;
}

async fn tell_all(backend: Arc<Backend>) {
    if let Some(seeds) = chaos::wanted_seeds() {
        return chaos::tell(&backend, seeds).await;
    }
    scenarios::tell(&backend).await;
    kills::tell(&backend).await;
    chaos::play(&backend, chaos::SEEDS).await;
}
