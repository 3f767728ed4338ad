//! `refit controller` as a process: it works over HTTPS, says how it is, and of several one acts.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, PostParams};
use refit_api::cluster::Cluster;
use refit_peers::{ControlPlane, Options, require_peers};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::apiserver::Running;

/// How often it is looked, and how often at most: a minute and a half in all.
const EVERY: Duration = Duration::from_millis(100);
const TIMES: usize = 900;
const LEASE: &str = "refit-controller-leader";

/// A process that is killed when the test is done with it.
struct Controller {
    process: Child,
    health: String,
    metrics: String,
}

fn command(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refit"));
    command.args(["controller", "--kubeconfig"]).arg(kubeconfig).env("RUST_LOG", "off").stderr(Stdio::piped());
    command
}

impl Controller {
    fn start(kubeconfig: &Path) -> Self {
        let mut command = command(kubeconfig);
        command.args(["--health-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"]);
        let mut process = command.spawn().expect("refit must run");
        let mut lines = BufReader::new(process.stderr.take().expect("it must be piped")).lines();
        let mut address = |name: &str| {
            let line = lines.next().and_then(Result::ok).expect("it must say something");
            line.strip_prefix(&format!("refit: {name} on http://")).expect("it must say where").to_owned()
        };
        let (health, metrics) = (address("health"), address("metrics"));
        // What it says later is read too, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, health, metrics }
    }

    /// The code and the body of a page.
    fn page(&self, path: &str) -> (u16, String) {
        let address = if path == "/metrics" { &self.metrics } else { &self.health };
        let mut stream = TcpStream::connect(address).expect("it must listen");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("it must read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it must answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it must be an answer");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        (code.expect("it must have a code"), body.to_owned())
    }

    async fn until_ready(&self) {
        until("it is ready", async || self.page("/readyz").0 == 200).await;
    }

    /// Ends it as Kubernetes would. Gives its exit code.
    fn terminate(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("the signal must be sent");
        self.process.wait().expect("it must end").code()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..TIMES {
        if is_so().await {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
    panic!("it takes too long until {what}");
}

async fn connect(kubeconfig: &Path) -> Client {
    refit_plane::connect(Some(kubeconfig)).await.expect("it must be a kubeconfig")
}

/// Who leads; nobody if it is given back.
async fn leader(client: &Client) -> Option<String> {
    let lease = Api::<Lease>::default_namespaced(client.clone()).get_opt(LEASE).await.expect("it must be readable");
    lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity)
}

async fn until_led_by(client: &Client, controller: &Controller) {
    let suffix = format!("-{}", controller.process.id());
    until("it leads", async || leader(client).await.is_some_and(|leader| leader.ends_with(&suffix))).await;
}

/// Makes a Cluster, and waits until somebody has taken it on.
async fn is_worked_on(client: &Client, name: &str) {
    let infrastructure = json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimCluster", "name": name });
    let cluster = json!({ "metadata": { "name": name }, "spec": { "infrastructureRef": infrastructure } });
    let cluster: Cluster = serde_json::from_value(cluster).expect("it must be a Cluster");
    let clusters = Api::<Cluster>::default_namespaced(client.clone());
    clusters.create(&PostParams::default(), &cluster).await.expect("it must be created");
    let is_taken_on = async || {
        let cluster = clusters.get(name).await.expect("it must be there");
        cluster.metadata.finalizers.is_some_and(|own| own.contains(&"cluster.cluster.x-k8s.io".to_owned()))
    };
    until("somebody works on it", is_taken_on).await;
}

/// Two processes. `end` ends the first; the second takes over, and gives the Lease back when it is told to end.
async fn check_two(kubeconfig: &Path, end: impl FnOnce(Controller)) {
    let client = connect(kubeconfig).await;
    refit_plane::install(&client).await.expect("the definitions must be accepted");
    let first = Controller::start(kubeconfig);
    first.until_ready().await;
    until_led_by(&client, &first).await;
    let second = Controller::start(kubeconfig);
    second.until_ready().await;
    assert_eq!(first.page("/healthz"), (200, "ok".to_owned()));
    is_worked_on(&client, "one").await;
    let has_worked = |controller: &Controller| {
        let (code, metrics) = controller.page("/metrics");
        assert_eq!(code, 200);
        metrics.contains("controller_runtime_reconcile_total{controller=\"cluster\"")
    };
    until("the work is counted", async || has_worked(&first)).await;
    assert!(!has_worked(&second), "one acts");

    end(first);
    until_led_by(&client, &second).await;
    is_worked_on(&client, "two").await;
    assert_eq!(second.terminate(), Some(0));
    assert_eq!(leader(&client).await.unwrap_or_default(), "", "the lease is given back");
}

#[tokio::test]
async fn where_the_first_is_killed_the_second_takes_over() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    let _server = Running::start(folder.path());
    check_two(&folder.path().join("admin.kubeconfig"), drop).await;
}

#[tokio::test]
async fn where_the_first_is_ended_in_order_the_second_takes_over_on_a_real_server() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    check_two(plane.kubeconfig(), |first| assert_eq!(first.terminate(), Some(0))).await;
}

#[test]
fn what_keeps_it_from_starting_has_a_code_and_a_sentence() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    let check = |text: Option<&str>, more: &[&str], code: i32, sentence: &str| {
        let file = folder.path().join("kubeconfig");
        let _ = fs::remove_file(&file);
        text.into_iter().for_each(|text| fs::write(&file, text).expect("it must be written"));
        let output = command(&file).args(more).output().expect("refit must run");
        let said = String::from_utf8(output.stderr).expect("it must be text");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(sentence) && output.stdout.is_empty(), "{said}");
    };
    let unusable = format!("refit: the kubeconfig {} cannot be used: ", folder.path().join("kubeconfig").display());
    check(None, &[], 1, &unusable);
    check(Some("no: [kubeconfig"), &[], 1, &unusable);
    check(Some("apiVersion: v1\nkind: Config\ncurrent-context: x\n"), &[], 1, &unusable);
    let whole = "apiVersion: v1\nkind: Config\nclusters: [{ name: c, cluster: { server: 'https://127.0.0.1:1' } }]\n\
                 users: [{ name: u, user: {} }]\ncontexts: [{ name: x, context: { cluster: c, user: u } }]\n\
                 current-context: x\n";
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there must be a free port");
    let address = taken.local_addr().expect("it must have an address").to_string();
    check(Some(whole), &["--health-addr", &address], 7, &format!("cannot listen on {address}"));
    check(Some(whole), &["--health-addr", "nowhere"], 2, "invalid value 'nowhere'");
}
