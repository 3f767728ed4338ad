//! What one pass of a MachineDeployment costs, in the middle of a rollout, and how that grows with its machines.
//!
//! `plan` is the planner over views; `decide` is the whole decision over whole objects, with the status and all writes.
//! The target is `plan` over 30,000 machines under 5 ms, and a cost per machine that does not grow.
//!
//! The work is shown with it: machines and writes. Where the cost per machine grows and the work per machine does
//! not, the fleet has outgrown a cache of the processor: whole objects of 3,000 machines fit into it, of 30,000 do not.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, OwnerReference, Time};
use kube::core::ObjectMeta;
use refit_api::cluster::{
    Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineNodeReference, MachineSet,
};
use refit_api::hooks::RawObject;
use refit_api::int_or_percent::Fenceposts;
use refit_api::owners;
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::{finalizers, labels};
use refit_plan::coverage::{Composition, ContentHash, Coverage as Answered, Step};
use refit_plan::handover::Handover;
use refit_plan::machine_deployment::decide::{self, Template};
use refit_plan::machine_deployment::{
    Counters, Coverage, DeploymentView, MachineSetView, MachineView, Observed, OldMachineSet, Strategy, plan,
};
use refit_plan::reading::{Listed, Read};
use serde_json::json;

/// Sizes whose costs are compared, each ten times the one before.
const SIZES: [usize; 3] = [3_000, 30_000, 300_000];
/// How often each is timed. The fastest run is the one that others disturbed least.
const RUNS: usize = 10;

fn main() {
    println!("{:<8} {:>9} {:>11} {:>11} {:>8}", "what", "machines", "best ms", "ns/machine", "writes");
    compare("plan", |machines| {
        let fleet = Fleet::new(machines);
        let observed = fleet.views();
        best(|| plan(&observed).machine_sets.len())
    });
    compare("decide", |machines| {
        let fleet = Fleet::new(machines);
        let templates = fleet.templates();
        let answers = fleet.answers(&templates);
        let observed = fleet.observed(&templates, &answers);
        best(|| {
            let decision = decide::decide(&observed);
            assert!(decision.ask.is_empty() && decision.problems.is_empty(), "{:?}", decision.problems);
            decision.plan.effects.len() + decision.reports.len()
        })
    });
}

/// Prints a line per size, and how much more each costs than the one before.
fn compare(what: &str, measure: impl Fn(usize) -> (Duration, usize)) {
    let mut before: Option<f64> = None;
    for machines in SIZES {
        let (best, writes) = measure(machines);
        let (cost, per_machine) = (best.as_secs_f64(), best.as_nanos() / machines as u128);
        let growth = before.map(|before| format!("{:.1} times the one before", cost / before)).unwrap_or_default();
        println!("{what:<8} {machines:>9} {:>11.3} {per_machine:>11} {writes:>8}  {growth}", cost * 1e3);
        before = Some(cost);
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time, it decides nothing")]
fn best(run: impl Fn() -> usize) -> (Duration, usize) {
    let timed = || {
        let start = Instant::now();
        let writes = black_box(run());
        (start.elapsed(), writes)
    };
    (0..RUNS).map(|_| timed()).min().expect("there must be a run")
}

/// A MachineDeployment in the middle of a rollout in place: a third of its machines is done, one in a hundred is being
/// updated.
struct Fleet {
    cluster: Cluster,
    deployment: MachineDeployment,
    sets: [MachineSet; 2],
    machines: Vec<Machine>,
}

impl Fleet {
    fn new(size: usize) -> Self {
        let (old, new) = (size - size / 3, size / 3);
        let cluster = Cluster { metadata: metadata("cluster"), ..Cluster::default() };
        let deployment = deployment(&cluster, size);
        let sets = [machine_set(&deployment, "old", "v1.31.0", old), machine_set(&deployment, "new", "v1.32.0", new)];
        let machines = (0..size).map(|index| machine(&sets[usize::from(index >= old)], index)).collect();
        Self { cluster, deployment, sets, machines }
    }

    fn views(&self) -> Observed<'_> {
        let posts = Fenceposts { max_surge: 1, max_unavailable: size(self.machines.len() / 10) };
        let view = |set: &MachineSet| MachineSetView {
            failed_updates: Default::default(),
            name: name(&set.metadata).to_owned(),
            created: now(),
            spec_replicas: set.spec.replicas.unwrap_or_default(),
            counters: Counters {
                replicas: set.spec.replicas.unwrap_or_default(),
                available: set.status.available_replicas.unwrap_or_default(),
                up_to_date: set.status.available_replicas.unwrap_or_default(),
            },
            handover: Handover::default(),
            max_replicas: None,
            desired_replicas: None,
            disable_machine_create: false,
            version: "1".to_owned(),
            held: false,
        };
        Observed {
            deployment: DeploymentView {
                replicas: size(self.machines.len()),
                strategy: Strategy::RollingUpdate(posts),
                in_place: InPlacePolicy::Prefer,
                keep_originals: true,
                paused: false,
            },
            new: Some(view(&self.sets[1])),
            old: vec![OldMachineSet { view: view(&self.sets[0]), coverage: Coverage::Covered }],
            machines: self.machines.iter().map(machine_view).collect(),
        }
    }

    fn templates(&self) -> Vec<Template> {
        let references = self.sets.iter().map(|set| &set.spec.template.spec.infrastructure_ref);
        let template = |reference: &ContractVersionedObjectReference| Template {
            reference: reference.clone(),
            read: Read::Found(raw(json!({
                "apiVersion": "x.io/v1", "kind": reference.kind,
                "metadata": { "name": reference.name, "namespace": "ns", "uid": reference.name },
                "spec": { "template": { "spec": { "memory": reference.name } } },
            }))),
        };
        references.map(template).collect()
    }

    /// Nobody covers the change, which makes the most to decide.
    fn answers(&self, templates: &[Template]) -> BTreeMap<ContentHash, Answered> {
        let asks = decide::decide(&self.observed(templates, &BTreeMap::new())).ask;
        let answer = |ask: decide::Ask| {
            let composition = Composition::new(ask.question, []).expect("none is not too many");
            let Step::Done(answer) = composition.next_step() else { panic!("there is nobody to ask") };
            (ask.key, answer)
        };
        asks.into_iter().map(answer).collect()
    }

    fn observed<'a>(
        &'a self,
        templates: &'a [Template],
        answers: &'a BTreeMap<ContentHash, Answered>,
    ) -> decide::Observed<'a> {
        decide::Observed {
            now: now(),
            random: 7,
            cluster: &self.cluster,
            deployment: &self.deployment,
            machine_sets: Listed::All(self.sets.iter().collect()),
            machines: Listed::All(self.machines.iter().collect()),
            templates,
            made_from: &[],
            answers,
            told: &[],
            rollouts: None,
            registered: None,
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).expect("it must be a time")
}

fn size(number: usize) -> i32 {
    i32::try_from(number).expect("a fleet must be countable")
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn raw(value: serde_json::Value) -> RawObject {
    RawObject::try_from(value).expect("it must be an object")
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("ns".to_owned()),
        uid: Some(format!("6f1f2b1c-0000-4000-8000-{name:0>12}")),
        resource_version: Some("1".to_owned()),
        generation: Some(1),
        creation_timestamp: Some(Time(now())),
        ..ObjectMeta::default()
    }
}

fn deployment(cluster: &Cluster, replicas: usize) -> MachineDeployment {
    let mut deployment = MachineDeployment { metadata: metadata("workers"), ..MachineDeployment::default() };
    let own = BTreeMap::from([(labels::CLUSTER_NAME.to_owned(), name(&cluster.metadata).to_owned())]);
    deployment.metadata.labels = Some(own.clone());
    deployment.metadata.finalizers = Some(vec![finalizers::MACHINE_DEPLOYMENT.to_owned()]);
    deployment.metadata.owner_references = Some(vec![reference_to(cluster)]);
    deployment.spec.cluster_name = name(&cluster.metadata).to_owned();
    deployment.spec.replicas = Some(size(replicas));
    deployment.spec.selector = LabelSelector { match_labels: Some(own.clone()), ..LabelSelector::default() };
    deployment.spec.template.metadata.labels = own;
    deployment.spec.template.spec.version = Some("v1.32.0".to_owned());
    deployment.spec.template.spec.infrastructure_ref = host("new");
    deployment
}

fn reference_to(cluster: &Cluster) -> OwnerReference {
    let reference = owners::controller_ref(cluster).expect("it must have an identity");
    OwnerReference { controller: None, block_owner_deletion: None, ..reference }
}

fn host(name: &str) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference {
        api_group: "x.io".to_owned(),
        kind: "HostTemplate".to_owned(),
        name: name.to_owned(),
    }
}

fn machine_set(deployment: &MachineDeployment, name: &str, version: &str, replicas: usize) -> MachineSet {
    let mut set = MachineSet { metadata: metadata(name), ..MachineSet::default() };
    let mut own = deployment.spec.template.metadata.labels.clone();
    own.insert(labels::MACHINE_TEMPLATE_HASH.to_owned(), format!("1-{name}"));
    own.insert(labels::DEPLOYMENT_NAME.to_owned(), "workers".to_owned());
    set.metadata.labels = Some(own);
    set.metadata.owner_references = Some(vec![owners::controller_ref(deployment).expect("it must have an identity")]);
    // It must not look as if nobody remembered who owns its fields.
    set.metadata.managed_fields = Some(vec![
        serde_json::from_value(json!({
            "manager": "capi-machinedeployment", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {},
        }))
        .expect("it must decode"),
    ]);
    set.spec.replicas = Some(size(replicas));
    set.spec.template = deployment.spec.template.clone();
    set.spec.template.spec.version = Some(version.to_owned());
    set.spec.template.spec.infrastructure_ref = host(name);
    set.status.replicas = Some(size(replicas));
    set.status.available_replicas = Some(size(replicas - replicas / 100));
    set
}

fn machine(set: &MachineSet, index: usize) -> Machine {
    const CONDITIONS: [&str; 12] = [
        "Available",
        "Ready",
        "UpToDate",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeHealthy",
        "NodeReady",
        "HealthCheckSucceeded",
        "Updating",
        "Deleting",
        "Paused",
        "refit.dev/UpdateFailed",
    ];
    let mut machine = Machine { metadata: metadata(&format!("workers-{index:05}")), ..Machine::default() };
    machine.metadata.labels = set.metadata.labels.clone();
    machine.metadata.owner_references = Some(vec![owners::controller_ref(set).expect("it must have an identity")]);
    let mut annotations = BTreeMap::from([("example.com/rack".to_owned(), format!("r{}", index % 40))]);
    if index.is_multiple_of(100) && name(&set.metadata) == "new" {
        annotations.insert(UPDATE_IN_PROGRESS.to_owned(), String::new());
        annotations.insert(PENDING_HOOKS.to_owned(), "UpdateMachine".to_owned());
    }
    machine.metadata.annotations = Some(annotations);
    machine.spec.version = set.spec.template.spec.version.clone();
    machine.status.node_ref = Some(MachineNodeReference { name: format!("node-{index:05}") });
    machine.status.conditions = CONDITIONS.map(|type_| condition(type_, index)).into();
    machine
}

fn condition(type_: &str, index: usize) -> Condition {
    let is_false = matches!(type_, "Updating" | "Deleting" | "Paused" | "refit.dev/UpdateFailed");
    Condition {
        type_: type_.to_owned(),
        status: if is_false || index.is_multiple_of(50) { "False" } else { "True" }.to_owned(),
        reason: "Reason".to_owned(),
        message: if index.is_multiple_of(50) { format!("* Node: rack {} is slow", index % 40) } else { String::new() },
        observed_generation: Some(1),
        last_transition_time: Time(now()),
    }
}

fn machine_view(machine: &Machine) -> MachineView<'_> {
    let owner = machine.metadata.owner_references.iter().flatten().next().expect("it must have an owner");
    let updating = machine.metadata.annotations.iter().flatten().any(|(key, _)| key == UPDATE_IN_PROGRESS);
    MachineView {
        name: name(&machine.metadata).into(),
        machine_set: owner.name.as_str().into(),
        created: now(),
        scaffolding: false,
        pending_acknowledge: false,
        updating,
        update_failed: false,
        update_over: false,
        gone: None,
        available: !updating,
        deleting: false,
        refused: None,
    }
}
