//! Looking at objects.

use tokio::io::{AsyncBufReadExt, BufReader};

use super::{Kubectl, rows, widget};

async fn start() -> Option<Kubectl> {
    let kubectl = Kubectl::start().await?;
    for (name, size, color) in [("a", 3, "red"), ("b", 1, "blue"), ("c", 2, "red")] {
        kubectl.given("create -f -", &widget(name, &format!("spec: {{size: {size}, color: {color}}}"))).await;
    }
    Some(kubectl)
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_gets_tables() {
    let Some(kubectl) = start().await else { return };
    let patch = r#"{"status":{"conditions":[{"type":"Old","status":"False"},{"type":"Ready","status":"True"}]}}"#;
    kubectl.ok(&format!("patch wi a --subresource=status --type=merge -p {patch}")).await;
    let check = async |arguments: &str, expected: &[&str]| {
        assert_eq!(rows(&kubectl.ok(arguments).await), expected, "{arguments}");
    };
    check("get widgets", &["NAME SIZE READY AGE", "a 3 True <age>", "b 1 <age>", "c 2 <age>"]).await;
    check("get wi a -o wide", &["NAME SIZE READY COLOR AGE", "a 3 True red <age>"]).await;
    check("get wi -l app=b", &["NAME SIZE READY AGE", "b 1 <age>"]).await;
    check("get wi --field-selector spec.color=red --no-headers", &["a 3 True <age>", "c 2 <age>"]).await;
    check("get wi --field-selector metadata.name=c --no-headers", &["c 2 <age>"]).await;
    check(
        "get wi -A --no-headers --sort-by=.spec.size",
        &["default b 1 <age>", "default c 2 <age>", "default a 3 True <age>"],
    )
    .await;
    check("get wi --show-labels --no-headers -l app=b", &["b 1 <age> app=b"]).await;
    check("get wi -L app --no-headers -l app=b", &["b 1 <age> b"]).await;
    check("get wi --chunk-size=1 --no-headers", &["a 3 True <age>", "b 1 <age>", "c 2 <age>"]).await;
    check("get gadgets --no-headers -l app=c", &["c 2 <age>"]).await;
    check("get wi/a ns/default --no-headers", &["widget.example.io/a 3 True <age>", "namespace/default Active <age>"])
        .await;
    check("get cm -n kube-system", &[]).await;
    assert!(kubectl.fails("get wi nope", "").await.contains("widgets.example.io \"nope\" not found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_gets_other_forms() {
    let Some(kubectl) = start().await else { return };
    assert_eq!(kubectl.ok("get wi -o name").await, "widget.example.io/a\nwidget.example.io/b\nwidget.example.io/c\n");
    assert_eq!(kubectl.ok("get wi -o jsonpath={.items[*].spec.size}").await, "3 1 2");
    assert!(kubectl.ok("get wi a -o yaml").await.contains("\n  size: 3\n"));
    assert!(kubectl.ok("get wi a -o json").await.contains("\"size\": 3\n"));
    assert_eq!(
        rows(&kubectl.ok("get wi -o custom-columns=N:.metadata.name,C:.spec.color").await),
        ["N C", "a red", "b blue", "c red"]
    );
    let described = rows(&kubectl.ok("describe wi a").await);
    for expected in ["Name: a", "Size: 3", "Events: <none>"] {
        assert!(described.iter().any(|line| line == expected), "{expected} must be in {described:#?}");
    }
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {k: v}\n";
    kubectl.given("create -f -", settings).await;
    assert!(kubectl.ok("describe cm settings").await.contains("k:\n----\nv\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_watches() {
    let Some(kubectl) = start().await else { return };
    let mut child = kubectl.command("get wi -w -l app=a").spawn().expect("kubectl must start");
    let mut lines = BufReader::new(child.stdout.take().expect("there must be an output")).lines();
    let mut next = async || lines.next_line().await.expect("it must be text").map(|line| rows(&line).concat());
    assert_eq!(next().await.as_deref(), Some("NAME SIZE READY AGE"));
    assert_eq!(next().await.as_deref(), Some("a 3 <age>"));
    kubectl.ok("patch wi a --type=merge -p {\"spec\":{\"size\":7}}").await;
    assert_eq!(next().await.as_deref(), Some("a 7 <age>"));
    child.kill().await.expect("it must end");
}
