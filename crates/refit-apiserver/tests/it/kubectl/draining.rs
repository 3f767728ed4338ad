//! Draining a node: evictions, and budgets that forbid them.

use tokio::io::{AsyncBufReadExt, BufReader};

use super::Kubectl;

/// A running pod on node `n1` that no controller owns.
async fn pod(kubectl: &Kubectl, name: &str) {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\nspec: {{nodeName: n1, containers: [{{name: c, image: i}}]}}\n"
    );
    kubectl.given("create -f -", &pod).await;
    let status = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.ok(&format!("patch pod {name} --subresource=status -p {status}")).await;
}

async fn allow_disruptions(kubectl: &Kubectl, count: u32) {
    let status = format!(
        r#"{{"status":{{"observedGeneration":1,"disruptionsAllowed":{count},"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}}}"#
    );
    kubectl.ok(&format!("patch pdb guard --subresource=status --type=merge -p {status}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_drained_as_far_as_budgets_allow() {
    let Some(kubectl) = Kubectl::start().await else { return };
    kubectl.given("create -f -", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n").await;
    pod(&kubectl, "free").await;
    pod(&kubectl, "guarded").await;
    kubectl.ok("create poddisruptionbudget guard --selector=app=guarded --min-available=1").await;
    allow_disruptions(&kubectl, 0).await;
    let pods = async || kubectl.ok("get pods -o jsonpath={.items[*].metadata.name}").await;
    assert!(kubectl.fails("drain n1", "").await.contains("cannot delete Pods that declare no controller"));
    assert_eq!(pods().await, "free guarded");
    // There is no kubelet that would end pods in their time.
    let mut draining = kubectl.command("drain n1 --force --grace-period=0").spawn().expect("kubectl must start");
    let mut said = BufReader::new(draining.stderr.take().expect("there must be an output")).lines();
    let is_refusal = |line: &str| line.contains("would violate the pod's disruption budget");
    while !is_refusal(&said.next_line().await.expect("it must be text").expect("kubectl must be refused")) {}
    while pods().await != "guarded" {}
    draining.kill().await.expect("it must end");
    assert_eq!(kubectl.ok("get node n1 -o jsonpath={.spec.unschedulable}").await, "true");
    allow_disruptions(&kubectl, 1).await;
    kubectl.ok("drain n1 --force --grace-period=0 --timeout=180s").await;
    assert_eq!(pods().await, "");
    kubectl.ok("uncordon n1").await;
    assert_eq!(kubectl.ok("get node n1 -o jsonpath={.spec.unschedulable}").await, "");
}
