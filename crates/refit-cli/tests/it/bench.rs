//! `refit bench` on an API server that stays: it leaves nothing behind, whether it is let to its end or not.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::{Cluster, Machine};
use refit_api::runtime::ExtensionConfig;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::apiserver::Running;

/// How often it is looked, and how often at most: half a minute in all.
const EVERY: Duration = Duration::from_millis(100);
const TIMES: usize = 300;

fn start(kubeconfig: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refit"));
    command.args(["bench", "rollout", "--machines", "2", "-o", "json", "--kubeconfig"]).arg(kubeconfig);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("refit must run")
}

/// What is there of what a bench makes.
async fn left(client: &Client) -> Vec<String> {
    let all = ListParams::default();
    let namespaces = Api::<Namespace>::all(client.clone()).list(&all).await.expect("they must be listed");
    let clusters = Api::<Cluster>::all(client.clone()).list(&all).await.expect("they must be listed");
    let machines = Api::<Machine>::all(client.clone()).list(&all).await.expect("they must be listed");
    let configs = Api::<ExtensionConfig>::all(client.clone()).list(&all).await.expect("they must be listed");
    let namespaces = namespaces.iter().map(ResourceExt::name_any).filter(|name| name.starts_with("refit-bench-"));
    let others = clusters.iter().map(ResourceExt::name_any).chain(machines.iter().map(ResourceExt::name_any));
    namespaces.chain(others).chain(configs.iter().map(ResourceExt::name_any)).collect()
}

async fn until_nothing_is_left(client: &Client) {
    let mut found = Vec::new();
    for _ in 0..TIMES {
        found = left(client).await;
        if found.is_empty() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
    panic!("something is left: {found:?}");
}

#[tokio::test]
async fn a_bench_leaves_nothing_behind() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    let _server = Running::start(folder.path());
    let kubeconfig = folder.path().join("admin.kubeconfig");
    let client = refit_plane::connect(Some(&kubeconfig)).await.expect("it must be a kubeconfig");
    let output = start(&kubeconfig).wait_with_output().expect("it must end");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it must be a report");
    assert_eq!((output.status.code(), &report["inPlace"]), (Some(0), &serde_json::json!(2)), "{report}");
    until_nothing_is_left(&client).await;

    let mut interrupted = start(&kubeconfig);
    let mut lines = BufReader::new(interrupted.stderr.take().expect("it must be piped")).lines();
    let first = lines.next().and_then(Result::ok);
    assert_eq!(first.as_deref(), Some("refit: making 2 machines"));
    kill_process(Pid::from_child(&interrupted), Signal::INT).expect("the signal must be sent");
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(said, ["refit: deleting them", "refit: interrupted"]);
    assert_eq!(interrupted.wait().expect("it must end").code(), Some(1));
    until_nothing_is_left(&client).await;
}
