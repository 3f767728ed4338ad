//! Namespaces and what is in them.

use serde_json::json;

use crate::client::{Client, names};

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test]
async fn a_cluster_begins_with_its_namespaces_and_ends_with_nothing() {
    let client = Client::new().await;
    let (_, list) = client.get(NAMESPACES).await;
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    client.api.create_cluster(&client.cluster).await.unwrap();
    client.api.drop_cluster(&client.cluster).await.unwrap();
    assert!(!client.has(&format!("{NAMESPACES}/default")).await);
}

#[tokio::test]
async fn a_namespace_goes_after_all_that_is_in_it() {
    let client = Client::new().await;
    client.create(NAMESPACES, json!({"metadata": {"name": "t"}})).await;
    let maps = "/api/v1/namespaces/t/configmaps";
    client.create(maps, json!({"metadata": {"name": "free"}})).await;
    client.create(maps, json!({"metadata": {"name": "held", "finalizers": ["x/y"]}})).await;
    let (code, namespace) = client.delete(&format!("{NAMESPACES}/t")).await;
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    let (code, refusal) = client.post(maps, json!({"metadata": {"name": "late"}})).await;
    assert_eq!((code, &refusal["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    client.settle().await;
    assert!(!client.has(&format!("{maps}/free")).await);
    let (_, namespace) = client.get(&format!("{NAMESPACES}/t")).await;
    let remaining = "Some resources are remaining: configmaps. has 1 resource instances";
    assert_eq!(namespace["status"]["conditions"][3]["message"], remaining);
    client.patch(&format!("{maps}/held"), json!({"metadata": {"finalizers": null}})).await;
    client.settle().await;
    assert!(!client.has(&format!("{NAMESPACES}/t")).await);
}

#[tokio::test]
async fn only_finalize_changes_what_holds_a_namespace() {
    let client = Client::new().await;
    let uri = format!("{NAMESPACES}/t");
    client.create(NAMESPACES, json!({"metadata": {"name": "t"}})).await;
    let finalize = json!({"metadata": {"name": "t"}, "spec": {"finalizers": ["x/y"]}});
    let (code, namespace) = client.put(&format!("{uri}/finalize"), finalize).await;
    assert_eq!((code, &namespace["spec"]), (200, &json!({"finalizers": ["x/y"]})));
    assert_eq!(namespace["metadata"]["managedFields"][1]["subresource"], "finalize");
    let (_, changed) = client.patch(&uri, json!({"spec": {"finalizers": null}})).await;
    assert_eq!(changed["spec"], json!({"finalizers": ["x/y"]}));
    client.delete(&uri).await;
    client.settle().await;
    assert!(client.has(&uri).await);
    let (code, _) = client.put(&format!("{uri}/finalize"), json!({"metadata": {"name": "t"}, "spec": {}})).await;
    assert_eq!(code, 200);
    assert!(!client.has(&uri).await);
}

#[tokio::test]
async fn the_running_server_empties_a_namespace_step_by_step() {
    let client = Client::new().await;
    let maps = "/api/v1/namespaces/t/configmaps";
    client.create(NAMESPACES, json!({"metadata": {"name": "t"}})).await;
    // Named like the namespace, which must not be taken for it.
    for name in ["t", "u"] {
        client.create(maps, json!({"metadata": {"name": name, "finalizers": ["x/y"]}})).await;
    }
    let api = client.api.clone();
    let running = tokio::spawn(async move { api.run_lifecycle().await });
    client.delete(&format!("{NAMESPACES}/t")).await;
    let remaining = |count: usize| format!("Some resources are remaining: configmaps. has {count} resource instances");
    for (name, left) in [("t", 2), ("u", 1)] {
        let message = remaining(left);
        client
            .wait_for(&format!("{NAMESPACES}/t"), |_, shown| shown["status"]["conditions"][3]["message"] == message)
            .await;
        client.patch(&format!("{maps}/{name}"), json!({"metadata": {"finalizers": null}})).await;
    }
    client.wait_for(&format!("{NAMESPACES}/t"), |code, _| code == 404).await;
    running.abort();
}

/// Creating needs the namespace to be there, not to stand still.
#[tokio::test]
async fn objects_can_be_made_while_their_namespace_is_changed() {
    let folder = tempfile::TempDir::new().unwrap();
    let client = Client::on(refit_apiserver::store::Store::open(folder.path()).unwrap()).await;
    client.create(NAMESPACES, json!({"metadata": {"name": "busy"}})).await;
    let changes = async {
        for number in 0..200 {
            let labels = json!({"metadata": {"labels": {"n": number.to_string()}}});
            let (code, answer) = client.patch(&format!("{NAMESPACES}/busy"), labels).await;
            assert_eq!(code, 200, "{answer}");
        }
    };
    let creations = async {
        for number in 0..100 {
            let map = json!({"metadata": {"name": format!("m{number}")}});
            let (code, answer) = client.post("/api/v1/namespaces/busy/configmaps", map).await;
            assert_eq!(code, 201, "{answer}");
        }
    };
    futures::join!(changes, creations);
    let (code, _) = client.post("/api/v1/namespaces/nosuch/configmaps", json!({"metadata": {"name": "a"}})).await;
    assert_eq!(code, 404);
}
