//! Finding out what there is.

use super::{Kubectl, rows};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_lists_what_is_served() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let resources = rows(&kubectl.ok("api-resources --no-headers -o wide").await);
    let verbs = "create,delete,deletecollection,get,list,patch,update,watch";
    for expected in [
        format!("configmaps cm v1 true ConfigMap {verbs}"),
        "namespaces ns v1 false Namespace create,delete,get,list,patch,update,watch".to_owned(),
        format!("leases coordination.k8s.io/v1 true Lease {verbs}"),
        "widgets wi example.io/v1 true Widget delete,deletecollection,get,list,patch,create,update,watch all,gadgets"
            .to_owned(),
    ] {
        assert!(resources.contains(&expected), "{expected} must be in {resources:#?}");
    }
    let names = kubectl.ok("api-resources --categories=gadgets -o name").await;
    assert_eq!(names, "widgets.example.io\n");
    let versions = kubectl.ok("api-versions").await;
    assert!(versions.lines().any(|version| version == "example.io/v1"), "{versions}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_explains_kinds() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let size = kubectl.ok("explain widgets.spec.size").await;
    assert!(size.contains("FIELD: size <integer>") && size.contains("How large the widget should be."), "{size}");
    let tree = rows(&kubectl.ok("explain widgets --recursive").await);
    for expected in
        ["GROUP: example.io", "A thing that has a size.", "weight <integer>", "ownerReferences <[]OwnerReference>"]
    {
        assert!(tree.iter().any(|line| line == expected), "{expected} must be in {tree:#?}");
    }
    let pod = rows(&kubectl.ok("explain pods.spec --recursive").await);
    assert!(pod.iter().any(|line| line.starts_with("containers <[]Container>")), "{pod:#?}");
    assert!(kubectl.fails("explain widgets.spec.nope", "").await.contains("does not exist"));
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_knows_whom_it_talks_to() {
    let Some(kubectl) = Kubectl::start().await else { return };
    let version = kubectl.ok("version").await;
    assert!(version.contains("Server Version: v1.36"), "{version}");
    assert!(!version.contains("exceeds the supported"), "{version}");
    assert!(kubectl.ok("cluster-info").await.contains(&kubectl.running.url));
    assert!(!kubectl.ok("config current-context").await.is_empty());
    assert_eq!(kubectl.ok("get --raw /readyz").await, "ok");
    assert!(kubectl.fails("get nothings", "").await.contains("the server doesn't have a resource type \"nothings\""));
    assert_eq!(kubectl.ok("auth can-i delete widgets").await, "yes\n");
    let rights = rows(&kubectl.ok("auth can-i --list").await);
    assert!(rights.iter().any(|line| line == "*.* [] [] [*]"), "{rights:#?}");
}
