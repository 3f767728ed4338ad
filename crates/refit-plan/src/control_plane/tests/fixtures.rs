//! A control plane to begin with.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeSystemInfo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, FailureDomain, Machine, MachineNodeReference};
use refit_api::conditions::{self, NewCondition, Status};
use refit_api::controlplane::{KubeadmControlPlane, KubeadmControlPlaneRolloutStrategy};
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, KCP_CLEANUP_HOOK};
use refit_api::vocabulary::refit::annotations::IN_PLACE;
use refit_api::vocabulary::{condition_types as types, finalizers};
use serde_json::{Value, json};

use crate::control_plane::machine::health_conditions;
use crate::control_plane::observed::{Coverage, EtcdMember, EtcdMembers, Observed, ObservedMachine};
use crate::coverage::Accepted;
use crate::coverage::testing::{frozen_plan, hash};

pub(in crate::control_plane) const OLD: &str = "v1.32.0";
pub(in crate::control_plane) const NEW: &str = "v1.33.0";

/// The time at which all tests begin.
pub(in crate::control_plane) fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("the time must parse")
}

/// A healthy control plane with as many Machines as wanted, named `a`, `b`, ... from the oldest on.
pub(in crate::control_plane) fn observed(replicas: usize) -> Observed {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let machines: BTreeMap<String, ObservedMachine> =
        names[..replicas].iter().enumerate().map(|(age, name)| ((*name).to_owned(), machine(name, age))).collect();
    let members = names[..replicas].iter().map(|name| member(name)).collect();
    Observed {
        now: start(),
        random: 0,
        control_plane: control_plane(replicas),
        cluster: cluster(),
        machines,
        infrastructure_template: Some(template("t1")),
        leftovers: Vec::new(),
        etcd: EtcdMembers::Known(members),
        nodes_without_machine: Vec::new(),
        has_kubeadm_config: true,
        inspected: BTreeMap::new(),
        not_inspected: None,
        certificates: None,
        registered: Some(hash("registered")),
        problems: Vec::new(),
        workers: Vec::new(),
    }
}

pub(in crate::control_plane) fn control_plane(replicas: usize) -> KubeadmControlPlane {
    let mut control_plane = KubeadmControlPlane::default();
    let metadata = &mut control_plane.metadata;
    metadata.name = Some("cp".to_owned());
    metadata.namespace = Some("ns".to_owned());
    metadata.uid = Some("cp-uid".to_owned());
    metadata.resource_version = Some("1".to_owned());
    metadata.generation = Some(1);
    metadata.finalizers = Some(vec![finalizers::KUBEADM_CONTROL_PLANE.to_owned()]);
    control_plane.spec.replicas = i32::try_from(replicas).ok();
    control_plane.spec.version = OLD.to_owned();
    control_plane.spec.machine_template.spec.infrastructure_ref = reference("DevMachineTemplate", "t1");
    control_plane.status.initialization.control_plane_initialized = Some(true);
    set(&mut control_plane.status.conditions, types::CERTIFICATES_AVAILABLE, Status::True);
    set(&mut control_plane.status.conditions, types::ETCD_CLUSTER_HEALTHY, Status::True);
    control_plane
}

pub(in crate::control_plane) fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.metadata.name = Some("c1".to_owned());
    cluster.metadata.namespace = Some("ns".to_owned());
    cluster.spec.control_plane_endpoint.host = Some("api.example".to_owned());
    cluster.spec.control_plane_endpoint.port = Some(6443);
    cluster.status.initialization.infrastructure_provisioned = Some(true);
    cluster
}

pub(in crate::control_plane) fn template(name: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachineTemplate",
        "metadata": { "name": name, "namespace": "ns" },
        "spec": { "template": { "spec": { "memory": name } } },
    })
}

pub(in crate::control_plane) fn reference(kind: &str, name: &str) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference {
        api_group: "infrastructure.cluster.x-k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

/// A healthy Machine of the old version; of a lower age, an older one.
pub(in crate::control_plane) fn machine(name: &str, age: usize) -> ObservedMachine {
    let mut machine = Machine::default();
    let created = start() - std::time::Duration::from_secs(86_400 - 60 * age as u64);
    machine.metadata.name = Some(name.to_owned());
    machine.metadata.namespace = Some("ns".to_owned());
    machine.metadata.uid = Some(format!("{name}-uid"));
    machine.metadata.resource_version = Some("1".to_owned());
    machine.metadata.creation_timestamp = Some(Time(created));
    machine.metadata.annotations = Some([(KCP_CLEANUP_HOOK.to_owned(), String::new())].into());
    machine.spec.cluster_name = "c1".to_owned();
    machine.spec.version = Some(OLD.to_owned());
    machine.spec.provider_id = Some(format!("dev://{name}"));
    machine.spec.infrastructure_ref = reference("DevMachine", name);
    machine.spec.bootstrap.config_ref = Some(reference("KubeadmConfig", name));
    machine.status.node_ref = Some(MachineNodeReference { name: name.to_owned() });
    machine.status.node_info = Some(NodeSystemInfo { kubelet_version: OLD.to_owned(), ..NodeSystemInfo::default() });
    make_healthy(&mut machine);
    ObservedMachine {
        machine,
        infrastructure: Some(infrastructure(name, "t1")),
        kubeadm_config: Some(kubeadm_config(name)),
        kubeadm_config_matches: true,
        coverage: Coverage::NotAsked,
    }
}

pub(in crate::control_plane) fn make_healthy(machine: &mut Machine) {
    for condition in health_conditions(true).chain([types::READY, types::AVAILABLE]) {
        set(&mut machine.status.conditions, condition, Status::True);
    }
}

pub(in crate::control_plane) fn infrastructure(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachine",
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("{name}-infra-uid"), "resourceVersion": "1",
            "annotations": {
                CLONED_FROM_NAME: template,
                CLONED_FROM_GROUP_KIND: "DevMachineTemplate.infrastructure.cluster.x-k8s.io",
            },
        },
        "spec": { "memory": template, "providerID": format!("dev://{name}") },
    })
}

pub(in crate::control_plane) fn kubeadm_config(name: &str) -> KubeadmConfig {
    let mut config = KubeadmConfig::default();
    config.metadata.name = Some(name.to_owned());
    config.metadata.namespace = Some("ns".to_owned());
    config.metadata.uid = Some(format!("{name}-config-uid"));
    config.metadata.resource_version = Some("1".to_owned());
    config.spec.join_configuration.control_plane = Some(refit_api::bootstrap::JoinControlPlane::default());
    config.spec.cluster_configuration.feature_gates = [("ControlPlaneKubeletLocalMode".to_owned(), true)].into();
    config
}

pub(in crate::control_plane) fn member(name: &str) -> EtcdMember {
    EtcdMember { name: name.to_owned(), is_healthy: true, is_learner: false, is_leader: name == "a" }
}

pub(in crate::control_plane) fn set(all: &mut Vec<Condition>, type_: &'static str, status: Status) {
    conditions::set(all, NewCondition::new(type_, status, "Test"), None, start());
}

impl ObservedMachine {
    pub(in crate::control_plane) fn set(&mut self, type_: &'static str, status: Status) {
        set(&mut self.machine.status.conditions, type_, status);
    }

    pub(in crate::control_plane) fn annotate(&mut self, key: &str, value: &str) {
        self.machine.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    }

    pub(in crate::control_plane) fn cover(&mut self) {
        let plan = frozen_plan("q", "t", &["can.memory"]);
        self.coverage = Coverage::Asked {
            target: plan.target.clone(),
            change: hash("change"),
            verdict: Accepted::Covered { plan },
        };
    }
}

impl Observed {
    pub(in crate::control_plane) fn at(&mut self, name: &str) -> &mut ObservedMachine {
        self.machines.get_mut(name).expect("the machine must be there")
    }

    pub(in crate::control_plane) fn annotate(&mut self, key: &str, value: &str) {
        self.control_plane.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    }

    pub(in crate::control_plane) fn set_policy(&mut self, policy: &str) {
        self.annotate(IN_PLACE, policy);
    }

    pub(in crate::control_plane) fn set_max_surge(&mut self, max_surge: i32) {
        let mut strategy = KubeadmControlPlaneRolloutStrategy::default();
        strategy.rolling_update.max_surge = Some(IntOrString::Int(max_surge));
        self.control_plane.spec.rollout.strategy = Some(strategy);
    }

    pub(in crate::control_plane) fn set_failure_domains(&mut self, names: &[&str]) {
        let domain = |name: &&str| FailureDomain {
            name: (*name).to_owned(),
            control_plane: Some(true),
            ..FailureDomain::default()
        };
        self.cluster.status.failure_domains = names.iter().map(domain).collect();
    }
}
