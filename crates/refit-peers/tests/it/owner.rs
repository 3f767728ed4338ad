//! An owner that is killed outright takes its servers along.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use refit_peers::require_peers;

use crate::processes::{eventually, running_in_group};

/// A process that owns a control plane.
struct Owner {
    process: Child,
    kubeconfig: PathBuf,
    group: i32,
}

fn start_owner() -> Owner {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refit-peers"));
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the owner must start");
    let mut lines = BufReader::new(process.stdout.take().expect("stdout must be a pipe"));
    let kubeconfig = line_after(&mut lines, "KUBECONFIG=").into();
    let group = line_after(&mut lines, "process group ").parse().expect("the group must be a number");
    Owner { process, kubeconfig, group }
}

fn line_after(lines: &mut BufReader<ChildStdout>, prefix: &str) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).expect("the owner must print");
    line.trim().strip_prefix(prefix).unwrap_or_else(|| panic!("expected {prefix}…, got {line:?}")).to_owned()
}

fn check_nothing_is_left(owner: &Owner) {
    let folder = owner.kubeconfig.parent().expect("the kubeconfig must be in a folder");
    eventually("no server runs", || running_in_group(owner.group).is_empty());
    eventually("the folder is gone", || !folder.exists());
}

#[test]
fn killed_owner_leaves_nothing() {
    if require_peers().is_none() {
        return;
    }
    let mut owner = start_owner();
    let running = running_in_group(owner.group);
    assert!(["etcd", "kube-apiserver"].iter().all(|name| running.iter().any(|other| other == name)), "{running:?}");
    owner.process.kill().expect("the owner must be there to be killed");
    owner.process.wait().expect("the owner must end");
    check_nothing_is_left(&owner);
}

#[test]
fn owner_that_ends_by_itself_leaves_nothing() {
    if require_peers().is_none() {
        return;
    }
    let mut owner = start_owner();
    drop(owner.process.stdin.take());
    assert!(owner.process.wait().expect("the owner must end").success());
    check_nothing_is_left(&owner);
}
