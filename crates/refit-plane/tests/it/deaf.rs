//! Controllers whose first requests for machines all fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use refit_controllers::chance::Chance;
use refit_controllers::clock::Clock;
use refit_controllers::controllers::{Controllers, Options, Readiness};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::workload::by_kubeconfig;
use refit_hooks::Extensions;
use refit_hooks::client::{Client as HookClient, ClientIdentity, TlsTransport};
use refit_hooks::metrics::HookMetrics;
use refit_plan::machine::Settings;
use refit_plane::{Backend, workload_access};
use refit_provider_sim::etcd_connector;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::story::{EVERY, LIMIT};

/// How many requests fail.
const FAILURES: usize = 4;

pub struct Deaf {
    readiness: Readiness,
    left: Arc<AtomicUsize>,
    end: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Deaf {
    pub async fn begin(backend: &Backend) -> Self {
        let left = Arc::new(AtomicUsize::new(FAILURES));
        let client = backend.client().await.expect("there must be a client");
        let controllers = Controllers::start(failing(client, Arc::clone(&left)), options());
        let (readiness, (end, ended)) = (controllers.readiness(), oneshot::channel::<()>());
        let running = tokio::spawn(controllers.run(async move { drop(ended.await) }));
        Self { readiness, left, end, running }
    }

    /// All requests that were to fail have failed, and the controllers are at work.
    pub async fn until_it_hears(&self) {
        let began = Instant::now();
        while self.left.load(Ordering::SeqCst) > 0 || self.readiness.check().is_err() {
            assert!(began.elapsed() < LIMIT, "the controllers must try again");
            sleep(EVERY).await;
        }
    }

    pub async fn end(self) {
        drop(self.end);
        self.running.await.expect("the controllers must end well");
    }
}

/// Answers the first requests for all machines with an error.
fn failing(client: Client, left: Arc<AtomicUsize>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, left) = (client.clone(), Arc::clone(&left));
        async move {
            let is_ours = request.method() == Method::GET && request.uri().path().ends_with("/machines");
            let fails = |left: usize| left.checked_sub(1);
            if is_ours && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
                let answer = Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR);
                return Ok(answer.body(Body::empty()).expect("it must be an answer"));
            }
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

fn options() -> Options {
    let transport = TlsTransport::new(ClientIdentity::none()).boxed();
    Options {
        extensions: Extensions::new(HookClient::new(transport, HookMetrics::default())),
        connector: by_kubeconfig(),
        workload_access: Some(workload_access(etcd_connector())),
        settings: Settings::default(),
        clock: Clock::from_system(),
        chance: Chance::from_seed(1),
        instance: "deaf".to_owned(),
        metrics: QueueMetrics::default(),
    }
}
