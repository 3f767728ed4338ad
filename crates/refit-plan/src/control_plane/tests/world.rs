//! A tiny world to decide in: an API server that knows just enough of patch and apply, and the controllers around.

mod api;

use std::collections::{BTreeMap, BTreeSet};

use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::Machine;
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::vocabulary::annotations::{KCP_CLEANUP_HOOK, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use refit_api::vocabulary::{condition_types as types, reasons};
use serde_json::{Value, json};

use self::api::Api;
use super::fixtures;
use crate::control_plane::desired;
use crate::control_plane::{Coverage, Decision, EtcdMember, EtcdMembers, Observed, ObservedMachine, Step, decide};
use crate::coverage::Accepted;
use crate::coverage::FrozenPlan;
use crate::coverage::kubeadm_config::Flavour;
use crate::coverage::testing::{frozen_plan, hash};
use crate::effect::Effect;
use crate::waiting::WaitingOn;

/// How many decisions a run may take: the longest here takes less than half of it.
const MAX_ROUNDS: usize = 200;

/// What extensions say to a change of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Covered,
    Uncovered,
}

/// Everything outside of the decision.
#[derive(Clone)]
pub(super) struct World {
    api: Api,
    /// What is not in the API: the Cluster, the template, and settings of the test.
    pub base: Observed,
    pub members: Vec<EtcdMember>,
    /// What extensions say, by machine; of others they say `default_answer`.
    pub answers: BTreeMap<String, Answer>,
    pub default_answer: Answer,
    /// Machines whose API server is down.
    pub sick: BTreeSet<String>,
    /// What was done, in order.
    pub log: Vec<String>,
    originals: BTreeSet<String>,
    asked: BTreeSet<String>,
    /// How many steps are carried out before the process dies, once.
    crash_after: Option<usize>,
    pub steps_done: usize,
    /// What the last decision waits for.
    pub waiting_on: Vec<WaitingOn>,
    /// Deletions of Machines that were decided.
    pub deletions: Vec<String>,
    pub uid: u64,
}

impl World {
    /// The world as it was observed.
    pub fn new(base: Observed) -> Self {
        let mut api = Api::default();
        api.insert(fixtures_value(&base.control_plane));
        for machine in base.machines.values() {
            api.insert(fixtures_value(&machine.machine));
            machine.infrastructure.iter().for_each(|object| api.insert(object.clone()));
            machine.kubeadm_config.iter().for_each(|config| api.insert(fixtures_value(config)));
        }
        let members = match &base.etcd {
            EtcdMembers::Known(members) => members.clone(),
            EtcdMembers::Unknown { .. } => Vec::new(),
        };
        let originals = base.machines.keys().cloned().collect();
        Self {
            api,
            base,
            members,
            answers: BTreeMap::new(),
            default_answer: Answer::Covered,
            sick: BTreeSet::new(),
            log: Vec::new(),
            originals,
            asked: BTreeSet::new(),
            crash_after: None,
            steps_done: 0,
            waiting_on: Vec::new(),
            deletions: Vec::new(),
            uid: 0,
        }
    }

    /// Lets the process die once, after so many steps.
    pub fn crash_after(mut self, steps: usize) -> Self {
        self.crash_after = Some(steps);
        self
    }

    pub fn has_crashed(&self) -> bool {
        self.crash_after.is_none()
    }

    /// The user's change.
    pub fn change(&mut self, change: impl FnOnce(&mut KubeadmControlPlane)) {
        let mut control_plane: KubeadmControlPlane = self.control_plane();
        change(&mut control_plane);
        control_plane.metadata.generation = control_plane.metadata.generation.map(|generation| generation + 1);
        self.api.insert(fixtures_value(&control_plane));
        self.api.touch("KubeadmControlPlane", "cp");
    }

    /// The user wants another version and other hosts.
    pub fn upgrade(&mut self) {
        self.upgrade_to(fixtures::NEW, "t2");
    }

    pub fn upgrade_to(&mut self, version: &str, template: &str) {
        self.base.infrastructure_template = Some(fixtures::template(template));
        self.change(|control_plane| {
            control_plane.spec.version = version.to_owned();
            control_plane.spec.machine_template.spec.infrastructure_ref.name = template.to_owned();
        });
    }

    /// Decides and acts until nothing happens any more.
    pub fn settle(&mut self) {
        self.settle_for_now();
        // A creation that nobody went on with is only given up after a while.
        self.base.now += std::time::Duration::from_secs(11 * 60);
        self.settle_for_now();
    }

    fn settle_for_now(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.round() {
                return;
            }
        }
        panic!("no end after {MAX_ROUNDS} rounds: {:#?}", self.log);
    }

    /// One decision, what comes of it, and a turn of everybody else. Tells whether anything happened.
    pub fn round(&mut self) -> bool {
        let decision = self.decide();
        self.waiting_on = decision.waiting_on.clone();
        let acts = !decision.steps.is_empty() || !decision.reports.is_empty();
        if self.carry_out(&decision) {
            for report in &decision.reports {
                let _ = self.api.write(report, self.base.now);
            }
        }
        self.asked.clear();
        self.check();
        let others = self.let_others_work();
        self.check();
        self.base.now += std::time::Duration::from_secs(30);
        acts || others
    }

    /// The decision, with the answers of extensions if they are asked for.
    pub fn decide(&mut self) -> Decision {
        loop {
            let decision = decide(&self.observe());
            if decision.ask.is_subset(&self.asked) {
                return decision;
            }
            self.asked.extend(decision.ask);
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.api.names("Machine")
    }

    /// Which of the first machines are still there.
    pub fn originals(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| self.originals.contains(name)).collect()
    }

    pub fn versions(&self) -> BTreeSet<String> {
        self.machines().into_iter().filter_map(|machine| machine.spec.version).collect()
    }

    pub fn machines(&self) -> Vec<Machine> {
        self.names().iter().map(|name| self.api.get("Machine", name)).collect()
    }

    pub fn control_plane(&self) -> KubeadmControlPlane {
        self.api.get("KubeadmControlPlane", "cp")
    }

    pub fn object(&self, kind: &str, name: &str) -> Value {
        self.api.value(kind, name).cloned().expect("the object must be there")
    }

    /// Changes an object as somebody else would.
    pub fn edit(&mut self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        self.api.edit(kind, name, edit);
    }

    pub fn count(&self, kind: &str) -> usize {
        self.api.names(kind).len()
    }

    pub fn observe(&self) -> Observed {
        let mut observed = self.base.clone();
        observed.control_plane = self.control_plane();
        observed.random = self.uid;
        observed.etcd = EtcdMembers::Known(self.members.clone());
        observed.machines = BTreeMap::new();
        for name in self.names() {
            let machine = self.observe_machine(&observed, &name);
            observed.machines.insert(name, machine);
        }
        let objects = ["DevMachine", "KubeadmConfig"].into_iter().flat_map(|kind| self.api.of_kind(kind));
        let is_left = |object: &&Value| !observed.machines.contains_key(object["metadata"]["name"].as_str().unwrap());
        observed.leftovers = objects.filter(is_left).cloned().collect();
        observed
    }

    fn observe_machine(&self, observed: &Observed, name: &str) -> ObservedMachine {
        let machine: Machine = self.api.get("Machine", name);
        let infrastructure = self.api.value("DevMachine", name).cloned();
        let config: Option<KubeadmConfig> =
            self.api.value("KubeadmConfig", name).map(|value| serde_json::from_value(value.clone()).unwrap());
        let spec = |flavour| desired::kubeadm_config(observed, name, flavour, None)["spec"].clone();
        let found = config.as_ref().map(|config| json!(config.spec));
        let matches = [Flavour::Init, Flavour::Join].map(spec).into_iter().any(|wanted| Some(wanted) == found);
        let coverage = self.coverage(observed, name);
        ObservedMachine { machine, infrastructure, kubeadm_config: config, kubeadm_config_matches: matches, coverage }
    }

    fn coverage(&self, observed: &Observed, name: &str) -> Coverage {
        if !self.asked.contains(name) {
            return Coverage::NotAsked;
        }
        let infrastructure = desired::infrastructure(observed, name, None).unwrap_or_default();
        let config = desired::kubeadm_config(observed, name, Flavour::Join, None);
        let target = target(&observed.control_plane.spec.version, &infrastructure, &config);
        let verdict = match self.answers.get(name).unwrap_or(&self.default_answer) {
            Answer::Covered => Accepted::Covered { plan: frozen_plan("q", &target, &["can.memory"]) },
            Answer::Uncovered => Accepted::Uncovered { paths: vec!["spec.memory".to_owned()], answers: Vec::new() },
        };
        // Machines of which extensions say different things do not change in the same way.
        Coverage::Asked { target: hash(&target), change: hash(name), verdict }
    }

    /// Carries the steps out. Tells whether all were.
    fn carry_out(&mut self, decision: &Decision) -> bool {
        for step in &decision.steps {
            if self.crash_after == Some(self.steps_done) {
                self.crash_after = None;
                return false;
            }
            self.steps_done += 1;
            if !self.step(step) {
                return false;
            }
        }
        true
    }

    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::Write(effect) => return self.write(effect),
            Step::ForwardEtcdLeadership { from, candidates } => {
                self.log.push(format!("move leadership from {from}"));
                for member in &mut self.members {
                    member.is_leader = Some(&member.name) == candidates.first();
                }
            }
            Step::RemoveEtcdMember { name } => self.members.retain(|member| member.name != *name),
            Step::PrepareWorkloadCluster { .. } => {}
        }
        true
    }

    fn write(&mut self, effect: &Effect) -> bool {
        match effect {
            Effect::Apply(apply) if apply.target.kind == "Machine" && apply.target.uid.is_none() => {
                self.log.push("create".to_owned());
                self.uid += 1;
            }
            Effect::Delete(delete) if delete.target.kind == "Machine" => {
                let name = &delete.target.name;
                let is_original = self.originals.contains(name);
                self.log.push(format!("delete {}", if is_original { name } else { "new" }));
                self.deletions.push(name.clone());
            }
            Effect::Emit(event) => self.log.push(format!("{} {}", event.reason, self.alias(&event.about.name))),
            Effect::Apply(_) | Effect::Delete(_) | Effect::Patch(_) => {}
        }
        self.api.write(effect, self.base.now).is_ok()
    }

    fn alias(&self, name: &str) -> String {
        if self.originals.contains(name) { name.to_owned() } else { "new".to_owned() }
    }

    /// At most one machine is on the move.
    fn check(&self) {
        let is_on_the_move = |machine: &&Value| {
            let annotation = |key: &str| machine["metadata"]["annotations"].get(key).is_some();
            machine["metadata"].get("deletionTimestamp").is_some()
                || machine["status"].get("nodeRef").is_none()
                || annotation(UPDATE_IN_PROGRESS)
                || annotation(PENDING_HOOKS)
        };
        let moving = self.api.of_kind("Machine").filter(is_on_the_move).count();
        assert!(moving <= 1, "{moving} machines are on the move: {:#?}", self.log);
    }

    /// The other controllers each do what they have to. Tells whether anything happened.
    fn let_others_work(&mut self) -> bool {
        let before = self.api.version();
        for name in self.names() {
            self.work_on(&name);
        }
        self.api.version() != before
    }

    fn work_on(&mut self, name: &str) {
        let machine: Machine = self.api.get("Machine", name);
        let annotations = machine.metadata.annotations.clone().unwrap_or_default();
        if machine.metadata.deletion_timestamp.is_some() {
            self.terminate(name, annotations.contains_key(KCP_CLEANUP_HOOK));
        } else if annotations.contains_key(PENDING_HOOKS) {
            self.update(name, &annotations[UPDATE_PLAN]);
        } else if machine.status.node_ref.is_none() {
            self.start(name);
        }
        if self.api.value("Machine", name).is_some() {
            self.report_health(name);
        }
    }

    fn terminate(&mut self, name: &str, has_hook: bool) {
        if has_hook {
            let condition = json!([{
                "type": types::DELETING, "status": "True", "reason": reasons::WAITING_FOR_PRE_TERMINATE_HOOK,
                "message": "", "lastTransitionTime": fixtures::start(),
            }]);
            self.api.edit("Machine", name, |machine| {
                let mut all = machine["status"]["conditions"].as_array().cloned().unwrap_or_default();
                all.retain(|existing| existing["type"] != types::DELETING);
                all.extend(condition.as_array().cloned().unwrap_or_default());
                machine["status"]["conditions"] = json!(all);
            });
        } else {
            assert!(self.members.iter().all(|member| member.name != name), "{name} left etcd before it went");
            ["Machine", "DevMachine", "KubeadmConfig"].into_iter().for_each(|kind| self.api.remove(kind, name));
        }
    }

    /// What the Machine controller and an extension do, in one go.
    fn update(&mut self, name: &str, plan: &str) {
        let plan = FrozenPlan::decode(plan).expect("the plan must decode");
        let observed = self.observe();
        let infrastructure = self.object("DevMachine", name);
        let config = self.object("KubeadmConfig", name);
        let machine = &observed.machines[name].machine;
        let version = machine.spec.version.as_deref().expect("the machine must have a version");
        let runs = target(version, &infrastructure, &config);
        assert_eq!(plan.target, hash(&runs), "{name} runs something else than was accepted: {runs}");
        let leader = self.members.iter().find(|member| member.is_leader).map(|member| member.name.clone());
        assert!(self.members.len() == 1 || leader.as_deref() != Some(name), "{name} is updated while it leads etcd");
        for kind in ["Machine", "DevMachine", "KubeadmConfig"] {
            for annotation in [UPDATE_IN_PROGRESS, UPDATE_PLAN, PENDING_HOOKS] {
                self.api.unannotate(kind, name, annotation);
            }
        }
        self.api.edit("Machine", name, |machine| machine["status"]["nodeInfo"]["kubeletVersion"] = json!(version));
    }

    fn start(&mut self, name: &str) {
        let version = self.object("Machine", name)["spec"]["version"].clone();
        self.api.edit("Machine", name, |machine| {
            let mut typed: Machine = serde_json::from_value(machine.clone()).unwrap();
            let fresh = fixtures::machine(name, 0).machine;
            typed.spec.provider_id = fresh.spec.provider_id;
            typed.status = fresh.status;
            typed.status.node_info.as_mut().unwrap().kubelet_version = version.as_str().unwrap().to_owned();
            *machine = serde_json::to_value(&typed).unwrap();
        });
        let owner = json!([{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
            "uid": self.object("Machine", name)["metadata"]["uid"], "controller": true,
        }]);
        for kind in ["DevMachine", "KubeadmConfig"] {
            self.api.edit(kind, name, |object| object["metadata"]["ownerReferences"] = owner.clone());
        }
        self.members.push(EtcdMember { is_leader: self.members.is_empty(), ..fixtures::member(name) });
    }

    fn report_health(&mut self, name: &str) {
        use refit_api::conditions::Status;
        let status = if self.sick.contains(name) { Status::False } else { Status::True };
        let all = &self.api.value("Machine", name).expect("the machine must be there")["status"]["conditions"];
        let own = all.as_array().and_then(|all| all.iter().find(|one| one["type"] == types::API_SERVER_POD_HEALTHY));
        if own.is_some_and(|own| own["status"] == status.as_str()) {
            return;
        }
        self.api.edit("Machine", name, |machine| {
            let mut typed: Machine = serde_json::from_value(machine.clone()).unwrap();
            fixtures::set(&mut typed.status.conditions, types::API_SERVER_POD_HEALTHY, status);
            *machine = serde_json::to_value(&typed).unwrap();
        });
    }
}

/// What a machine is, or should be: its version, its host and its configuration.
fn target(version: &str, infrastructure: &Value, config: &Value) -> String {
    json!([version, infrastructure["spec"]["memory"], config["spec"]]).to_string()
}

fn fixtures_value(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("the object must encode")
}
