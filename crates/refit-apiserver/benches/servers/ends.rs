//! The two servers, each in processes of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_apiserver::standalone::{self, Options};
use refit_peers::{ControlPlane, require_peers};
use tempfile::TempDir;

/// With this set the program is the embedded server over the folder that it names.
pub const FOLDER: &str = "REFIT_BENCH_FOLDER";
/// How often the server that starts is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
const PAGE_BYTES: usize = 4096;

/// A server that is measured.
pub trait End {
    fn kubeconfig(&self) -> PathBuf;

    /// From the start of the process to the first `ok` of `/readyz`.
    fn ready_after(&self) -> Duration;

    /// The memory of all its processes.
    fn resident_bytes(&self) -> usize;

    /// A new client, with a connection of its own.
    fn client(&self) -> impl Future<Output = Client> {
        let path = self.kubeconfig();
        async move { client(&path).await.expect("the kubeconfig must be whole") }
    }
}

/// `refit apiserver` with a durable folder.
pub struct Embedded {
    process: Child,
    folder: TempDir,
    ready_after: Duration,
}

impl Embedded {
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a folder must be made");
        let program = std::env::current_exe().expect("the program must know itself");
        let start = Instant::now();
        let process = Command::new(program).env(FOLDER, folder.path()).spawn().expect("the server must start");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime must start").block_on(until_ready(&kubeconfig_in(folder.path())));
        Self { process, ready_after: start.elapsed(), folder }
    }
}

impl End for Embedded {
    fn kubeconfig(&self) -> PathBuf {
        kubeconfig_in(self.folder.path())
    }

    fn ready_after(&self) -> Duration {
        self.ready_after
    }

    fn resident_bytes(&self) -> usize {
        resident(self.process.id())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// kube-apiserver and etcd, which syncs.
pub struct Real {
    plane: ControlPlane,
    ready_after: Duration,
}

impl Real {
    /// `None`: there is no Go to build them with, which was said.
    pub fn start() -> Option<Self> {
        let peers = require_peers()?;
        let start = Instant::now();
        let options = refit_peers::Options { durable: true, ..Default::default() };
        let plane = ControlPlane::start(&peers, options).expect("a control plane must start");
        Some(Self { plane, ready_after: start.elapsed() })
    }
}

impl End for Real {
    fn kubeconfig(&self) -> PathBuf {
        self.plane.kubeconfig().to_owned()
    }

    fn ready_after(&self) -> Duration {
        self.ready_after
    }

    fn resident_bytes(&self) -> usize {
        processes_of(self.plane.process_group()).into_iter().map(resident).sum()
    }
}

/// Is the embedded server until it is killed.
pub fn serve(data_dir: PathBuf) {
    let bind = ([127, 0, 0, 1], 0).into();
    let options = Options { data_dir, bind, names: Vec::new(), in_memory: false, with_crds: false, audit_log: None };
    standalone::run(&options, |_| {}).expect("the server must run");
}

fn kubeconfig_in(folder: &Path) -> PathBuf {
    folder.join("admin.kubeconfig")
}

async fn client(kubeconfig: &Path) -> Option<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).ok()?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.ok()?;
    config.default_retry = false;
    Client::try_from(config).ok()
}

async fn until_ready(kubeconfig: &Path) {
    loop {
        if let Some(client) = client(kubeconfig).await {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("it must be a request");
            if client.request_text(request).await.is_ok() {
                return;
            }
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn resident(process: u32) -> usize {
    let pages = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or_default() * PAGE_BYTES
}

fn processes_of(group: i32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| group_of(*id) == Some(group)).collect()
}

/// The third field behind the name, which stands in parentheses and may hold anything.
fn group_of(process: u32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}
