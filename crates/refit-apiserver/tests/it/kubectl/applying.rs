//! Apply: on the side of the client, and of the server.

use std::collections::BTreeSet;

use super::{Kubectl, widget};

const SPEC: &str = "jsonpath={.spec}";

#[tokio::test(flavor = "multi_thread")]
async fn client_side_apply_creates_changes_and_prunes_fields() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let apply = async |rest: &str| kubectl.given("apply -f -", &widget("a", rest)).await;
    assert_eq!(apply("spec: {size: 3, color: red}").await, "widget.example.io/a created\n");
    assert_eq!(apply("spec: {size: 3, color: red}").await, "widget.example.io/a unchanged\n");
    assert_eq!(apply("spec: {size: 4}").await, "widget.example.io/a configured\n");
    assert_eq!(kubectl.ok(&format!("get wi a -o {SPEC}")).await, "{\"size\":4}");
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {data}\n");
    kubectl.given("apply -f -", &map("{a: '1', b: '2'}")).await;
    kubectl.given("apply -f -", &map("{a: '3'}")).await;
    assert_eq!(kubectl.ok("get cm m -o jsonpath={.data}").await, "{\"a\":\"3\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_owns_fields() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let apply = "apply --server-side -f - --field-manager=m1";
    let made = kubectl.given(apply, &widget("a", "spec: {size: 3, color: red, parts: [{name: x, weight: 1}]}")).await;
    assert_eq!(made, "widget.example.io/a serverside-applied\n");
    kubectl.given(apply, &widget("a", "spec: {size: 3, parts: [{name: x, weight: 2}]}")).await;
    let expected = "{\"parts\":[{\"name\":\"x\",\"weight\":2}],\"size\":3}";
    assert_eq!(kubectl.ok(&format!("get wi a -o {SPEC}")).await, expected, "color is owned by nobody and goes");
    let other = "apply --server-side -f - --field-manager=m2";
    let conflict = kubectl.fails(other, &widget("a", "spec: {size: 9}")).await;
    assert!(conflict.contains("conflict with \"m1\": .spec.size"), "{conflict}");
    kubectl.given(&format!("{other} --force-conflicts"), &widget("a", "spec: {size: 9}")).await;
    assert_eq!(kubectl.ok("get wi a -o jsonpath={.spec.size}").await, "9");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_moves_from_client_side_to_server_side_apply() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.given("apply -f -", &widget("a", "spec: {size: 3, color: red}")).await;
    kubectl.given("apply --server-side -f -", &widget("a", "spec: {size: 4}")).await;
    assert_eq!(kubectl.ok(&format!("get wi a -o {SPEC}")).await, "{\"size\":4}");
    let managers = kubectl.ok("get wi a --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}").await;
    // They are in the order of the seconds in which they wrote.
    let managers: BTreeSet<&str> = managers.split_whitespace().collect();
    assert_eq!(managers, BTreeSet::from(["kubectl", "kubectl-last-applied"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_and_dry_run_change_nothing() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.given("apply -f -", &widget("a", "spec: {size: 3}")).await;
    let differing = kubectl.run("diff -f -", &widget("a", "spec: {size: 4}")).await;
    let text = String::from_utf8_lossy(&differing.stdout).into_owned();
    assert_eq!(differing.status.code(), Some(1), "{text} {}", String::from_utf8_lossy(&differing.stderr));
    assert!(text.contains("-  size: 3\n+  size: 4\n"), "{text}");
    kubectl.given("diff -f -", &widget("a", "spec: {size: 3}")).await;
    kubectl.given("apply --dry-run=server -f -", &widget("a", "spec: {size: 5}")).await;
    assert_eq!(kubectl.ok("get wi a -o jsonpath={.spec.size}").await, "3");
}
