//! `refit up` as a process: killed in the middle of a rollout, it goes on.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::{Machine, MachineDeployment, MachineDeploymentStatus};
use refit_api::rollout::MachineRollout;
use refit_plane::sample::{self, Host, WORKERS, Workers};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

/// How often it is looked, and how often at most: four minutes in all.
const EVERY: Duration = Duration::from_millis(100);
const TIMES: usize = 2400;

/// A process that is killed when the test is done with it.
struct Up(Child);

impl Up {
    async fn start(folder: &Path) -> (Self, Client) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_refit"));
        command.args(["up", "--bind", "127.0.0.1:0", "--data-dir"]).arg(folder).stderr(Stdio::piped());
        let mut process = command.spawn().expect("refit must run");
        let mut lines = BufReader::new(process.stderr.take().expect("it must be piped")).lines();
        let first = lines.next().and_then(Result::ok).expect("it must say something");
        assert!(first.starts_with("refit: listening on https://"), "{first}");
        // What it logs later is read too, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        let client = refit_plane::connect(Some(&folder.join("admin.kubeconfig"))).await;
        (Self(process), client.expect("it must be a kubeconfig"))
    }

    /// Ends it as a user would. Whether that went well.
    fn end(mut self) -> bool {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("the signal must be sent");
        self.0.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn until(client: &Client, what: &str, is_reached: impl Fn(&MachineDeploymentStatus) -> bool) {
    let api: Api<MachineDeployment> = Api::default_namespaced(client.clone());
    let mut seen = None;
    for _ in 0..TIMES {
        let found = api.get(WORKERS).await.expect("it must be there");
        if found.status.observed_generation == found.metadata.generation && is_reached(&found.status) {
            return;
        }
        seen = Some(found.status);
        tokio::time::sleep(EVERY).await;
    }
    panic!("it takes too long until {what}; seen last: {seen:#?}");
}

/// Waits until the first machine is updated. That stays true: others may be updated before somebody looks.
async fn until_first_is_updated(client: &Client) {
    let api: Api<MachineRollout> = Api::default_namespaced(client.clone());
    let mut seen = Vec::new();
    for _ in 0..TIMES {
        seen = api.list(&ListParams::default()).await.expect("rollouts must be listed").items;
        let updated = |rollout: &MachineRollout| rollout.status.progress.as_ref().map(|progress| progress.updated);
        if seen.iter().filter_map(updated).any(|updated| updated > 0) {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
    panic!("it takes too long until one is updated; seen last: {seen:#?}");
}

async fn uids(client: &Client) -> BTreeSet<Option<String>> {
    let api: Api<Machine> = Api::default_namespaced(client.clone());
    api.list(&ListParams::default()).await.expect("machines must be listed").iter().map(ResourceExt::uid).collect()
}

#[tokio::test]
async fn a_rollout_goes_on_after_the_process_was_killed() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    let (up, client) = Up::start(folder.path()).await;
    let sample = Workers::default();
    sample.apply(&client).await.expect("the sample must be accepted");
    until(&client, "there are machines", |status| status.available_replicas == Some(3)).await;
    let before = uids(&client).await;
    let host = Host { memory: "16Gi".to_owned(), ..Host::default() };
    sample::apply(&client, &sample.machine_template(&host)).await.expect("a template must be accepted");
    let patch = json!({ "spec": { "template": { "spec": { "infrastructureRef": { "name": host.template() } } } } });
    let api: Api<MachineDeployment> = Api::default_namespaced(client.clone());
    api.patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a patch must be accepted");
    until_first_is_updated(&client).await;
    drop(up);
    let (up, client) = Up::start(folder.path()).await;
    let is_done = |status: &MachineDeploymentStatus| {
        [status.replicas, status.up_to_date_replicas, status.available_replicas] == [Some(3); 3]
    };
    until(&client, "all are updated", is_done).await;
    assert_eq!(uids(&client).await, before, "the machines must be the same");
    assert!(up.end(), "a signal must end it well");
}
