//! The two kinds of management cluster.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use refit_api::cluster::{Cluster, Machine};
use refit_api::crd;
use refit_apiserver::access;
use refit_apiserver::api::Clock;
use refit_apiserver::credentials::Credentials;
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server};
use refit_apiserver::store::Store;
use refit_peers::{ControlPlane, Options, require_peers};
use refit_provider_sim::{Provider, SimHosts, WorkloadServer, Workloads};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A management cluster with all CRDs, and a place for workload clusters.
pub struct Backend {
    pub client: Client,
    pub workloads: Workloads,
    _keep: Keep,
}

/// What lives as long as the backend.
enum Keep {
    Embedded { _folder: TempDir, server: JoinHandle<()> },
    Real { _folder: TempDir, _plane: Box<ControlPlane>, _server: WorkloadServer },
}

impl Drop for Keep {
    fn drop(&mut self) {
        if let Self::Embedded { server, .. } = self {
            server.abort();
        }
    }
}

impl Backend {
    /// The embedded server, with the workload clusters on it.
    pub async fn embedded() -> Self {
        let folder = TempDir::new().expect("there must be a temporary folder");
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        let credentials = Credentials::open(folder.path(), &[], Timestamp::now()).expect("there must be credentials");
        let address = "127.0.0.1:0".parse().expect("it must be an address");
        let server = Server::bind(host.clone(), credentials, address, Limits::default()).await;
        let server = server.expect("the server must listen");
        let workloads = Workloads::on(host.clone(), &server);
        let client = Client::new(host.service(access::admin()), "default");
        let server = tokio::spawn(server.run(std::future::pending()));
        install_all(&client).await;
        Self { client, workloads, _keep: Keep::Embedded { _folder: folder, server } }
    }

    /// A real kube-apiserver, with the workload clusters on a server of the provider's own.
    pub async fn real() -> Option<Self> {
        let peers = require_peers()?;
        let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
        let client = connect(kubeconfig).await;
        let folder = TempDir::new().expect("there must be a temporary folder");
        let server = WorkloadServer::start(folder.path(), clock()).await.expect("the server must start");
        let workloads = server.workloads();
        install_all(&client).await;
        Some(Self {
            client,
            workloads,
            _keep: Keep::Real { _folder: folder, _plane: Box::new(plane), _server: server },
        })
    }

    pub fn start_provider(&self) -> RunningProvider {
        let provider = Provider::new(self.client.clone(), self.workloads.clone(), clock());
        let hosts = provider.hosts();
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(provider.run(async move {
            let _ = ended.await;
        }));
        RunningProvider { hosts, end, task }
    }
}

/// A provider that runs until it is stopped.
pub struct RunningProvider {
    pub hosts: SimHosts,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningProvider {
    pub async fn stop(self) {
        drop(self.end);
        self.task.await.expect("the provider must end well");
    }

    /// Ends it wherever it is.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

pub fn clock() -> Clock {
    Arc::new(Timestamp::now)
}

/// A client by a kubeconfig.
pub async fn connect(kubeconfig: Kubeconfig) -> Client {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig must be complete")).expect("a client must start")
}

/// Installs the CRDs of the provider and of what it looks at, and waits until their kinds are served.
pub async fn install_all(client: &Client) {
    let mut crds = vec![crd::of::<Cluster>(), crd::of::<Machine>()];
    crds.extend(refit_provider_sim::crds());
    for crd in &crds {
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let crd = serde_json::from_value(crd.clone()).expect("it must be a CRD");
        api.create(&PostParams::default(), &crd).await.expect("a CRD must be accepted");
    }
    for crd in &crds {
        wait_served(client, crd).await;
    }
}

async fn wait_served(client: &Client, crd: &Value) {
    let text = |value: &Value| value.as_str().expect("it must be text").to_owned();
    let (spec, version) = (&crd["spec"], text(&crd["spec"]["versions"][0]["name"]));
    let kind = GroupVersionKind::gvk(&text(&spec["group"]), &version, &text(&spec["names"]["kind"]));
    let resource = ApiResource::from_gvk_with_plural(&kind, &text(&spec["names"]["plural"]));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    while api.list(&ListParams::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
