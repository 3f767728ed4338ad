//! A control plane from its start to its end.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use refit_peers::{ControlPlane, Options, Peers, Program, require_peers};

use crate::processes::{eventually, running_in_group};

fn start(peers: &Peers, options: Options) -> ControlPlane {
    ControlPlane::start(peers, options).unwrap_or_else(|error| panic!("{}", refit_peers::chain(&error)))
}

/// Runs a command that must succeed, and gives what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program must run");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output must be text").trim().to_owned()
}

fn kubectl(control_plane: &ControlPlane, arguments: &[&str]) -> String {
    output(control_plane.kubectl().args(arguments))
}

#[test]
fn objects_are_kept_and_nothing_is_left_at_the_end() {
    let Some(peers) = require_peers() else { return };
    let control_plane = start(&peers, Options::default());
    kubectl(&control_plane, &["create", "namespace", "blue"]);
    assert_eq!(kubectl(&control_plane, &["get", "namespace", "blue", "-o", "name"]), "namespace/blue");

    let (group, folder) = (control_plane.process_group(), control_plane.folder().to_owned());
    let mut running = running_in_group(group);
    running.sort();
    assert_eq!(running, ["etcd", "kube-apiserver", "sh"]);
    drop(control_plane);
    assert_eq!(running_in_group(group), Vec::<String>::new());
    assert!(!folder.exists(), "{} must be gone", folder.display());
}

#[test]
fn two_control_planes_know_nothing_of_each_other() {
    let Some(peers) = require_peers() else { return };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| start(&peers, Options::default()));
        (start(&peers, Options::default()), other.join().expect("the other must start"))
    });
    kubectl(&one, &["create", "namespace", "blue"]);
    assert_eq!(kubectl(&other, &["get", "namespace", "blue", "--ignore-not-found"]), "");

    let mut stranger = one.kubectl();
    stranger.args(["--token", other.admin_token(), "get", "namespaces"]);
    assert!(!stranger.output().expect("kubectl must run").status.success());
}

#[test]
fn controllers_finish_a_deleted_namespace() {
    let Some(peers) = require_peers() else { return };
    if peers.path(Program::KubeControllerManager).is_none() {
        return; // The folder in KUBEBUILDER_ASSETS comes without.
    }
    let control_plane = start(&peers, Options { controllers: true, ..Options::default() });
    kubectl(&control_plane, &["create", "namespace", "blue"]);
    kubectl(&control_plane, &["delete", "namespace", "blue", "--timeout=180s"]);
    assert_eq!(kubectl(&control_plane, &["get", "namespace", "blue", "--ignore-not-found"]), "");
}

#[test]
fn credentials_are_for_the_owner_only_and_strangers_are_refused() {
    let Some(peers) = require_peers() else { return };
    let control_plane = start(&peers, Options::default());
    let mode = std::fs::metadata(control_plane.kubeconfig()).expect("there must be a kubeconfig").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(control_plane.ca_pem().matches("BEGIN CERTIFICATE").count(), 1);
    assert!(control_plane.url().starts_with("https://127.0.0.1:"));

    let user = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"];
    assert!(kubectl(&control_plane, &user).contains("system:masters"));
    let mut nobody = control_plane.kubectl();
    nobody.args(["--token", "wrong", "get", "namespaces"]);
    assert!(!nobody.output().expect("kubectl must run").status.success());
}

#[test]
fn service_account_tokens_are_issued_and_accepted_under_rbac() {
    let Some(peers) = require_peers() else { return };
    let control_plane = start(&peers, Options::default());
    eventually("there is a default namespace", || {
        control_plane.kubectl().args(["get", "namespace", "default"]).output().is_ok_and(|out| out.status.success())
    });
    kubectl(&control_plane, &["create", "serviceaccount", "robot", "-n", "default"]);
    let token = kubectl(&control_plane, &["create", "token", "robot", "-n", "default"]);

    let as_robot = |arguments: &[&str]| {
        let mut command = control_plane.kubectl();
        command.args(["--token", &token]).args(arguments).output().expect("kubectl must run")
    };
    let who = as_robot(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
    assert_eq!(String::from_utf8_lossy(&who.stdout), "system:serviceaccount:default:robot");
    let refused = as_robot(&["get", "secrets", "-n", "default"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Forbidden"), "{refused:?}");
}
