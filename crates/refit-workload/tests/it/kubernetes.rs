//! The Kubernetes side, against the embedded API server.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Client;
use kube::api::Api;
use refit_api::bootstrap::ClusterConfiguration;
use refit_plan::control_plane::inspection::{Component, SeenConfig, SeenEtcd, SeenPod};
use refit_workload::etcd::{Alarm, Membership};
use refit_workload::{EtcdAccess, KubeWorkload, Skips, WorkloadCluster, WorkloadError};
use serde_json::json;

use crate::scripted::{member, three};
use crate::world::{ROLE, World, look, names, words};

pub const NEW: &str = "v1.33.0";

#[tokio::test]
async fn everything_that_is_there_is_seen() {
    let world = World::start().await;
    world.add_node("a", json!({ ROLE: "" })).await;
    world.add_node("stray", json!({ ROLE: "" })).await;
    world.add_node("unlabelled", json!({})).await;
    world.add_node("worker", json!({})).await;
    for pod in ["kube-apiserver-a", "kube-scheduler-a", "etcd-a", "kube-apiserver-stray"] {
        world.add_pod(pod).await;
    }
    world.add_kubeadm_config("kind: ClusterConfiguration").await;
    let alarms = vec![Alarm { member: 2, name: "NOSPACE".to_owned() }];
    world.script(|script| {
        script.membership = Membership { alarms, ..three() };
        script.reachable = vec!["unlabelled"];
    });

    let seen = look(&world.workload(), &["a", "unlabelled", "gone"]).await;
    let nodes = seen.nodes.expect("the Nodes must be known");
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["a", "stray", "unlabelled"]);
    let found: Vec<_> =
        seen.pods.iter().filter(|(_, pod)| matches!(pod, SeenPod::Found(_))).map(|(key, _)| key).collect();
    let a = |component| ("a".to_owned(), component);
    assert_eq!(found, [&a(Component::ApiServer), &a(Component::Scheduler), &a(Component::Etcd)]);
    assert_eq!(seen.pods.len(), 8, "two Machines have Nodes, with four components each");
    assert_eq!(seen.pods[&a(Component::ControllerManager)], SeenPod::Missing);
    assert_eq!(seen.kubeadm_config, SeenConfig::Found);
    let SeenEtcd::Known { members, leader } = seen.etcd else { panic!("etcd must be known: {:?}", seen.etcd) };
    let of_members: Vec<_> = members.iter().map(|it| (it.id, it.name.as_str(), it.alarms.join(","))).collect();
    assert_eq!(of_members, [(1, "a", String::new()), (2, "b", "NOSPACE".to_owned()), (3, "c", String::new())]);
    assert_eq!(leader, Some(1));
}

#[tokio::test]
async fn what_is_not_there_or_not_known_is_said() {
    let world = World::start().await;
    let seen = look(&world.workload(), &["a"]).await;
    assert_eq!(seen.nodes.map(|nodes| nodes.len()), Ok(0));
    assert_eq!(seen.kubeadm_config, SeenConfig::Missing);
    assert_eq!(seen.etcd, SeenEtcd::Unknown { why: "no member of etcd answers: a".to_owned() });

    let etcd = async |access, nodes| look(&world.workload_with(access), nodes).await.etcd;
    assert_eq!(etcd(EtcdAccess::External, &["a"]).await, SeenEtcd::External);
    let missing = EtcdAccess::Unknown { why: "there is no Secret demo-etcd".to_owned() };
    assert_eq!(etcd(missing, &["a"]).await, SeenEtcd::Unknown { why: "there is no Secret demo-etcd".to_owned() });
    let none = look(&world.workload(), &[]).await.etcd;
    assert_eq!(none, SeenEtcd::Unknown { why: "no Machine has a Node yet".to_owned() });
}

#[tokio::test]
async fn an_api_server_that_refuses_makes_everything_unknown() {
    let refusing = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        let body =
            json!({ "kind": "Status", "status": "Failure", "code": 403, "message": "no", "reason": "Forbidden" });
        let response =
            http::Response::builder().status(403).body(kube::client::Body::from(body.to_string().into_bytes()));
        Ok::<_, std::convert::Infallible>(response.expect("it must be a response"))
    });
    let client = Client::new(refusing, "default");
    let workload = KubeWorkload::new(client, "ns", "demo", EtcdAccess::External);
    let seen = look(&workload, &["a"]).await;
    let why = seen.nodes.expect_err("the Nodes must not be known");
    assert!(why.starts_with("list of Nodes of the workload cluster could not be read: "), "{why}");
    assert!(matches!(seen.kubeadm_config, SeenConfig::Unreadable { .. }), "{:?}", seen.kubeadm_config);
    assert!(words(workload.prepare(NEW, &ClusterConfiguration::default()).await).contains("could not be read"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_never_answers_is_not_waited_for() {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
    });
    let client = Client::new(silent, "default");
    let workload = KubeWorkload::new(client, "ns", "demo", EtcdAccess::External);
    let seen = look(&workload, &["a"]).await;
    let late = "list of Nodes of the workload cluster could not be read within 10 seconds";
    assert_eq!(seen.nodes, Err(late.to_owned()));
    let skips = Skips::default();
    let update = workload.update_addons(NEW, &ClusterConfiguration::default(), skips).await;
    assert_eq!(
        words(update),
        "DaemonSet kube-system/kube-proxy of the workload cluster could not be read within 10 seconds"
    );
}

#[tokio::test]
async fn leadership_goes_to_the_first_that_takes_it() {
    let world = World::start().await;
    let workload = world.workload();
    let candidates = names(&["b", "x", "c"]);
    world.script(|script| {
        script.membership = three();
        script.reachable = vec!["a", "b", "c"];
        script.unwilling = vec![2];
    });
    workload.forward_etcd_leadership("a", &candidates).await.expect("somebody must take it");
    assert_eq!(world.told(), ["a: lead 2", "a: lead 3"]);
    workload.forward_etcd_leadership("a", &candidates).await.expect("there is nothing to do any more");
    assert_eq!(world.told(), Vec::<String>::new());

    world.script(|script| (script.membership.leader, script.unwilling) = (Some(1), vec![2, 3]));
    let refused = words(workload.forward_etcd_leadership("a", &candidates).await);
    assert!(refused.contains("b: moving failed: timed out; x: no voting member; c: moving failed"), "{refused}");
    // Whether the one that is down leads is learned from the others.
    world.script(|script| (script.membership.leader, script.reachable) = (Some(2), vec!["c"]));
    workload.forward_etcd_leadership("a", &candidates).await.expect("it does not lead");
}

#[tokio::test]
async fn a_member_leaves_by_way_of_another_one() {
    let world = World::start().await;
    let workload = world.workload();
    for node in ["a", "b", "c"] {
        world.add_node(node, json!({ ROLE: "" })).await;
    }
    world.script(|script| (script.membership, script.reachable) = (three(), vec!["a", "b", "c"]));
    workload.remove_etcd_member("a").await.expect("it must go");
    workload.remove_etcd_member("a").await.expect("it may be gone already");
    assert_eq!(world.told(), ["b: remove 1"]);
    // Nobody but itself answers: it stays.
    world.script(|script| script.reachable = vec!["b"]);
    assert!(words(workload.remove_etcd_member("b").await).contains("no member of etcd answers"));

    world.script(|script| {
        script.reachable = vec!["a", "b", "c"];
        script.membership.members = vec![member(5, "c"), member(4, "c"), member(9, ""), member(7, "")];
    });
    assert!(words(workload.remove_etcd_member("c").await).contains("2 members of etcd are named \"c\""));
    workload.remove_etcd_member("").await.expect("one of those that never started must go");
    assert_eq!(world.told(), ["a: remove 7"]);
    let external = world.workload_with(EtcdAccess::External);
    assert!(matches!(external.remove_etcd_member("a").await, Err(WorkloadError::EtcdIsExternal)));
}

pub const CONFIG: &str = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nkubernetesVersion: v1.30.0\n\
                      apiServer:\n  extraArgs:\n    v: \"2\"\nunknown:\n- \"yes\"\n";

#[tokio::test]
async fn a_workload_cluster_is_made_ready_once() {
    let world = World::start().await;
    let workload = world.workload();
    let nothing = ClusterConfiguration::default();
    workload.prepare(NEW, &nothing).await.expect("what is not there is left out");
    world.add_kubeadm_config(CONFIG).await;
    workload.prepare(NEW, &nothing).await.expect("it must be made ready");
    let bindings: Api<ClusterRoleBinding> = Api::all(world.client.clone());
    let binding = bindings.get("kubeadm:apiserver-kubelet-client").await.expect("it must be there");
    assert_eq!(binding.role_ref.name, "system:kubelet-api-admin");
    let (text, version) = world.kubeadm_config().await;
    let expected = "apiServer:\n  extraArgs:\n  - name: v\n    value: \"2\"\napiVersion: kubeadm.k8s.io/v1beta4\n\
                    kind: ClusterConfiguration\nkubernetesVersion: v1.33.0\nunknown:\n- \"yes\"\n";
    assert_eq!(text, expected);
    workload.prepare(NEW, &nothing).await.expect("it is ready");
    assert_eq!(world.kubeadm_config().await, (text, version), "nothing is written twice");
    assert!(words(workload.prepare("new", &nothing).await).contains("\"new\" cannot be used as a Kubernetes version"));
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_left_as_it_is() {
    for (text, why) in [("a: [", "is left as it is"), ("kind: Other", "it is no object of kind ClusterConfiguration")] {
        let world = World::start().await;
        world.add_kubeadm_config(text).await;
        let refused = words(world.workload().prepare(NEW, &ClusterConfiguration::default()).await);
        assert!(refused.starts_with("ConfigMap kube-system/kubeadm-config") && refused.contains(why), "{refused}");
        assert_eq!(world.kubeadm_config().await.0, text);
    }
}
