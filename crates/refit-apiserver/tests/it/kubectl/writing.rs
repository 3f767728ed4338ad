//! Making and changing objects.

use super::{Kubectl, widget};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_changes_objects() {
    let Some(kubectl) = Kubectl::start().await else { return };
    assert_eq!(kubectl.given("create -f -", &widget("a", "spec: {size: 3}")).await, "widget.example.io/a created\n");
    let again = kubectl.fails("create -f -", &widget("a", "spec: {size: 3}")).await;
    assert!(again.contains("(AlreadyExists)") && again.contains("widgets.example.io \"a\" already exists"), "{again}");
    let size = async || kubectl.ok("get wi a -o jsonpath={.spec.size}").await;
    kubectl.ok("edit wi a").await;
    assert_eq!(size().await, "4");
    kubectl.ok("patch wi a --type=merge -p {\"spec\":{\"size\":5}}").await;
    assert_eq!(size().await, "5");
    kubectl.ok(r#"patch wi a --type=json -p [{"op":"replace","path":"/spec/size","value":6}]"#).await;
    assert_eq!(size().await, "6");
    kubectl.given("replace -f -", &widget("a", "spec: {size: 8}")).await;
    assert_eq!(size().await, "8");
    kubectl.ok("label wi a tier=front").await;
    assert!(kubectl.fails("label wi a tier=back", "").await.contains("--overwrite"));
    kubectl.ok("label wi a tier=back --overwrite").await;
    kubectl.ok("annotate wi a note=x").await;
    assert_eq!(kubectl.ok("get wi a -o jsonpath={.metadata.labels.tier}{.metadata.annotations.note}").await, "backx");
    kubectl.ok("label wi a tier-").await;
    assert_eq!(kubectl.ok("get wi a -o jsonpath={.metadata.labels}").await, "{\"app\":\"a\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_patches_built_in_kinds_strategically() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let objects = "apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: more}\ndata: {k: v}\n";
    kubectl.given("create -f -", objects).await;
    kubectl.ok("patch cm c -n more -p {\"data\":{\"k\":null,\"l\":\"w\"}}").await;
    assert_eq!(kubectl.ok("get cm c -n more -o jsonpath={.data}").await, "{\"l\":\"w\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_creates_built_in_kinds_which_it_sends_as_protobuf() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let check = async |what: &str, field: &str, expected: &str| {
        kubectl.ok(&format!("create {what}")).await;
        let mut words = what.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let name = words.find(|word| !matches!(*word, "generic" | "clusterip")).unwrap_or_default();
        assert_eq!(kubectl.ok(&format!("get {kind} {name} -o jsonpath={field}")).await, expected, "{what}");
    };
    check("namespace more", "{.metadata.labels}", "{\"kubernetes.io/metadata.name\":\"more\"}").await;
    check("configmap c --from-literal=k=v", "{.data}", "{\"k\":\"v\"}").await;
    check("secret generic s --from-literal=k=v", "{.data}", "{\"k\":\"dg==\"}").await;
    check("serviceaccount sa", "{.metadata.name}", "sa").await;
    check(
        "role r --verb=get --resource=pods",
        "{.rules}",
        r#"[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]"#,
    )
    .await;
    check("rolebinding rb --role=r --serviceaccount=default:sa", "{.roleRef.name}{.subjects[*].name}", "rsa").await;
    check("clusterrole cr --verb=get --resource=nodes", "{.rules[0].resources}", "[\"nodes\"]").await;
    check("clusterrolebinding crb --clusterrole=cr --user=u", "{.subjects[*].kind}", "User").await;
    check("poddisruptionbudget p --selector=a=b --min-available=50%", "{.spec.minAvailable}", "50%").await;
    check("service clusterip svc --tcp=80:8080", "{.spec.ports[*].targetPort}", "8080").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_refuses_what_the_server_refuses() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let unknown = kubectl.fails("create -f -", &widget("a", "spec: {sise: 3}")).await;
    assert!(unknown.contains("unknown field \"spec.sise\""), "{unknown}");
    let kind = kubectl.fails("create -f -", &widget("a", "spec: {size: big}")).await;
    assert!(kind.contains("spec.size: Invalid value: \"string\""), "{kind}");
    let nothing = kubectl.ok("get wi --ignore-not-found").await;
    assert_eq!(nothing, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_waits_for_conditions_and_creation() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let mut waiting = kubectl.command("wait --for=create wi/a --timeout=180s").spawn().expect("kubectl must start");
    kubectl.given("create -f -", &widget("a", "spec: {size: 3}")).await;
    assert!(waiting.wait().await.expect("kubectl must end").success());
    assert!(kubectl.fails("wait --for=condition=Ready wi/a --timeout=1s", "").await.contains("timed out"));
    let mut waiting =
        kubectl.command("wait --for=condition=Ready wi/a --timeout=180s").spawn().expect("kubectl must start");
    let patch = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.ok(&format!("patch wi a --subresource=status --type=merge -p {patch}")).await;
    assert!(waiting.wait().await.expect("kubectl must end").success());
    kubectl.ok("wait --for=jsonpath={.spec.size}=3 wi/a --timeout=180s").await;
}
