mod causes;
mod connection;

use k8s_openapi::api::core::v1::{Node, Pod as PodObject};
use refit_api::conditions::Status;
use serde_json::{Value, json};

use super::*;
use crate::control_plane::tests::fixtures::{observed, start};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the object must decode")
}

fn node(name: &str) -> Node {
    let (role, taint) = (ROLE, json!([{ "key": ROLE, "effect": "NoSchedule" }]));
    object(json!({
        "metadata": { "name": name, "labels": { role: "" } },
        "spec": { "taints": taint },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    }))
}

fn pod(status: Value) -> SeenPod {
    let pod: PodObject = object(json!({ "metadata": { "name": "p" }, "status": status }));
    SeenPod::Found(Box::new(pod))
}

fn running() -> SeenPod {
    pod(json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] }))
}

const ROLE: &str = "node-role.kubernetes.io/control-plane";

/// Everything about these Nodes is as it should be. The first one's member leads.
fn healthy(nodes: &[&str]) -> Seen {
    let pods = nodes.iter().flat_map(|node| Component::ALL.map(|it| (((*node).to_owned(), it), running())));
    let member = |(id, name): (u64, &&str)| SeenMember { id, name: (*name).to_owned(), ..SeenMember::default() };
    Seen {
        nodes: Ok(nodes.iter().map(|name| ((*name).to_owned(), node(name))).collect()),
        pods: pods.collect(),
        etcd: SeenEtcd::Known { members: (1..).zip(nodes).map(member).collect(), leader: Some(1) },
        kubeadm_config: SeenConfig::Found,
    }
}

/// A control plane that was initialized an hour ago, and answered just now.
struct Case {
    observed: Observed,
    connection: Connection,
    inspection: Inspection,
}

impl Case {
    /// Three healthy Machines on the Nodes a, b and c, which have no conditions of inspections yet.
    fn new() -> Self {
        let mut observed = observed(3);
        let initialized = conditions::kubeadm_control_plane::initialized();
        let hour_ago = start() - SignedDuration::from_hours(1);
        conditions::set(&mut observed.control_plane.status.conditions, initialized, None, hour_ago);
        for machine in observed.machines.values_mut() {
            machine.machine.status.conditions.clear();
        }
        let connection = Connection { last_probe_success: Some(start()), consecutive_failures: 0 };
        Self { observed, connection, inspection: Inspection::Seen(Box::new(healthy(&["a", "b", "c"]))) }
    }

    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut case = Self::new();
        change(&mut case);
        case
    }

    fn seen(change: impl FnOnce(&mut Seen)) -> Self {
        let mut seen = healthy(&["a", "b", "c"]);
        change(&mut seen);
        Self::with(|case| case.inspection = Inspection::Seen(Box::new(seen)))
    }

    fn machine(&mut self, name: &str) -> &mut refit_api::cluster::Machine {
        &mut self.observed.machines.get_mut(name).expect("there must be such a Machine").machine
    }

    fn read(&self) -> Inspected {
        let context = Context {
            now: self.observed.now,
            control_plane: &self.observed.control_plane,
            machines: &self.observed.machines,
            connection: self.connection,
            grace_period: MINUTE * 5,
        };
        read(&self.inspection, &context)
    }

    /// The conditions of a Machine that are not True, in words.
    fn bad(&self, machine: &str) -> Vec<String> {
        let all = &self.read().conditions[machine];
        all.iter().filter(|condition| condition.status != Status::True).map(ToString::to_string).collect()
    }
}

#[test]
fn healthy_machines_say_so_by_six_conditions() {
    let inspected = Case::new().read();
    for (name, all) in &inspected.conditions {
        let types: Vec<_> = all.iter().map(|condition| condition.type_.as_ref()).collect();
        let expected = [
            types::API_SERVER_POD_HEALTHY,
            types::CONTROLLER_MANAGER_POD_HEALTHY,
            types::SCHEDULER_POD_HEALTHY,
            types::ETCD_POD_HEALTHY,
            types::ETCD_MEMBER_HEALTHY,
            types::NODE_KUBEADM_LABELS_AND_TAINTS_SET,
        ];
        assert_eq!(types, expected);
        assert!(all.iter().all(|condition| condition.status == Status::True), "{name}: {all:?}");
    }
    assert_eq!(inspected.conditions.len(), 3);
    assert_eq!((inspected.has_kubeadm_config, inspected.blocked), (true, None));
    let EtcdMembers::Known(members) = inspected.etcd else { panic!("the members must be known") };
    let leads: Vec<_> =
        members.iter().map(|member| (member.name.as_str(), member.is_leader, member.is_healthy)).collect();
    assert_eq!(leads, [("a", true, true), ("b", false, true), ("c", false, true)]);
}

#[test]
fn external_etcd_has_no_conditions_and_no_known_members() {
    let case = Case::with(|case| {
        let etcd = &mut case.observed.control_plane.spec.kubeadm_config_spec.cluster_configuration.etcd;
        etcd.external = Some(refit_api::bootstrap::ExternalEtcd::default());
        let mut seen = healthy(&["a", "b", "c"]);
        seen.etcd = SeenEtcd::External;
        case.inspection = Inspection::Seen(Box::new(seen));
    });
    let inspected = case.read();
    assert_eq!(inspected.conditions["a"].len(), 4);
    assert!(matches!(inspected.etcd, EtcdMembers::Unknown { .. }));
}

#[test]
fn what_was_read_reaches_the_decision_once() {
    let mut case = Case::seen(|seen| seen.kubeadm_config = SeenConfig::Missing);
    let inspected = case.read();
    let observed = &mut case.observed;
    assert_eq!(inspected.clone().apply(observed), ["a", "b", "c"]);
    assert!(!observed.has_kubeadm_config);
    assert_eq!(observed.etcd, inspected.etcd);
    assert!(conditions::is_true(&observed.machines["a"].machine.status.conditions, types::ETCD_MEMBER_HEALTHY));
    assert_eq!(inspected.apply(observed), Vec::<String>::new());
}

#[test]
fn nodes_of_no_machine_are_named_unless_a_machine_waits_for_its_own() {
    let strays = |case: &Case| case.read().nodes_without_machine;
    let with_strays = || {
        Case::seen(|seen| {
            let nodes = seen.nodes.as_mut().expect("the Nodes are known");
            nodes.insert("x".to_owned(), node("x"));
            nodes.insert("unlabelled".to_owned(), object(json!({ "metadata": { "name": "unlabelled" } })));
        })
    };
    assert_eq!(strays(&with_strays()), ["x"]);
    let mut provisioning = with_strays();
    provisioning.machine("c").status.node_ref = None;
    assert_eq!(strays(&provisioning), Vec::<String>::new());
    assert_eq!(strays(&Case::seen(|seen| seen.nodes = Err("timeout".to_owned()))), Vec::<String>::new());
}
