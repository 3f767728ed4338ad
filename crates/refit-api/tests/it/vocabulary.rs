//! The vocabulary: every name once, in the right form, and spelled as upstream spells it.

use std::collections::BTreeSet;
use std::path::Path;

use refit_api::admission::names;
use refit_peers::{ClusterApi, require_cluster_api_module};

/// Names that upstream's source does not spell out, and why.
const SPELLED_ELSEWHERE: &[&str] = &[
    // Put together from a prefix and the rest.
    "cluster.x-k8s.io/v1beta1",
    "cluster.x-k8s.io/v1beta2",
    "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup",
    // Kubernetes' own.
    "before-first-apply",
    "kubectl.kubernetes.io/last-applied-configuration",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/unreachable",
    // The name of the binary.
    "manager",
    // Upstream's records no events; ours is named as its others are.
    "kubeadmconfig-controller",
    // No longer in the release that the names are compared with.
    "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration",
];

/// The values of the constants in a file of the vocabulary.
fn names_in(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/vocabulary").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let values = text.split("&str =").skip(1).filter_map(|rest| rest.split('"').nth(1));
    let values: Vec<String> = values.map(str::to_owned).collect();
    assert!(!values.is_empty(), "{file} has no names");
    values
}

const UPSTREAM: &[&str] = &[
    "annotations.rs",
    "condition_types.rs",
    "events.rs",
    "finalizers.rs",
    "labels.rs",
    "managers.rs",
    "reasons.rs",
    "taints.rs",
];
const REFIT: &[&str] = &["refit/annotations.rs", "refit/condition_types.rs", "refit/events.rs", "refit/reasons.rs"];

#[test]
fn no_name_is_written_twice() {
    for file in UPSTREAM.iter().chain(REFIT) {
        let names = names_in(file);
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(names.len(), distinct.len(), "{file}");
    }
}

#[test]
fn keys_are_what_kubernetes_accepts_as_keys() {
    for file in ["labels.rs", "annotations.rs", "finalizers.rs", "taints.rs", "refit/annotations.rs"] {
        for name in names_in(file) {
            assert_eq!(names::qualified_name_problem(name.trim_end_matches('/')), None, "{file}: {name}");
        }
    }
}

#[test]
fn what_refit_adds_is_marked_as_its_own() {
    for file in ["refit/annotations.rs", "refit/condition_types.rs"] {
        for name in names_in(file) {
            assert!(name.starts_with("refit.dev/"), "{file}: {name}");
        }
    }
}

#[test]
fn every_name_of_upstream_is_in_its_source() {
    let modules = [ClusterApi::Controllers, ClusterApi::Types].map(require_cluster_api_module);
    let [Some(controllers), Some(types)] = modules else { return };
    let known: BTreeSet<String> = [controllers, types].iter().flat_map(|module| quoted_strings(module)).collect();
    let names = UPSTREAM.iter().flat_map(|file| names_in(file));
    let unknown: Vec<String> = names
        .filter(|name| !SPELLED_ELSEWHERE.contains(&name.as_str()))
        .filter(|name| !known.contains(name.trim_end_matches('/')) && !known.contains(name))
        .collect();
    assert!(unknown.is_empty(), "not in upstream's source: {unknown:#?}");
}

/// Every string literal in the Go files under a folder, tests left out.
fn quoted_strings(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a module must be readable") {
            let path = entry.expect("a module must be readable").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".go") && !name.ends_with("_test.go") {
                let text = std::fs::read_to_string(&path).expect("Go source must be UTF-8");
                found.extend(text.lines().flat_map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned)));
            }
        }
    }
    found
}
