//! What a person sees of a rollout with kubectl alone: columns and events, as they come.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use refit_peers::{Program, require_peers};
use refit_plane::sample::{self, Host, Workers as Sample};
use refit_plane::{Backend, EmbeddedOptions, Example, Workers};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// How long one step may take on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(90);
const EVERY: Duration = Duration::from_millis(50);
/// So many times each host refuses its change. One retry is not enough; whoever then asks for another try gets it.
const REFUSALS: i32 = 2;

/// The extension fails for each of two machines, until somebody asks for another try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_and_events_tell_of_a_rollout_that_fails_and_is_mended() {
    let Some(peers) = require_peers() else { return };
    let program = peers.path(Program::Kubectl).expect("kubectl must be among the peers").to_owned();
    let backend = Backend::embedded(&EmbeddedOptions::default()).await.expect("the server must start");
    let workers = Workers::start(&backend, &[Example::Memory]).await.expect("the controllers must start");
    let kubectl = Kubectl { program, kubeconfig: backend.kubeconfig().to_owned() };
    let client = backend.client().await.expect("there must be a client");
    create(&client).await;
    kubectl.run("wait md/workers --for=jsonpath={.status.availableReplicas}=2 --timeout=90s");
    let machines = names(&kubectl.run("get machines -o name"));
    let [deployments, sets, listed] = ["md", "ms", "ma"].map(|kind| kubectl.watch(kind));
    let (rollouts, events) = (kubectl.watch("mro"), kubectl.watch("events"));
    for stream in [&deployments, &sets, &listed, &events] {
        stream.until("", "it has begun").await;
    }

    let began = Instant::now();
    wish_more_memory(&client, &kubectl).await;
    for updated in 0..2 {
        // Two machines, none being updated, one failed: it stands still until somebody does something.
        let stands = format!("workers InPlace Blocked 2 {updated} 0 {} 1", 1 - updated);
        let row = rollouts.until(&stands, "the rollout is blocked").await;
        assert!(row.contains("uses up the budget (update-machine.memory: the simulated host refused"), "{row}");
        let failed = machines.iter().find(|name| row.contains(*name)).expect("the machine must be named");
        listed.until(&format!("{failed} demo {failed} False False False Updating"), "it is not ready").await;
        let failures = kubectl.run("get mro -o jsonpath={.items[0].status.failures}");
        let failures: Value = serde_json::from_str(&failures).expect("it must be JSON");
        let expected = json!({ "machine": failed, "attempts": 2, "extension": "memory" });
        for (field, value) in expected.as_object().expect("it is an object") {
            assert_eq!(failures[0][field], *value, "{failures}");
        }
        let waiting = kubectl.run("get mro -o jsonpath={.items[0].status.waiting[*].machine}");
        let others: Vec<&str> = machines.iter().filter(|name| *name != failed).map(String::as_str).collect();
        assert_eq!(waiting.split_whitespace().collect::<Vec<_>>(), others[updated..], "who is done waits no more");
        kubectl.run("annotate machines --all refit.dev/update-failed-");
    }
    rollouts.until("workers InPlace Completed 2 2 0 0 0", "the rollout is over").await;
    let writes = rollouts.rows().len();

    for machine in &machines {
        check_machine(&events, machine).await;
        listed.until(&format!("{machine} demo {machine} True True True Running"), "it is ready").await;
    }
    check_deployment(&events).await;
    deployments.until("workers demo True 2 2 1 1 0 Running", "one of two is away").await;
    deployments.until("workers demo True 2 2 2 2 2 Running", "all are there").await;
    // A rollout is named after its MachineSet and a number.
    let rollout = rollouts.rows()[1].split(' ').next().expect("it must have a name").to_owned();
    let (set, _) = rollout.rsplit_once('-').expect("it must have a number");
    sets.until(&format!("{set} demo 2 2 2 2 2"), "the new one has all machines").await;
    let most = began.elapsed().as_secs() + 6;
    assert!(writes as u64 <= most, "about one a second, once it is decided: {writes} of {most}");
    workers.stop().await;
    backend.stop().await;
}

/// Each try that failed, that it was given up, and one event for the end.
async fn check_machine(events: &Stream, machine: &str) {
    let said = |reason: &str, words: &str| format!("{reason} machine/{machine} {words}");
    let refused = "update-machine.memory: the simulated host refused the change, as it was told to:";
    events.until(&said("Warning FailedInPlaceUpdateAttempt", &format!("{refused} 1 of 2")), "it failed").await;
    let given_up = format!("given up after 2 tries: {refused} 2 of 2");
    events.until(&said("Warning FailedInPlaceUpdate", &given_up), "it was given up").await;
    events.until(&said("Normal SuccessfulInPlaceUpdate", "updated in place by memory"), "it is done").await;
    // That it begins is told only of an update that takes a while.
    let is_told = |row: &String| row.contains("InPlaceUpdate") && !row.contains("SuccessfulStart");
    let of_machine = format!("machine/{machine} ");
    let told = events.rows().into_iter().filter(|row| is_told(row) && row.contains(&of_machine));
    assert_eq!(told.count(), 3, "{:#?}", events.rows());
}

/// What becomes of the rollout as a whole.
async fn check_deployment(events: &Stream) {
    let said = |reason: &str, words: &str| format!("{reason} machinedeployment/workers {words}");
    let changes = "spec.template.spec.memory from 8Gi to 16Gi by can-update-machineset.memory";
    let decided = format!("machines are updated in place: {changes}");
    events.until(&said("Normal RolloutStarted", "Rolling out to MachineSet workers-"), "it began").await;
    events.until(&said("Normal RolloutDecided", &decided), "it was decided").await;
    events.until(&said("Warning RolloutBlocked", "the update of machine workers-"), "it was blocked").await;
    events.until(&said("Normal RolloutCompleted", "All machines are up-to-date"), "it is over").await;
}

fn sample() -> Sample {
    let host = Host { update_seconds: 0, ..Host::default() };
    Sample { replicas: 2, policy: Some("Require"), host, ..Sample::default() }
}

/// Machines whose hosts refuse changes at first.
async fn create(client: &Client) {
    for mut object in sample().objects() {
        if object["kind"] == "SimMachineTemplate" {
            object["spec"]["template"]["spec"]["failures"] = json!({ "update": REFUSALS });
        }
        if object["kind"] == "MachineDeployment" {
            object["metadata"]["annotations"]["refit.dev/update-retries"] = json!("1");
        }
        sample::apply(client, &object).await.expect("the sample must be accepted");
    }
}

async fn wish_more_memory(client: &Client, kubectl: &Kubectl) {
    let host = Host { memory: "16Gi".to_owned(), ..sample().host };
    let mut template = sample().machine_template(&host);
    template["spec"]["template"]["spec"]["failures"] = json!({ "update": REFUSALS });
    sample::apply(client, &template).await.expect("a template must be accepted");
    let patch = json!({ "spec": { "template": { "spec": { "infrastructureRef": { "name": host.template() } } } } });
    kubectl.run(&format!("patch md workers --type=merge --patch={patch}"));
}

fn names(listed: &str) -> Vec<String> {
    listed.lines().filter_map(|line| line.rsplit('/').next()).map(str::to_owned).collect()
}

struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// What a command prints that succeeds. No argument has a blank in it.
    fn run(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().expect("kubectl must start");
        assert!(output.status.success(), "kubectl {arguments}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("kubectl must print text")
    }

    /// What is printed of objects of a kind from now on.
    fn watch(&self, kind: &str) -> Stream {
        let mut child = self.command(&format!("get {kind} -w")).spawn().expect("kubectl must start");
        let output = BufReader::new(child.stdout.take().expect("there must be an output"));
        let rows = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&rows);
        // Ends with the output, and that with the process.
        std::thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| locked(&to).push(row(&line))));
        Stream { child, rows }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments.split(' '))
            .env_clear()
            .env("HOME", self.kubeconfig.parent().unwrap_or(Path::new("/")))
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A kubectl that watches, and the rows that it has printed, the header first.
struct Stream {
    child: Child,
    rows: Arc<Mutex<Vec<String>>>,
}

impl Stream {
    fn rows(&self) -> Vec<String> {
        locked(&self.rows).clone()
    }

    /// Waits for a row that has this in it, and returns it.
    async fn until(&self, part: &str, what: &str) -> String {
        let began = Instant::now();
        loop {
            if let Some(row) = self.rows().into_iter().find(|row| row.contains(part)) {
                return row;
            }
            assert!(began.elapsed() < LIMIT, "it takes too long until {what}: {part:?} in {:#?}", self.rows());
            sleep(EVERY).await;
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The words of a line, as the width of columns does not matter.
fn row(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn locked(rows: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}
