//! What is rendered is what is read: by our own decoder, by kubectl, and by kube-apiserver.

use std::path::Path;
use std::process::Command;

use refit_peers::{ControlPlane, Options};
use serde_json::json;

use super::*;

/// Strings that a decoder could take for something else, in YAML 1.1 or 1.2.
const TRICKY: &[&str] = &[
    "", " ", "~", "null", "true", "yes", "no", "on", "off", "y", "n", "1", "1.0", "1e3", "0x1f", "0o17", "017", "0b1",
    "1_000", "12:30:45", ".inf", ".5", "=", "<<", "- a", "? a", "a: b", "a #b", "#a", "*a", "&a", "!a", "@a", "`a`",
    "%a", "[a]", "{a}", "'a'", "\"a\"", "a\\d", "a\nb\n", "\ta", "a ", "---",
];

/// An object that holds every tricky string, and long ones.
fn tricky_object() -> Value {
    let mut data: BTreeMap<String, String> =
        TRICKY.iter().enumerate().map(|(index, text)| (format!("s{index}"), (*text).to_owned())).collect();
    data.insert("date".to_owned(), "2026-01-01".to_owned());
    data.insert("pattern".to_owned(), r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$".to_owned());
    data.insert("long".to_owned(), format!("{}  {}", "word ".repeat(60), "w".repeat(300)));
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "tricky" }, "data": data })
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn write_all(folder: &Path) {
    for (name, content) in files() {
        std::fs::write(folder.join(name), content).unwrap();
    }
}

#[test]
fn every_crd_decodes_to_what_it_was_made_from() {
    for crd in refit_api::crd::all() {
        let decoded: Value = serde_saphyr::from_str(&render(&crd)).unwrap();
        assert_eq!(decoded, crd, "{}", file_name(&crd));
    }
}

#[test]
fn tricky_strings_stay_strings() {
    let decoded: Value = serde_saphyr::from_str(&render(&tricky_object())).unwrap();
    assert_eq!(decoded, tricky_object());
}

#[test]
fn kubectl_and_kube_apiserver_read_what_was_rendered() {
    let Some(peers) = refit_peers::require_peers() else { return };
    let control_plane = ControlPlane::start(&peers, Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();

    let file = folder.path().join("tricky.yaml");
    std::fs::write(&file, render(&tricky_object())).unwrap();
    let read = output(control_plane.kubectl().args(["create", "--dry-run=client", "-o", "json", "-f"]).arg(&file));
    let read: Value = serde_json::from_str(&read).unwrap();
    assert_eq!(read["data"], tricky_object()["data"]);

    std::fs::remove_file(&file).unwrap();
    write_all(folder.path());
    output(control_plane.kubectl().args(["create", "-f"]).arg(folder.path()));
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    let established = output(control_plane.kubectl().args(wait));
    assert_eq!(established.lines().count(), refit_api::crd::all().len(), "{established}");
}
