//! All controllers on an embedded server, with an extension in the same process and every write counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use refit_apiserver::access;
use refit_apiserver::api::Entropy;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use refit_controllers::chance::Chance;
use refit_controllers::clock::Clock;
use refit_controllers::control_plane::WorkloadAccess;
use refit_controllers::controllers::{Controllers, Options};
use refit_controllers::queue::QueueMetrics;
use refit_controllers::workload::Connector;
use refit_hooks::Extensions;
use refit_hooks::client::{BoxError, Client as HookClient, Outgoing, ResponseBody, Transport};
use refit_hooks::metrics::HookMetrics;
use refit_plan::machine::Settings;
use refit_sdk::Extension;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use crate::played_workload::Workload;
use crate::{plain, world};

/// How often the controllers sent what: method, resource and subresource, without names.
pub type Requests = Arc<Mutex<BTreeMap<String, usize>>>;

/// For how long nothing must be written for the controllers to be at rest, and how often that is tried.
const REST: Duration = Duration::from_secs(1);
const REST_TRIES: usize = 180;

/// All controllers at work.
pub struct Plane {
    /// Of somebody else than the controllers.
    pub client: Client,
    pub writes: Requests,
    /// What the controllers read, watches apart.
    pub reads: Requests,
    pub clock: Clock,
    /// The uid of an object that the controllers are told of with a Cluster that is no text.
    pub garbled: Garbled,
    /// What control planes see of their workload cluster.
    pub workload: Workload,
    metrics: QueueMetrics,
    controllers: Box<dyn Fn() -> Running + Send + Sync>,
    running: Running,
}

/// Controllers at work, and how they are told to end.
struct Running {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Plane {
    /// With this extension, wherever an ExtensionConfig says that it is. All of it is on tokio's clock: under a paused one,
    /// hours pass in seconds.
    pub async fn start(extension: Extension) -> Self {
        let clock = Clock::beginning(jiff::Timestamp::now());
        let host = Host::start(Store::in_memory(), Arc::new(move || clock.now()), Entropy::from_seed(1)).await;
        let host = host.expect("the API must start");
        let client = Client::new(host.service(access::admin()), "default");
        world::install_crds(&client).await;
        plain::install(&client).await;
        let (writes, reads, metrics) = (Requests::default(), Requests::default(), QueueMetrics::default());
        let counted = (Arc::clone(&writes), Arc::clone(&reads));
        let garbled = Garbled::default();
        let garbling = garbled.clone();
        let service = host
            .service(access::admin())
            .map_request(move |request: Request<Body>| {
                count(&counted.0, &counted.1, &request);
                request
            })
            .map_response(move |answer: http::Response<_>| {
                let garbling = garbling.clone();
                answer.map(|body| body.map_frame(move |frame| frame.map_data(|line| garble(&garbling, line))))
            });
        let workload = Workload::new(client.clone());
        let (of_controllers, counted, access) = (Client::new(service, "default"), metrics.clone(), workload.access());
        let workload_client = client.clone();
        let controllers = Box::new(move || {
            let options = options(workload_client.clone(), extension.clone(), access.clone(), clock);
            let controllers =
                Controllers::start(of_controllers.clone(), Options { metrics: counted.clone(), ..options });
            let (end, ended) = oneshot::channel();
            Running { end, task: tokio::spawn(controllers.run(async move { drop(ended.await) })) }
        });
        let running = controllers();
        Self { client, writes, reads, clock, garbled, workload, metrics, controllers, running }
    }

    /// The process dies wherever it is, and another one takes its place.
    pub async fn crash(&mut self) {
        self.running.task.abort();
        let _ = (&mut self.running.task).await;
        self.running = (self.controllers)();
    }

    /// Waits until the controllers write nothing more. Gives what they wrote, and counts anew.
    pub async fn at_rest(&self) -> BTreeMap<String, usize> {
        let writes = || self.writes.lock().expect("nobody must panic while counting");
        for _ in 0..REST_TRIES {
            let before = writes().clone();
            tokio::time::sleep(REST).await;
            if *writes() == before {
                return std::mem::take(&mut *writes());
            }
        }
        panic!("the controllers must come to rest: {:?}", writes());
    }

    /// How many passes each controller has made so far.
    pub fn passes(&self) -> BTreeMap<String, usize> {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.metrics.register(&mut registry);
        encode(&mut text, &registry).expect("metrics must encode");
        let mut passes = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("controller_runtime_reconcile_total{")) {
            let controller = line.split('"').nth(1).unwrap_or_default().to_owned();
            let count = line.rsplit(' ').next().and_then(|count| count.parse::<usize>().ok());
            *passes.entry(controller).or_default() += count.expect("it must be a number");
        }
        passes
    }

    pub async fn end(self) {
        let Running { end, task } = self.running;
        drop(end);
        let ended = tokio::time::timeout(Duration::from_secs(180), task).await;
        ended.expect("the controllers must end in time").expect("the controllers must end well");
    }
}

/// The uid of an object whose lines in watches are changed on their way.
pub type Garbled = Arc<Mutex<Option<String>>>;

/// Changes what a watch tells of one object to something that cannot be decoded.
fn garble(garbled: &Garbled, line: Bytes) -> Bytes {
    let uid = garbled.lock().expect("nobody must panic while garbling").clone();
    let Some(uid) = uid else { return line };
    let text = String::from_utf8_lossy(&line);
    let is_its = text.contains("\"type\":\"MODIFIED\"") && text.contains(&format!("\"uid\":\"{uid}\""));
    if is_its { text.replace("\"clusterName\":\"c\"", "\"clusterName\":5").into_bytes().into() } else { line }
}

/// The management cluster is its own workload cluster.
fn options(workload: Client, extension: Extension, workload_access: WorkloadAccess, clock: Clock) -> Options {
    let connector: Connector = Arc::new(move |_, _| {
        let client = workload.clone();
        async move { Ok(client) }.boxed()
    });
    Options {
        extensions: Extensions::new(HookClient::new(transport(extension), HookMetrics::default())),
        connector,
        workload_access: Some(workload_access),
        settings: Settings::default(),
        clock,
        chance: Chance::from_seed(1),
        instance: "test".to_owned(),
        metrics: QueueMetrics::default(),
    }
}

fn transport(extension: Extension) -> Transport {
    BoxCloneSyncService::new(tower::service_fn(move |outgoing: Outgoing| {
        let extension = extension.clone();
        async move {
            let answer = extension.handle(outgoing.request).await;
            let answer = answer.map(|body| body.map_err(|never| match never {}).boxed_unsync());
            Ok::<http::Response<ResponseBody>, BoxError>(answer)
        }
    }))
}

/// Dry runs change nothing: they are reads. Watches are neither.
fn count(writes: &Requests, reads: &Requests, request: &Request<Body>) {
    let asks_for = |what: &str| request.uri().query().is_some_and(|query| query.contains(what));
    let counted = match *request.method() {
        Method::GET if asks_for("watch=true") => return,
        Method::GET => reads,
        _ if asks_for("dryRun") => reads,
        _ => writes,
    };
    let path = request.uri().path();
    let mut parts = path.rsplit_once("/namespaces/default/").map_or(path, |(_, rest)| rest).split('/');
    let (resource, _, part) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let what = format!("{} {resource}{}", request.method(), part.map(|part| format!("/{part}")).unwrap_or_default());
    *counted.lock().expect("nobody must panic while counting").entry(what).or_default() += 1;
}
