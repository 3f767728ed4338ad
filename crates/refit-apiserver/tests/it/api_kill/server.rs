//! The process that is killed: this test program, run as a server.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_apiserver::standalone::{self, Options};

const FOLDER: &str = "REFIT_TEST_API_FOLDER";
const STARTED: &str = "kubeconfig: ";
const REFUSED: &str = "refused: ";

/// A server that answers. It is killed with this value at the latest.
pub struct Server {
    process: Child,
    kubeconfig: String,
}

impl Server {
    pub async fn start(folder: &Path) -> Self {
        Self::try_start(folder).unwrap_or_else(|words| panic!("the server must start: {words}"))
    }

    /// The words with which it does not start, if it does not.
    pub fn try_start(folder: &Path) -> Result<Self, String> {
        let test = ["--exact", "api_kill::server::serves_until_it_is_killed", "--ignored", "--nocapture"];
        let mut command = Command::new(std::env::current_exe().expect("the program must know itself"));
        command.args(test).env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the server must start");
        let lines = BufReader::new(process.stdout.take().expect("it must be piped")).lines();
        let mut said = lines.map_while(Result::ok).filter_map(|line| outcome(&line));
        match said.next().unwrap_or_else(|| Err("it ended without a word".to_owned())) {
            Ok(kubeconfig) => Ok(Self { process, kubeconfig }),
            Err(words) => {
                let _ = process.wait();
                Err(words)
            }
        }
    }

    /// A client that takes every failure as it comes.
    pub async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).expect("the kubeconfig must be written");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.expect("it must be a whole kubeconfig");
        config.default_retry = false;
        Client::try_from(config).expect("there must be a client")
    }

    /// The most memory that it has taken up so far.
    pub fn peak_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it must run");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it must be counted");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("it must be a number") * 1024
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The kubeconfig of a server that has started, or why it has not.
fn outcome(line: &str) -> Option<Result<String, String>> {
    let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest.to_owned());
    after(STARTED).map(Ok).or_else(|| after(REFUSED).map(Err))
}

#[test]
#[ignore = "this is the process that the other test kills"]
fn serves_until_it_is_killed() {
    let data_dir = std::env::var_os(FOLDER).expect("the killing test must name a folder").into();
    let bind = ([127, 0, 0, 1], 0).into();
    let options = Options { data_dir, bind, names: Vec::new(), in_memory: false, with_crds: false, audit_log: None };
    let outcome = standalone::run(&options, |started| println!("{STARTED}{}", started.kubeconfig.display()));
    if let Err(error) = outcome {
        println!("{REFUSED}{}", refit_peers::chain(&error));
    }
}
