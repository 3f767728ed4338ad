//! A Machine and what belongs to it, kept by an API server in miniature.

mod objects;

use jiff::SignedDuration;
use refit_api::conditions::get;
use refit_api::hooks::UpdateMachineResponse;
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use serde_json::{Value, json};

use crate::coverage::testing::frozen_plan;
use crate::effect::{Effect, Patch, Target};
use crate::machine::quiet::Quiet;
use crate::machine::*;
use crate::merge;
use objects::observed;
pub use objects::{decode, found, name, now};

/// No scenario needs more rounds than this to come to rest.
const MAX_ROUNDS: usize = 60;

/// How the updaters of a world answer.
pub type Updater = fn(&Call) -> Result<UpdateMachineResponse, String>;

#[derive(Clone)]
pub struct World {
    pub seen: Observed,
    pub updater: Updater,
    /// The calls that were made.
    pub calls: Vec<Call>,
    /// The reasons of the events.
    pub events: Vec<&'static str>,
    /// Their words.
    pub told: Vec<String>,
    /// The Machine is gone.
    pub is_gone: bool,
    /// How many effects are carried out before the process dies, once.
    pub crash_after: Option<usize>,
    carried_out: usize,
}

impl World {
    /// A Machine that runs, before its controller has ever said anything of it.
    pub fn running() -> Self {
        let updater: Updater = |_| Ok(UpdateMachineResponse::done());
        Self {
            seen: observed(),
            updater,
            calls: Vec::new(),
            events: Vec::new(),
            told: Vec::new(),
            is_gone: false,
            crash_after: None,
            carried_out: 0,
        }
    }

    /// A Machine that runs and of which all is said.
    pub fn settled() -> Self {
        let mut world = Self::running();
        world.settle();
        world.events.clear();
        world.told.clear();
        world.carried_out = 0;
        world
    }

    /// A Machine whose owner has handed its update over, with a plan of these extensions.
    pub fn updating(plan: Option<&[&str]>) -> Self {
        let mut world = Self::settled();
        world.annotate(UPDATE_IN_PROGRESS, "");
        world.annotate(PENDING_HOOKS, "UpdateMachine");
        if let Some(run) = plan {
            world.annotate(UPDATE_PLAN, &frozen_plan("q", "t", run).encode());
        }
        for object in [&mut world.seen.infrastructure, &mut world.seen.bootstrap] {
            if let External::Found { object, .. } = object {
                object["metadata"]["annotations"][UPDATE_IN_PROGRESS] = json!("");
            }
        }
        if plan.is_none() {
            world.seen.updaters = Updaters::Registered(vec![name("update.firmware")]);
        }
        world
    }

    /// A Machine that somebody has deleted.
    pub fn deleting() -> Self {
        let mut world = Self::settled();
        world.delete();
        world
    }

    pub fn delete(&mut self) {
        self.seen.machine.metadata.deletion_timestamp = Some(decode(json!("2026-01-01T00:00:00Z")));
    }

    pub fn annotate(&mut self, key: &str, value: &str) {
        self.seen.machine.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.seen.machine.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Sets an annotation of the MachineDeployment.
    pub fn policy(&mut self, key: &str, value: &str) {
        let deployment = self.seen.machine_deployment.as_mut().unwrap();
        deployment.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    }

    /// A condition of the Machine as `Status Reason: message`.
    pub fn condition(&self, type_: &str) -> String {
        let Some(found) = get(&self.seen.machine.status.conditions, type_) else { return "missing".to_owned() };
        let message = if found.message.is_empty() { String::new() } else { format!(": {}", found.message) };
        format!("{} {}{message}", found.status, found.reason)
    }

    pub fn later(&mut self, seconds: i64) {
        self.seen.now += SignedDuration::from_secs(seconds);
        self.seen.connection.last_probe_success = Some(self.seen.now);
    }

    /// Decides and carries out until nothing is left to do. Time stands still.
    pub fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if self.round() {
                return;
            }
        }
        panic!("no rest after {MAX_ROUNDS} rounds: {:#?}", decide(&self.seen).plan);
    }

    /// One round. Says whether there was nothing to do.
    pub fn round(&mut self) -> bool {
        let decision = decide(&self.seen);
        let has_nothing_to_do = decision.plan.effects.is_empty() && decision.errand.is_none();
        // What is not told now is told after a while, and nothing else happens until then.
        self.seen.quiet = decision.quiet_about.map(|about| Quiet { about, since: self.seen.now - about.patience() });
        for effect in decision.plan.effects {
            if self.is_gone || self.dies() {
                return self.is_gone;
            }
            self.carry_out(effect);
        }
        if let Some(errand) = decision.errand {
            self.run(errand);
        }
        (has_nothing_to_do && decision.quiet_about.is_none()) || self.is_gone
    }

    fn dies(&mut self) -> bool {
        let dies = self.crash_after == Some(self.carried_out);
        self.carried_out += 1;
        if dies {
            self.crash_after = None;
            self.seen.answer = None;
            self.seen.drain = None;
            self.seen.volumes = None;
        }
        dies
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Patch(patch) => self.patch(&patch),
            Effect::Delete(delete) => {
                *self.slot(&delete.target) = External::Missing;
                if is_in_workload_cluster(&delete.target) {
                    self.seen.node = NodeSeen::Missing;
                }
            }
            Effect::Emit(event) => {
                self.events.push(event.reason);
                self.told.push(event.message.clone());
            }
            Effect::Apply(apply) => panic!("the Machine controller applies nothing: {apply:?}"),
        }
    }

    fn slot(&mut self, target: &Target) -> &mut External {
        match target.kind.as_str() {
            "DevMachine" => &mut self.seen.infrastructure,
            "KubeadmConfig" => &mut self.seen.bootstrap,
            // Not looked at by anybody here: the Node has its own place.
            _ => &mut self.seen.control_plane,
        }
    }

    fn patch(&mut self, patch: &Patch) {
        match patch.target.kind.as_str() {
            "Machine" => {
                let mut value = serde_json::to_value(&self.seen.machine).unwrap();
                merge_as_server(&mut value, patch);
                self.seen.machine = decode(value);
                let metadata = &self.seen.machine.metadata;
                let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
                self.is_gone = metadata.deletion_timestamp.is_some() && finalizers.is_empty();
            }
            "Node" => {
                let NodeSeen::Found(node) = &self.seen.node else { panic!("there is no Node to patch") };
                let mut value = serde_json::to_value(node).unwrap();
                merge_as_server(&mut value, patch);
                self.seen.node = NodeSeen::Found(Box::new(decode(value)));
            }
            _ => {
                let External::Found { object, .. } = self.slot(&patch.target) else { panic!("nothing to patch") };
                merge_as_server(object, patch);
            }
        }
    }

    fn run(&mut self, errand: Errand) {
        let at = self.seen.now;
        match errand {
            Errand::Ask { call, about, .. } => {
                self.calls.push(call.clone());
                let response = (self.updater)(&call);
                self.seen.answer = Some(Answer { call, about, at, response });
            }
            Errand::Drain { .. } => self.seen.drain = Some(Drain { at, state: DrainState::Done }),
            Errand::InspectVolumes { .. } => {
                self.seen.volumes = Some(Volumes { at, state: VolumesState::Detached });
            }
        }
    }

    /// All that is stored, without versions.
    pub fn stored(&self) -> Value {
        let mut machine = serde_json::to_value(&self.seen.machine).unwrap();
        machine["metadata"]["resourceVersion"] = Value::Null;
        let without_version = |object: Option<&Value>| {
            let mut object = object.cloned().unwrap_or_default();
            if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            object
        };
        let objects = [&self.seen.infrastructure, &self.seen.bootstrap].map(|it| without_version(it.object()));
        let node = serde_json::to_value(self.seen.node.node()).unwrap();
        json!([machine, objects, without_version(Some(&node)), self.is_gone])
    }
}

/// Merges, unless a precondition does not hold.
fn merge_as_server(object: &mut Value, patch: &Patch) {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let version = text(object, "/metadata/resourceVersion").unwrap();
    assert_eq!(patch.target.uid, text(object, "/metadata/uid"));
    if let Some(expected) = &patch.resource_version {
        assert_eq!(*expected, version, "a conflict: {patch:#?}");
    }
    merge::apply(object, &patch.merge);
    let next = version.parse::<u64>().unwrap() + 1;
    object["metadata"]["resourceVersion"] = json!(next.to_string());
}
