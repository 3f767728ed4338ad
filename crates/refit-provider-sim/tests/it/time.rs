//! All time is tokio's: where that is paused, days pass in no time.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use refit_apiserver::access;
use refit_apiserver::api::{Clock, Entropy};
use refit_apiserver::credentials::Credentials;
use refit_apiserver::host::Host;
use refit_apiserver::server::{Limits, Server};
use refit_apiserver::store::Store;
use refit_examples::Host as _;
use refit_examples::host::HostChange;
use refit_provider_sim::kinds::SimMachine;
use refit_provider_sim::{Provider, Workloads};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::backend::install_all;
use crate::story::Story;

const DAY: i64 = 24 * 60 * 60;

#[tokio::test(start_paused = true)]
async fn a_machine_that_takes_a_day_takes_no_time() {
    let (began, at) = (Timestamp::now(), Instant::now());
    let clock: Clock = Arc::new(move || began.checked_add(at.elapsed()).unwrap_or(Timestamp::MAX));
    let folder = TempDir::new().expect("there must be a temporary folder");
    let host = Host::start(Store::in_memory(), clock.clone(), Entropy::from_seed(1)).await.expect("it must start");
    let credentials = Credentials::open(folder.path(), &[], began).expect("there must be credentials");
    let address = "127.0.0.1:0".parse().expect("it must be an address");
    let server = Server::bind(host.clone(), credentials, address, Limits::default()).await.expect("it must listen");
    let client = Client::new(host.service(access::admin()), "default");
    install_all(&client).await;
    let provider = Provider::new(client.clone(), Workloads::on(host, &server), clock.clone());
    let hosts = provider.hosts();
    let running = tokio::spawn(provider.run(std::future::pending()));
    let story = Story::with_infrastructure(&client, "slow").await;
    let spec = json!({ "provisioningSeconds": DAY, "updateSeconds": DAY });
    story.add_bootstrapped_machine("a", "v1.34.0", spec).await;
    let is_on_its_way = |sim: &SimMachine| sim.status.provisioning.is_some();
    story.eventually("is on its way", is_on_its_way, "a").await;
    tokio::time::sleep(std::time::Duration::from_secs(DAY as u64 + 1)).await;
    story.wait_provisioned("a").await;
    let provisioned = clock().duration_since(began).as_secs();
    hosts.change("slow", "a", HostChange::Version("v1.35.0".to_owned())).await.expect("the host must change");
    let updated = clock().duration_since(began).as_secs() - provisioned;
    assert!(provisioned >= DAY && updated >= DAY - 1, "{provisioned} {updated}");
    running.abort();
}
