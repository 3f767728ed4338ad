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
    check(newer.path(), "127.0.0.1:0", 9, "has format 1000, this program knows 2");
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

fn data(arguments: &[&std::ffi::OsStr]) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_refit")).arg("apiserver").args(arguments).output().expect("it must run");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What is acknowledged before the backup begins is in it; what it holds was acknowledged, or on its way, at one version.
#[tokio::test]
async fn a_backup_made_under_load_restores_to_one_consistent_state() {
    let parent = TempDir::new().expect("there must be a temporary folder");
    let (folder, file, restored) =
        (parent.path().join("data"), parent.path().join("b.jsonl"), parent.path().join("new"));
    let running = Running::start(&folder);
    let maps = running.maps(&folder).await;
    let counter = |name: &str| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        map.data = Some([("n".to_owned(), "0".to_owned())].into());
        map
    };
    // One writer counts up a, then b, then a again: in every consistent state a is as far as b, or one further.
    for name in ["a", "b"] {
        maps.create(&PostParams::default(), &counter(name)).await.expect("it must be made");
    }
    let patch = |number: u32| kube::api::Patch::Merge(serde_json::json!({"data": {"n": number.to_string()}}));
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (enough, mut is_enough) = tokio::sync::oneshot::channel::<()>();
    let writer = tokio::spawn({
        let maps = maps.clone();
        async move {
            let mut begun = Some(begun);
            for number in 1.. {
                for name in ["a", "b"] {
                    maps.patch(name, &kube::api::PatchParams::default(), &patch(number))
                        .await
                        .expect("it must be written");
                }
                if number == 10
                    && let Some(begun) = begun.take()
                {
                    let _ = begun.send(());
                }
                if number > 10 && is_enough.try_recv().is_ok() {
                    break;
                }
            }
        }
    });
    has_begun.await.expect("it must get to write");
    let arguments = ["backup".as_ref(), "--data-dir".as_ref(), folder.as_os_str(), "--to".as_ref(), file.as_os_str()];
    let made = tokio::task::spawn_blocking({
        let arguments: Vec<std::ffi::OsString> = arguments.iter().map(|part| (*part).to_owned()).collect();
        move || data(&arguments.iter().map(std::ffi::OsString::as_os_str).collect::<Vec<_>>())
    });
    let (code, said) = made.await.expect("it must run");
    assert_eq!(code, Some(0), "{said}");
    let _ = enough.send(());
    writer.await.expect("the writer must end well");
    let (code, said) = data(&["verify".as_ref(), folder.as_os_str()]);
    assert_eq!(code, Some(8), "a folder in use is not verified: {said}");
    drop(running);
    for path in [&file, &folder] {
        let (code, said) = data(&["verify".as_ref(), path.as_os_str()]);
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) =
        data(&["restore".as_ref(), "--from".as_ref(), file.as_os_str(), "--data-dir".as_ref(), folder.as_os_str()]);
    assert_eq!(code, Some(1), "a store is not written over: {said}");
    let (code, said) =
        data(&["restore".as_ref(), "--from".as_ref(), file.as_os_str(), "--data-dir".as_ref(), restored.as_os_str()]);
    assert_eq!(code, Some(0), "{said}");
    let authority = |folder: &Path| std::fs::read(folder.join("pki/ca.key")).expect("there must be an authority");
    assert_eq!(authority(&folder), authority(&restored), "the kubeconfigs that were given out must go on working");
    let running = Running::start(&restored);
    let maps = running.maps(&restored).await;
    let count = async |name: &str| -> u32 {
        let map = maps.get(name).await.expect("it must be there");
        map.data.expect("it must hold something")["n"].parse().expect("it must be a number")
    };
    let (a, b) = (count("a").await, count("b").await);
    assert!(b >= 10 && (a == b || a == b + 1), "a is {a} and b is {b}");
    let list = maps.list(&ListParams::default()).await.expect("it must be listed");
    let version: u64 = list.metadata.resource_version.expect("a list has a version").parse().expect("a number");
    assert!(version > 1_000_000_000, "no version that anybody has seen may be given out again: {version}");
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let parent = TempDir::new().expect("there must be a temporary folder");
    let (folder, file, restored) =
        (parent.path().join("data"), parent.path().join("b.jsonl"), parent.path().join("new"));
    drop(Running::start(&folder));
    let (code, said) =
        data(&["backup".as_ref(), "--data-dir".as_ref(), folder.as_os_str(), "--to".as_ref(), file.as_os_str()]);
    assert_eq!(code, Some(0), "{said}");
    let mut bytes = std::fs::read(&file).expect("it must be written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("it must be written");
    let (code, said) =
        data(&["restore".as_ref(), "--from".as_ref(), file.as_os_str(), "--data-dir".as_ref(), restored.as_os_str()]);
    assert_eq!(code, Some(9), "{said}");
    assert!(!restored.exists(), "nothing must be made of it");
}
