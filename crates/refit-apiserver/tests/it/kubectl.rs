//! The real kubectl against the embedded server.

mod applying;
mod cluster_api;
mod deleting;
mod discovering;
mod draining;
mod reading;
mod writing;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use refit_peers::{Program, require_peers};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::running::Running;

/// A resource with columns, status and scale.
const DEFINITION: &str = include_str!("kubectl/widgets.yaml");

/// kubectl with a home of its own, and the server that it talks to.
pub struct Kubectl {
    program: PathBuf,
    running: Running,
}

impl Kubectl {
    /// With widgets defined. `None`: there is no Go to build kubectl with, which was said.
    pub async fn start() -> Option<Self> {
        let program = require_peers()?.path(Program::Kubectl).expect("kubectl must be among the peers").to_owned();
        let kubectl = Self { program, running: Running::start().await };
        kubectl.given("create -f -", DEFINITION).await;
        Some(kubectl)
    }

    /// What a command prints that succeeds.
    pub async fn ok(&self, arguments: &str) -> String {
        self.given(arguments, "").await
    }

    /// What a command prints that reads this and succeeds.
    pub async fn given(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments}\n{errors}");
        String::from_utf8(output.stdout).expect("kubectl must print text")
    }

    /// Of what a command complains that fails.
    pub async fn fails(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input).await;
        assert!(!output.status.success(), "kubectl {arguments} must fail: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).expect("kubectl must print text")
    }

    async fn run(&self, arguments: &str, input: &str) -> Output {
        let mut child = self.command(arguments).spawn().expect("kubectl must start");
        let mut stdin = child.stdin.take().expect("there must be an input");
        stdin.write_all(input.as_bytes()).await.expect("kubectl must read its input");
        drop(stdin);
        child.wait_with_output().await.expect("kubectl must end")
    }

    /// A command that ends with this value.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments.split_whitespace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.running.file("home"))
            .env("KUBECONFIG", self.running.file("admin.kubeconfig"))
            .env("KUBE_EDITOR", "sed -i s/size:.3/size:\\ 4/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// A widget as YAML.
fn widget(name: &str, rest: &str) -> String {
    format!("apiVersion: example.io/v1\nkind: Widget\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\n{rest}\n")
}

/// Whether this is a time as kubectl shows it: `5s`, `2m`, `2m10s`.
fn is_age(word: &str) -> bool {
    let units = |letter: char| matches!(letter, 's' | 'm' | 'h');
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.ends_with(units)
        && word.chars().all(|letter| letter.is_ascii_digit() || units(letter))
}

/// The words of each line, so that the width of columns does not matter. Ages are the same for all.
fn rows(text: &str) -> Vec<String> {
    let word = |word| if is_age(word) { "<age>" } else { word };
    text.lines().map(|line| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")).collect()
}
