//! Deleting: at once, after dependents, without them, and waiting for it.

use super::{Kubectl, widget};

/// Config maps `owner` and `dependent`, of which the first owns the second.
async fn family(kubectl: &Kubectl) {
    kubectl.ok("create configmap owner").await;
    let uid = kubectl.ok("get cm owner -o jsonpath={.metadata.uid}").await;
    let owner = format!("{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, blockOwnerDeletion: true}}");
    let dependent =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dependent\n  ownerReferences: [{owner}]\n");
    kubectl.given("create -f -", &dependent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_go_as_the_policy_says() {
    let Some(kubectl) = Kubectl::start().await else { return };
    for policy in ["background", "foreground"] {
        family(&kubectl).await;
        let said = kubectl.ok(&format!("delete cm owner --cascade={policy}")).await;
        assert_eq!(said.trim_end(), "configmap \"owner\" deleted from default namespace");
        kubectl.ok("wait --for=delete cm/dependent --timeout=180s").await;
        assert_eq!(kubectl.ok("get cm -o name").await, "", "{policy}");
    }
    family(&kubectl).await;
    kubectl.ok("delete cm owner --cascade=orphan").await;
    assert_eq!(kubectl.ok("get cm -o jsonpath={.items[*].metadata.name}").await, "dependent");
    assert_eq!(kubectl.ok("get cm dependent -o jsonpath={.metadata.ownerReferences}").await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_with_its_contents() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.ok("create namespace more").await;
    kubectl.ok("create configmap c -n more").await;
    kubectl.given("create -n more -f -", &widget("a", "spec: {size: 3}")).await;
    assert_eq!(kubectl.ok("delete namespace more").await, "namespace \"more\" deleted\n");
    assert!(kubectl.fails("get namespace more", "").await.contains("(NotFound)"));
    assert_eq!(kubectl.ok("get cm,wi -A -o name").await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_with_a_finalizer_is_waited_for() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.given("create -f -", &widget("a", "spec: {size: 3}")).await;
    kubectl.ok(r#"patch wi a --type=merge -p {"metadata":{"finalizers":["example.io/wait"]}}"#).await;
    kubectl.ok("delete wi a --wait=false").await;
    assert!(kubectl.fails("wait --for=delete wi/a --timeout=1s", "").await.contains("timed out"));
    let mut waiting = kubectl.command("delete wi a --ignore-not-found").spawn().expect("kubectl must start");
    kubectl.ok(r#"patch wi a --type=merge -p {"metadata":{"finalizers":null}}"#).await;
    assert!(waiting.wait().await.expect("kubectl must end").success());
    assert!(kubectl.fails("get wi a", "").await.contains("(NotFound)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_objects_are_deleted_at_once() {
    let Some(kubectl) = Kubectl::start().await else { return };
    for name in ["a", "b", "c", "d"] {
        kubectl.given("create -f -", &widget(name, "spec: {size: 3}")).await;
    }
    kubectl.ok("delete wi -l app=a").await;
    kubectl.ok("delete wi/b wi/nope --ignore-not-found").await;
    assert_eq!(kubectl.ok("get wi -o jsonpath={.items[*].metadata.name}").await, "c d");
    kubectl.ok("delete wi --all").await;
    assert_eq!(kubectl.ok("get wi -o name").await, "");
    assert!(kubectl.fails("delete wi a", "").await.contains("widgets.example.io \"a\" not found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_changes_the_replicas_that_are_there() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.given("create -f -", &widget("a", "spec: {size: 3, replicas: 1}")).await;
    assert_eq!(kubectl.ok("scale wi a --replicas=3").await, "widget.example.io/a scaled\n");
    let refused = kubectl.fails("scale wi a --replicas=5 --current-replicas=9", "").await;
    assert!(refused.contains("Expected replicas to be 9, was 3"), "{refused}");
    assert_eq!(kubectl.ok("get wi a -o jsonpath={.spec.replicas}").await, "3");
}
