//! What users of Cluster API do.

use refit_api::crd;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{Kubectl, rows};

const MACHINE: &str = "{clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Host, name: h}}";

/// With refit's definitions instead of widgets only.
async fn start() -> Option<Kubectl> {
    let kubectl = Kubectl::start().await?;
    let list = json!({"apiVersion": "v1", "kind": "List", "items": crd::all()});
    kubectl.given("apply --server-side -f -", &list.to_string()).await;
    Some(kubectl)
}

fn machine(name: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {{name: {name}, labels: {{app: a}}}}\nspec: {MACHINE}\n"
    )
}

/// The columns that a definition promises, in capitals as kubectl writes them.
fn columns(plural: &str) -> String {
    let definitions = crd::all();
    let definition = definitions.iter().find(|it| it["spec"]["names"]["plural"] == plural).expect("it must be defined");
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array().expect("there are columns");
    let shown = columns.iter().filter(|column| column["priority"].as_i64().unwrap_or_default() == 0);
    let names = shown.map(|column| column["name"].as_str().unwrap_or_default().to_uppercase());
    ["NAME".to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_are_watched_in_the_columns_of_their_definition() {
    let Some(kubectl) = start().await else { return };
    kubectl.given("create -f -", &machine("m1")).await;
    assert!(kubectl.ok("get md,ms,ma --no-headers").await.starts_with("machine.cluster.x-k8s.io/m1"));
    let mut child = kubectl.command("get ma -w").spawn().expect("kubectl must start");
    let mut lines = BufReader::new(child.stdout.take().expect("there must be an output")).lines();
    let mut next = async || lines.next_line().await.expect("it must be text").map(|line| rows(&line).concat());
    assert_eq!(next().await, Some(columns("machines")));
    assert!(next().await.is_some_and(|row| row.starts_with("m1 c ")));
    kubectl.ok(r#"patch ma m1 --subresource=status --type=merge -p {"status":{"phase":"Running"}}"#).await;
    assert!(next().await.is_some_and(|row| row.contains("Running")));
    child.kill().await.expect("it must end");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_applied_and_is_applied_no_more_is_pruned() {
    let Some(kubectl) = start().await else { return };
    let prune = "apply -f - --prune -l app=a --prune-allowlist=cluster.x-k8s.io/v1beta2/Machine";
    let both = format!("{}---\n{}", machine("m1"), machine("m2"));
    kubectl.given(prune, &both).await;
    assert_eq!(kubectl.ok("get ma -o name").await.lines().count(), 2);
    assert!(kubectl.given(prune, &machine("m2")).await.contains("machine.cluster.x-k8s.io/m1 pruned"));
    kubectl.ok("wait --for=delete ma/m1 --timeout=180s").await;
    assert_eq!(kubectl.ok("get ma -o name").await, "machine.cluster.x-k8s.io/m2\n");
}
