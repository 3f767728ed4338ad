//! A server that vanishes without a word: connections stay open, and nothing comes any more.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_apiserver::access;
use refit_apiserver::credentials::Credentials;
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server};
use refit_apiserver::store::Store;
use refit_controllers::cache::{Feed, Informer, ObjectKey};
use refit_controllers::chance::Chance;
use refit_controllers::transport::{Pings, builder_with};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::copy;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::world::until;

/// Far below the five minutes after which a server ends a watch by itself.
const LIMIT: Duration = Duration::from_secs(180);

/// Passes on what comes, on connections that were made since it last fell silent.
struct Proxy {
    address: SocketAddr,
    silences: Arc<watch::Sender<u64>>,
}

impl Proxy {
    async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there must be a free port");
        let address = listener.local_addr().expect("it must have an address");
        let silences = Arc::new(watch::Sender::new(0));
        let told = Arc::clone(&silences);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut silence = told.subscribe();
                tokio::spawn(async move {
                    let server = TcpStream::connect(to).await.expect("the server must be there");
                    let ((mut from, mut back), (mut answers, mut requests)) =
                        (client.into_split(), server.into_split());
                    tokio::select! {
                        _ = async { tokio::join!(copy(&mut from, &mut requests), copy(&mut answers, &mut back)) } => {}
                        _ = silence.changed() => std::future::pending().await,
                    }
                });
            }
        });
        Self { address, silences }
    }

    fn fall_silent(&self) {
        self.silences.send_modify(|count| *count += 1);
    }
}

#[tokio::test]
async fn a_watch_whose_server_has_vanished_without_a_word_is_begun_anew() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
    let credentials = Credentials::open(folder.path(), &[], Timestamp::now()).expect("there must be credentials");
    let bind = "127.0.0.1:0".parse().expect("it must be an address");
    let server = Server::bind(host.clone(), credentials, bind, Limits::default()).await.expect("it must listen");
    let kubeconfig = server.kubeconfigs().write().expect("it must be written");
    let proxy = Proxy::start(server.address()).await;
    tokio::spawn(server.run(std::future::pending()));

    let mut kubeconfig = Kubeconfig::read_from(kubeconfig).expect("it must be readable");
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|cluster| cluster.cluster.as_mut()) {
        cluster.server = Some(format!("https://{}", proxy.address));
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let pings = Pings { every: Duration::from_millis(200), limit: Duration::from_secs(3) };
    let builder = builder_with(config.expect("it must be usable"), pings).expect("there must be a client");
    let maps = Api::<ConfigMap>::all(builder.build());
    let informer = Informer::start(Feed::of(maps), vec![], Chance::from_seed(1));
    assert!(informer.wait_ready(LIMIT).await, "it must be listed");

    proxy.fall_silent();
    let direct = Api::<ConfigMap>::namespaced(Client::new(host.service(access::admin()), "default"), "default");
    let map = serde_json::from_value(json!({ "metadata": { "name": "a" } })).expect("it must be a ConfigMap");
    direct.create(&PostParams::default(), &map).await.expect("it must be created");
    let key = ObjectKey::new("default", "a");
    let known = until("what happened is known", async || informer.get(&key));
    tokio::time::timeout(LIMIT, known).await.expect("the watch must be begun anew long before the server would end it");
}
