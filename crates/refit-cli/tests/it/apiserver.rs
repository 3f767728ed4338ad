//! `refit apiserver` as a process: signals, restarts, and what keeps it from starting.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use redb::{Database, TableDefinition};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A server that is killed when the test ends.
pub struct Running {
    process: Child,
    address: String,
}

fn command(folder: &Path, bind: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refit"));
    command.args(["apiserver", "--bind", bind, "--data-dir"]).arg(folder).stderr(Stdio::piped());
    command
}

impl Running {
    pub fn start(folder: &Path) -> Self {
        let mut process = command(folder, "127.0.0.1:0").spawn().expect("refit must run");
        let lines = BufReader::new(process.stderr.take().expect("it must be piped")).lines();
        let said: Vec<String> = lines.map_while(Result::ok).take(3).collect();
        let address = said[0].strip_prefix("refit: listening on https://").expect("it must say where").to_owned();
        Self { process, address }
    }

    async fn maps(&self, folder: &Path) -> Api<ConfigMap> {
        let kubeconfig = Kubeconfig::read_from(folder.join("admin.kubeconfig")).expect("it must be written");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let config = config.expect("it must be a whole kubeconfig");
        Api::default_namespaced(Client::try_from(config).expect("there must be a client"))
    }

    fn terminate(&self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("the signal must be sent");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes objects until the server is gone, and returns the names of those it acknowledged. Ends the server on the way.
async fn write_until_gone(running: &Running, maps: &Api<ConfigMap>, end_after: usize) -> BTreeSet<String> {
    let mut acknowledged = BTreeSet::new();
    let mut map = ConfigMap::default();
    map.metadata.generate_name = Some("x-".to_owned());
    while let Ok(made) = maps.create(&PostParams::default(), &map).await {
        acknowledged.insert(made.name_any());
        if acknowledged.len() == end_after {
            running.terminate();
        }
    }
    acknowledged
}

#[tokio::test]
async fn a_signal_in_the_middle_of_writes_loses_none_that_was_acknowledged() {
    let folder = TempDir::new().unwrap();
    let mut running = Running::start(folder.path());
    let maps = running.maps(folder.path()).await;
    let acknowledged = write_until_gone(&running, &maps, 20).await;
    assert_eq!(running.process.wait().unwrap().code(), Some(0));
    let again = Running::start(folder.path());
    let list = again.maps(folder.path()).await.list(&ListParams::default()).await.expect("it must serve again");
    let there: BTreeSet<String> = list.iter().map(ResourceExt::name_any).collect();
    assert!(acknowledged.len() >= 20 && there.is_superset(&acknowledged), "{acknowledged:?} {there:?}");
}

#[test]
fn what_keeps_it_from_starting_has_a_code_and_a_sentence() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let running = Running::start(folder.path());
    let check = |folder: &Path, bind: &str, code: i32, sentence: &str| {
        let output = command(folder, bind).output().expect("refit must run");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(sentence) && output.stdout.is_empty(), "{said}");
    };
    check(folder.path(), "127.0.0.1:0", 8, &format!("is in use by process {}", running.process.id()));
    check(other.path(), &running.address, 7, &format!("cannot listen on {}", running.address));
    check(Path::new("/dev/null/folder"), "127.0.0.1:0", 1, "folder /dev/null/folder cannot be used");
    let newer = TempDir::new().unwrap();
    drop(Running::start(newer.path()));
    write_format(newer.path(), 1_000);
    check(newer.path(), "127.0.0.1:0", 9, "has format 1000, this program knows 1");
    check(other.path(), "nowhere", 2, "invalid value 'nowhere'");
}

/// Makes the folder one of another version of the program.
fn write_format(folder: &Path, format: u64) {
    let database = Database::open(folder.join("store.redb")).expect("the file must open");
    let transaction = database.begin_write().expect("it must be writable");
    let mut meta = transaction.open_table(TableDefinition::<&str, u64>::new("meta")).expect("there must be a table");
    meta.insert("format", format).expect("it must be written");
    drop(meta);
    transaction.commit().expect("it must be written");
}
