//! A small world around MachineSets: their passes over a store, and models of the other controllers.

mod others;

use std::collections::{BTreeMap, BTreeSet};

use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::selector::Selector;
use refit_api::vocabulary::annotations::REVISION;
use refit_api::vocabulary::refit::annotations::SCALED_DOWN;
use serde_json::{Value, json};

use crate::coverage::Accepted;
use crate::coverage::testing::frozen_plan;
use crate::effect::{Effect, Target, Write};
use crate::machine_set::orphans::ProviderObjects;
use crate::machine_set::reconcile::{Decision, MoveTarget, Observed, ObservedMachine, SetTemplates, decide};
use crate::machine_set::refusal::Refusal;
use crate::machine_set::start_move::{Outcome, Rehearsal, Rehearsed, handover_of};
use crate::reading::{Listed, Read};
use crate::testing::{CREATED, Store, at, cluster, machine_deployment, machine_set, template};

/// How many rounds a world may take to settle.
const MAX_ROUNDS: usize = 40;
/// How often a pass is decided again for answers and dry runs.
const MAX_ANSWERS: usize = 4;

#[derive(Clone)]
pub struct World {
    pub store: Store,
    pub deployment: MachineDeployment,
    pub control_plane: Value,
    pub verdict: Accepted,
    /// The names of hosts whose new spec a webhook refuses.
    pub refused: BTreeSet<String>,
    /// The process dies before this many more writes.
    pub crash_after: Option<usize>,
}

impl World {
    /// A world with these MachineSets of the MachineDeployment `md`, the last of which is the current one.
    pub fn new(sets: &[(&str, i32)]) -> Self {
        let mut store = Store::default();
        for (number, (name, replicas)) in sets.iter().enumerate() {
            let mut set = machine_set(name, *replicas);
            set.metadata.annotations = Some(BTreeMap::from([(REVISION.to_owned(), (number + 1).to_string())]));
            store.insert_typed(&set);
            store.insert(template("HostTemplate", &format!("{name}-host"), json!({ "cpus": number })));
            store.insert(template("BootTemplate", &format!("{name}-boot"), json!({ "files": [name] })));
        }
        let mut deployment = machine_deployment(3);
        deployment.metadata.annotations = Some(BTreeMap::from([(REVISION.to_owned(), sets.len().to_string())]));
        let verdict = Accepted::Covered { plan: frozen_plan("q", "t", &["can.memory"]) };
        let control_plane = json!({ "kind": "ControlPlane", "metadata": { "name": "cp" } });
        Self { store, deployment, control_plane, verdict, refused: BTreeSet::new(), crash_after: None }
    }

    /// The same, settled: with Machines that run.
    pub fn running(sets: &[(&str, i32)]) -> Self {
        let mut world = Self::new(sets);
        world.settle();
        world
    }

    pub fn set(&self, name: &str) -> MachineSet {
        self.store.typed(name).expect("the MachineSet must be there")
    }

    /// Changes a MachineSet as a user or the MachineDeployment would.
    pub fn change_set(&mut self, name: &str, change: impl FnOnce(&mut MachineSet)) {
        let mut set = self.set(name);
        change(&mut set);
        self.store.insert_typed(&set);
    }

    /// The user wants so many machines, and the MachineDeployment says that as many may go as are too many then.
    pub fn scale(&mut self, name: &str, replicas: i32) {
        self.change_set(name, |set| {
            let fewer = (set.spec.replicas.unwrap_or_default() - replicas).max(0);
            let annotations = set.metadata.annotations.get_or_insert_default();
            let before: i32 = annotations.get(SCALED_DOWN).and_then(|count| count.parse().ok()).unwrap_or_default();
            annotations.insert(SCALED_DOWN.to_owned(), (before + fewer).to_string());
            set.spec.replicas = Some(replicas);
        });
    }

    pub fn annotate_set(&mut self, name: &str, key: &str, value: &str) {
        self.change_set(name, |set| {
            set.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        });
    }

    pub fn machines(&self) -> Vec<Machine> {
        self.store.list_typed()
    }

    /// The names of the Machines that a MachineSet controls.
    pub fn names_of(&self, set: &str) -> Vec<String> {
        let uid = format!("uid-{set}");
        let is_of =
            |machine: &&Machine| machine.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        self.machines().iter().filter(is_of).map(|machine| crate::fleet::name(machine).to_owned()).collect()
    }

    pub fn observe(&self, name: &str) -> Observed {
        let set = self.set(name);
        let selector = Selector::from_field(Some(&set.spec.selector)).expect("the selector must be fine");
        let is_found =
            |machine: &Machine| selector.matches(machine.metadata.labels.as_ref().unwrap_or(&BTreeMap::new()));
        let machines = self.machines().into_iter().filter(is_found).map(|machine| self.observe_machine(machine));
        Observed {
            now: at(CREATED + 60),
            random: (0..300).collect(),
            cluster: cluster(),
            deployment: Read::Found(self.deployment.clone()),
            provider_objects: ProviderObjects {
                infrastructure: Listed::All(self.store.list("Host")),
                bootstrap: Some(Listed::All(self.store.list("Boot"))),
            },
            machines: Listed::All(machines.collect()),
            templates: self.templates(name),
            control_plane: Some(Read::Found(self.control_plane.clone())),
            move_target: handover_of(&set).move_to.map(|target| self.target(&target)),
            machine_set: set,
        }
    }

    fn observe_machine(&self, machine: Machine) -> ObservedMachine {
        let name = crate::fleet::name(&machine).to_owned();
        ObservedMachine {
            infrastructure: self.read("Host", &name).into(),
            bootstrap: Some(self.read("Boot", &name).into()),
            is_synced: false,
            machine: machine.into(),
        }
    }

    fn templates(&self, set: &str) -> SetTemplates {
        SetTemplates {
            infrastructure: self.read("HostTemplate", &format!("{set}-host")),
            bootstrap: Some(self.read("BootTemplate", &format!("{set}-boot"))),
        }
    }

    fn target(&self, name: &str) -> MoveTarget {
        let machine_set = self.store.typed(name).map_or(Read::Missing, Read::Found);
        MoveTarget { machine_set, templates: self.templates(name), verdict: None, rehearsed: BTreeMap::new() }
    }

    fn read(&self, kind: &str, name: &str) -> Read<Value> {
        self.store.get(kind, name).map_or(Read::Missing, Read::Found)
    }

    /// Decides about a MachineSet, and again with the answers and dry runs that the decision asks for.
    pub fn decide(&self, set: &str) -> Decision {
        let mut observed = self.observe(set);
        for _ in 0..MAX_ANSWERS {
            let decision = decide(&observed);
            if !decision.ask && decision.rehearse.is_empty() {
                return decision;
            }
            let target = observed.move_target.as_mut().expect("only a move needs answers");
            if decision.ask {
                target.verdict = Some(self.verdict.clone());
            }
            let rehearsed = decision.rehearse.into_iter().map(|(name, it)| (name.clone(), self.rehearse(&name, it)));
            target.rehearsed.extend(rehearsed);
        }
        panic!("the same is asked again and again");
    }

    /// The dry run: what the API server would say to each of the writes, as it is now.
    fn rehearse(&self, name: &str, rehearsal: Rehearsal) -> Rehearsed {
        let refused = |write: &Write| {
            let why = match self.refused.contains(name) {
                true => Err("spec is immutable".to_owned()),
                false => self.store.clone().try_carry_out(&write.clone().into()),
            };
            let refusal = |words| Refusal { code: 422, words, fields: self.refused_fields(), takes_new_object: true };
            why.err().map(|words| Outcome::Refused { object: write.target().clone(), refusal: refusal(words) })
        };
        let outcome = rehearsal.writes.iter().find_map(refused).unwrap_or(Outcome::Accepted);
        Rehearsed { rehearsal, outcome }
    }

    /// The fields that a webhook names.
    fn refused_fields(&self) -> Vec<String> {
        vec!["spec.cpus".to_owned()]
    }

    /// One pass of a MachineSet, if it is there. Every write must be taken by the API server.
    pub fn pass(&mut self, name: &str) {
        if self.store.get("MachineSet", name).is_none() {
            return;
        }
        let decision = self.decide(name);
        check_tasks(&decision);
        let effects: Vec<_> = decision.effects().chain(&decision.report).cloned().collect();
        for effect in effects {
            if self.crash_after == Some(0) {
                self.crash_after = None;
                return;
            }
            self.crash_after = self.crash_after.map(|left| left - 1);
            self.store.carry_out(&[effect]);
        }
    }

    /// Carries out a decision as the shell does: what is refused ends its task, and the others go on.
    pub fn carry_out(&mut self, decision: &Decision) {
        check_tasks(decision);
        for task in &decision.tasks {
            let _ = task.effects.iter().try_for_each(|effect| self.store.try_carry_out(effect));
        }
        let _ = decision.report.iter().try_for_each(|effect| self.store.try_carry_out(effect));
    }

    /// Lets everybody have turns until nothing changes.
    pub fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let (before, crash_before) = (self.store.contents(), self.crash_after.is_some());
            for set in self.store.list_typed::<MachineSet>() {
                self.pass(set.metadata.name.as_deref().expect("it must have a name"));
                self.run_machines();
            }
            self.acknowledge();
            let has_crashed = crash_before && self.crash_after.is_none();
            if self.store.contents() == before && !has_crashed {
                return self.check_rest();
            }
        }
        panic!("it must settle");
    }

    /// Where nothing is left to do, nothing is written.
    fn check_rest(&self) {
        for set in self.store.list_typed::<MachineSet>() {
            let decision = self.decide(set.metadata.name.as_deref().expect("it must have a name"));
            assert_eq!(decision.tasks, [], "at rest nothing is written");
            assert_eq!(decision.report, None, "at rest nothing is told");
        }
    }
}

/// No two tasks write to the same object.
fn check_tasks(decision: &Decision) {
    let mut seen: BTreeMap<&Target, &str> = BTreeMap::new();
    for task in &decision.tasks {
        for effect in &task.effects {
            let target = match effect {
                Effect::Apply(apply) => &apply.target,
                Effect::Patch(patch) => &patch.target,
                Effect::Delete(delete) => &delete.target,
                Effect::Emit(_) => continue,
            };
            let first = *seen.entry(target).or_insert(&task.about);
            assert_eq!(first, task.about, "two tasks write to {target:?}");
        }
    }
}
