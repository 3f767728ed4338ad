//! Control planes of simulated machines, as a controller meets them through the kubeconfig.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::{Cluster, Machine};
use refit_examples::Host;
use refit_examples::host::HostChange;
use refit_provider_sim::kinds::SimMachine;
use refit_provider_sim::{SimHosts, etcd_connector};
use refit_workload::etcd::{Etcd, EtcdAuthority, EtcdError, EtcdTarget, Membership};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::story::{CLUSTER, Story, eventually};

const MACHINES: [&str; 3] = ["a", "b", "c"];
const COMPONENTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
const OLD: &str = "v1.30.4";
const NEW: &str = "v1.31.0";
const KUBE_SYSTEM: &str = "kube-system";

/// A control plane of three machines, seen through the kubeconfig secret.
struct Plane {
    story: Story,
    workload: Client,
}

impl Plane {
    async fn begin(client: &Client, namespace: &str) -> Self {
        let story = Story::with_infrastructure(client, namespace).await;
        for name in MACHINES {
            story.add_control_plane_machine(name, OLD, json!({})).await;
            // One after another, as a controller makes them.
            story.wait_provisioned(name).await;
            story.wait_node(name).await;
        }
        let plane = Self { workload: story.workload().await, story };
        plane.wait_etcd("has three members", |seen| seen.members.len() == 3).await;
        plane
    }

    async fn connect(&self, nodes: &[&str]) -> Result<Box<dyn Etcd>, EtcdError> {
        let target = EtcdTarget {
            client: self.workload.clone(),
            namespace: self.story.namespace.clone(),
            name: CLUSTER.to_owned(),
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            authority: EtcdAuthority::new("", ""),
        };
        etcd_connector()(target).await
    }

    /// The members, as the first one says that answers.
    async fn membership(&self) -> Result<Membership, EtcdError> {
        self.connect(&MACHINES).await?.membership().await
    }

    async fn wait_etcd(&self, what: &str, is_so: impl Fn(&Membership) -> bool) -> Membership {
        let wish = format!("etcd of {} {what}", self.story.namespace);
        eventually(&wish, async || match self.membership().await {
            Ok(seen) if is_so(&seen) => Ok(seen),
            seen => Err(seen),
        })
        .await
    }

    async fn wait_silent(&self) -> EtcdError {
        eventually("etcd has no quorum", async || match self.membership().await {
            Err(error) => Ok(error),
            seen => Err(seen),
        })
        .await
    }

    async fn wait_pod(&self, name: &str, what: &str, is_so: impl Fn(Option<&Pod>) -> bool) {
        let pods: Api<Pod> = Api::namespaced(self.workload.clone(), KUBE_SYSTEM);
        eventually(&format!("Pod {name} {what}"), async || {
            let found = pods.get_opt(name).await.expect("Pods must be readable");
            if is_so(found.as_ref()) { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// The name of the Node whose member leads.
    async fn leader(&self) -> String {
        let seen = self.wait_etcd("has a leader", |seen| seen.leader.is_some()).await;
        let leader = seen.members.iter().find(|member| Some(member.id) == seen.leader);
        leader.expect("a member must lead").name.clone()
    }

    async fn fail(&self, name: &str, failures: Value) {
        self.story.patch::<SimMachine>(name, json!({ "spec": { "failures": failures } })).await;
    }
}

fn image(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.containers[0].image.as_deref()).unwrap_or_default()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|it| it.type_ == "Ready" && it.status == "True"))
}

fn ids(seen: &Membership) -> BTreeSet<u64> {
    seen.members.iter().map(|member| member.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_planes_of_machines() {
    let backend = Backend::embedded().await;
    let provider = backend.start_provider();
    let (client, hosts) = (&backend.client, &provider.hosts);
    tokio::join!(
        the_kubeconfig_is_nobodys_before_there_are_machines(Story::begin(client, "cp-kubeconfig").await),
        machines_are_what_kubeadm_leaves(client),
        a_version_in_place_reaches_node_and_pods(client, hosts),
        a_member_that_nobody_removed_stays_lost(client),
        failures_come_and_go_at_run_time(client),
        a_dead_host_takes_its_member_with_it(client, hosts),
    );
    provider.stop().await;
    a_killed_provider_finishes_what_it_began(&backend).await;
}

async fn the_kubeconfig_is_nobodys_before_there_are_machines(story: Story) {
    let reference =
        json!({ "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": CLUSTER });
    story.patch::<Cluster>(CLUSTER, json!({ "spec": { "controlPlaneRef": reference } })).await;
    let sim = story.wait_infrastructure().await;
    assert!(sim.spec.control_plane_endpoint.host.is_some() && sim.spec.control_plane_endpoint.port.is_some());
    let secrets: Api<Secret> = Api::namespaced(story.client.clone(), &story.namespace);
    let secret = secrets.get(&format!("{CLUSTER}-kubeconfig")).await.expect("it must be there by now");
    assert!(secret.owner_references().iter().all(|owner| owner.controller != Some(true)), "{secret:?}");
}

async fn machines_are_what_kubeadm_leaves(client: &Client) {
    let plane = Plane::begin(client, "cp-kubeadm").await;
    let nodes: Api<Node> = Api::all(plane.workload.clone());
    for name in MACHINES {
        let node = nodes.get(name).await.expect("there must be a Node");
        assert!(node.labels().contains_key("node-role.kubernetes.io/control-plane"));
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
        assert_eq!(taints[0].key, "node-role.kubernetes.io/control-plane");
        for component in COMPONENTS {
            let is_right = |pod: Option<&Pod>| {
                let tag = if component == "etcd" { "3.5.12-0" } else { OLD };
                pod.is_some_and(|pod| is_ready(pod) && image(pod) == format!("registry.k8s.io/{component}:{tag}"))
            };
            plane.wait_pod(&format!("{component}-{name}"), "runs and is ready", is_right).await;
        }
    }
    let config_maps: Api<ConfigMap> = Api::namespaced(plane.workload.clone(), KUBE_SYSTEM);
    let config = config_maps.get("kubeadm-config").await.expect("there must be a kubeadm-config");
    let text = &config.data.expect("it must have data")["ClusterConfiguration"];
    assert!(text.contains("kubeadm.k8s.io/v1beta3") && text.contains(OLD), "{text}");
    let proxies: Api<DaemonSet> = Api::namespaced(plane.workload.clone(), KUBE_SYSTEM);
    assert!(proxies.get("kube-proxy").await.is_ok());
    let seen = plane.membership().await.expect("etcd must answer");
    let names: Vec<&str> = seen.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!((names, seen.members.iter().any(|member| member.is_learner)), (MACHINES.to_vec(), false));
    // Leadership moves where the leader is asked for it.
    let leads = plane.connect(&["a"]).await.expect("it must answer");
    let follows = plane.connect(&["b"]).await.expect("it must answer");
    assert!(follows.move_leader(seen.members[1].id).await.is_err(), "a follower cannot give away what it has not");
    leads.move_leader(seen.members[1].id).await.expect("the leader must give it away");
    assert_eq!(plane.leader().await, "b");
}

async fn a_version_in_place_reaches_node_and_pods(client: &Client, hosts: &SimHosts) {
    let plane = Plane::begin(client, "cp-version").await;
    let (before, leader) = (plane.membership().await.expect("etcd must answer"), plane.leader().await);
    plane.story.patch::<Machine>(&leader, json!({ "spec": { "version": NEW } })).await;
    let change = HostChange::Version(NEW.to_owned());
    hosts.change(&plane.story.namespace, &leader, change).await.expect("the version must change");
    // All of it is there when the update is over.
    let pods: Api<Pod> = Api::namespaced(plane.workload.clone(), KUBE_SYSTEM);
    for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let pod = pods.get(&format!("{component}-{leader}")).await.expect("there must be a Pod");
        assert!(is_ready(&pod) && image(&pod).ends_with(NEW), "{pod:?}");
    }
    let node = Api::<Node>::all(plane.workload.clone()).get(&leader).await.expect("there must be a Node");
    assert_eq!(node.status.and_then(|status| status.node_info).map(|info| info.kubelet_version).as_deref(), Some(NEW));
    assert_eq!(ids(&plane.membership().await.expect("etcd must answer")), ids(&before), "the same members");
    assert_ne!(plane.leader().await, leader, "who restarts loses the leadership");
}

async fn a_member_that_nobody_removed_stays_lost(client: &Client) {
    let plane = Plane::begin(client, "cp-lost").await;
    let before = plane.membership().await.expect("etcd must answer");
    plane.story.delete::<SimMachine>("c").await;
    plane.story.wait_gone::<SimMachine>("c").await;
    plane.wait_pod("kube-apiserver-c", "is gone", |pod| pod.is_none()).await;
    assert_eq!(
        plane.membership().await.expect("two of three answer").members,
        before.members,
        "c is lost, and a member"
    );
    let etcd = plane.connect(&["c", "b"]).await.expect("b must answer where c does not");
    let id = |name: &str| before.members.iter().find(|member| member.name == name).expect("it was there").id;
    assert!(etcd.remove_member(id("b")).await.is_err(), "a alone would have no quorum");
    etcd.remove_member(id("c")).await.expect("who is lost may go");
    etcd.remove_member(id("c")).await.expect("it may be gone already");
    etcd.remove_member(id("a")).await.expect("one of two may go");
    // The machine of a is still there, and its member does not come back by itself.
    plane.story.patch::<SimMachine>("a", json!({ "spec": { "cpus": 4 } })).await;
    assert!(matches!(etcd.remove_member(id("b")).await, Err(EtcdError::LastMember { .. })));
    assert_eq!(plane.membership().await.expect("b must answer").members.len(), 1);
    plane.story.add_control_plane_machine("d", OLD, json!({})).await;
    plane.wait_etcd("has two members again", |seen| seen.members.len() == 2).await;
}

async fn failures_come_and_go_at_run_time(client: &Client) {
    let plane = Plane::begin(client, "cp-failures").await;
    plane.fail("b", json!({ "staticPods": [{ "component": "kube-scheduler", "failure": "Fails" }] })).await;
    plane.wait_pod("kube-scheduler-b", "fails", |pod| pod.is_some_and(|pod| !is_ready(pod))).await;
    plane.fail("b", json!({ "staticPods": [{ "component": "etcd", "failure": "Late" }] })).await;
    plane.wait_pod("kube-scheduler-b", "is ready again", |pod| pod.is_some_and(is_ready)).await;
    plane.wait_pod("etcd-b", "is not there", |pod| pod.is_none()).await;
    assert!(matches!(plane.connect(&["b"]).await, Err(EtcdError::NoneAnswers(_))));
    // A Pod that lies: ready, and its member is gone.
    plane.fail("b", json!({ "staticPods": null, "etcdMember": "Missing" })).await;
    plane.wait_etcd("has lost a member", |seen| seen.members.len() == 2).await;
    plane.wait_pod("etcd-b", "is ready all the same", |pod| pod.is_some_and(is_ready)).await;
    plane.fail("b", json!({ "etcdMember": "NoSpace" })).await;
    let raised = plane.wait_etcd("raises an alarm", |seen| seen.members.len() == 3 && !seen.alarms.is_empty()).await;
    assert_eq!(raised.alarms[0].name, "NOSPACE");
    plane.fail("b", json!({ "etcdMember": null })).await;
    plane.wait_etcd("is well again", |seen| seen.alarms.is_empty() && seen.members.len() == 3).await;
    // A new machine whose etcd comes late is a member without a vote at first, and nobody waits for it.
    let late = json!({ "staticPods": [{ "component": "etcd", "failure": "Late", "seconds": 2 }] });
    plane.story.add_control_plane_machine("d", OLD, json!({ "failures": late })).await;
    let learner = plane.wait_etcd("has a fourth member", |seen| seen.members.len() == 4).await;
    assert_eq!((learner.members[3].name.as_str(), learner.members[3].is_learner), ("", true));
    plane.wait_etcd("lets it vote", |seen| seen.members[3].name == "d" && !seen.members[3].is_learner).await;
}

async fn a_dead_host_takes_its_member_with_it(client: &Client, hosts: &SimHosts) {
    let plane = Plane::begin(client, "cp-dead").await;
    let nodes: Api<Node> = Api::all(plane.workload.clone());
    plane.fail("a", json!({ "dead": true })).await;
    plane.wait_pod("kube-apiserver-a", "is not ready", |pod| pod.is_some_and(|pod| !is_ready(pod))).await;
    let node = nodes.get("a").await.expect("the Node must stay");
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    assert!(conditions.iter().any(|it| it.type_ == "Ready" && it.status == "Unknown"));
    assert_ne!(plane.leader().await, "a", "another one leads");
    let refused = hosts.change(&plane.story.namespace, "a", HostChange::Version(NEW.to_owned())).await;
    assert!(refused.is_err_and(|error| error.0.contains("does not answer")));
    plane.fail("b", json!({ "dead": true })).await;
    assert!(plane.wait_silent().await.to_string().contains("1 of 3"));
    // Who comes now cannot join, and does once there is a quorum again.
    plane.story.add_control_plane_machine("d", OLD, json!({})).await;
    plane.wait_pod("kube-apiserver-d", "is ready", |pod| pod.is_some_and(is_ready)).await;
    plane.wait_pod("etcd-d", "is not there", |pod| pod.is_none()).await;
    plane.fail("b", json!({ "dead": null })).await;
    plane.wait_etcd("has taken in the fourth", |seen| seen.members.len() == 4).await;
    plane.wait_pod("etcd-d", "is ready", |pod| pod.is_some_and(is_ready)).await;
    plane.fail("a", json!({ "dead": null })).await;
    plane.wait_pod("kube-apiserver-a", "is ready again", |pod| pod.is_some_and(is_ready)).await;
}

async fn a_killed_provider_finishes_what_it_began(backend: &Backend) {
    let provider = backend.start_provider();
    let story = Story::with_infrastructure(&backend.client, "cp-kills").await;
    provider.kill().await;
    for (round, name) in MACHINES.iter().enumerate() {
        story.add_control_plane_machine(name, OLD, json!({})).await;
        for moment in 0..4 {
            let provider = backend.start_provider();
            // Another moment each time: from the lists to the last Pod.
            tokio::time::sleep(Duration::from_millis(10 * moment + 5 * round as u64)).await;
            provider.kill().await;
        }
    }
    let provider = backend.start_provider();
    let plane = Plane { workload: story.workload().await, story };
    let seen = plane.wait_etcd("has three members", |seen| seen.members.len() == 3).await;
    assert!(seen.leader.is_some() && seen.members.iter().all(|member| !member.is_learner), "{seen:?}");
    let pods: Api<Pod> = Api::namespaced(plane.workload.clone(), KUBE_SYSTEM);
    eventually("all static Pods are ready", async || {
        let list = pods.list(&ListParams::default().labels("tier=control-plane")).await.expect("Pods must be listed");
        let ready = list.iter().filter(|pod| is_ready(pod)).count();
        if ready == MACHINES.len() * COMPONENTS.len() { Ok(()) } else { Err(ready) }
    })
    .await;
    provider.stop().await;
}
