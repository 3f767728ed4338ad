//! A decision in the making.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use refit_api::cluster::MachineSet;
use refit_api::conditions::NewCondition;
use refit_api::name_set::NameSet;

use super::decision::{Decision, Task};
use super::failures;
use super::observed::{Observed, ObservedMachine};
use super::problem::Problem;
use crate::effect::Effect;
use crate::handover::Handover;
use crate::machine_set::start_move::handover_of;
use crate::reading::NotFound;
use crate::waiting::WaitingOn;

/// A decision in the making.
pub(super) struct Draft<'a> {
    pub observed: &'a Observed,
    /// The Machines of the MachineSet by name. Nothing as long as they are not known.
    pub machines: Option<BTreeMap<&'a str, &'a ObservedMachine>>,
    pub handover: Handover,
    /// Its MachineDeployment wants machines of another MachineSet.
    pub is_outgoing: bool,
    /// What keeps machines from being created, in words.
    pub blockers: Vec<String>,
    /// The kinds of templates that are not there, bootstrap first.
    pub missing_templates: Vec<&'a str>,
    /// Machines that somebody wants to be replaced and that are not, with what is said of them.
    pub spared: BTreeMap<String, NewCondition>,
    /// Machines whose update is on record as failed.
    pub recorded: NameSet,
    /// Machines whose update counts as failed because they are to be replaced in the middle of it.
    pub to_record: BTreeSet<String>,
    /// Machines that a task of this pass is about.
    written: BTreeSet<String>,
    /// Machines that a task of this pass deletes.
    deleted: BTreeSet<String>,
    /// The place of the task about an object.
    places: BTreeMap<String, usize>,
    pub decision: Decision,
}

impl<'a> Draft<'a> {
    pub fn new(observed: &'a Observed) -> Self {
        let status = observed.machine_set.status.clone();
        Self {
            observed,
            machines: None,
            handover: handover_of(&observed.machine_set),
            is_outgoing: false,
            blockers: Vec::new(),
            missing_templates: Vec::new(),
            spared: BTreeMap::new(),
            recorded: failures::recorded(&observed.machine_set),
            to_record: BTreeSet::new(),
            written: BTreeSet::new(),
            deleted: BTreeSet::new(),
            places: BTreeMap::new(),
            decision: Decision { status, ..Decision::default() },
        }
    }

    pub fn set(&self) -> &'a MachineSet {
        &self.observed.machine_set
    }

    pub fn is_deleting(&self) -> bool {
        self.set().metadata.deletion_timestamp.is_some()
    }

    /// The Machines of the MachineSet, in the order of their names. None as long as they are not known.
    pub fn machines(&self) -> Vec<&'a ObservedMachine> {
        self.machines.iter().flatten().map(|(_, machine)| *machine).collect()
    }

    /// The Machines of these names, in this order.
    pub fn named(&self, names: &[String]) -> Vec<&'a ObservedMachine> {
        let Some(machines) = &self.machines else { return Vec::new() };
        names.iter().filter_map(|name| machines.get(name.as_str()).copied()).collect()
    }

    /// Adds a task, or what is to be done after what there is to be done about the same object already. One without
    /// effects is none.
    pub fn task(&mut self, task: Task) {
        if task.effects.is_empty() {
            return;
        }
        self.remember(&task.effects);
        let tasks = &mut self.decision.tasks;
        match self.places.get(&task.about) {
            Some(place) => tasks[*place].effects.extend(task.effects.into_iter().map(Effect::after_a_write)),
            None => {
                self.places.insert(task.about.clone(), tasks.len());
                tasks.push(task);
            }
        }
    }

    fn remember(&mut self, effects: &[Effect]) {
        for effect in effects {
            let (target, is_deletion) = match effect {
                Effect::Apply(apply) => (&apply.target, false),
                Effect::Patch(patch) => (&patch.target, false),
                Effect::Delete(delete) => (&delete.target, true),
                Effect::Emit(_) => continue,
            };
            if target.kind == "Machine" {
                self.written.insert(target.name.clone());
            }
            if target.kind == "Machine" && is_deletion {
                self.deleted.insert(target.name.clone());
            }
        }
    }

    /// Adds effects as one task for each object. Their order stays for each.
    pub fn task_for_each_target(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let target = match &effect {
                Effect::Apply(apply) => &apply.target,
                Effect::Patch(patch) => &patch.target,
                Effect::Delete(delete) => &delete.target,
                Effect::Emit(event) => &event.about,
            };
            self.task(Task::of_target(target, vec![effect.clone()]));
        }
    }

    /// Whether this pass writes to the Machine. What is for the version that was read would be refused after that.
    pub fn is_written(&self, machine: &str) -> bool {
        self.written.contains(machine)
    }

    /// Whether this pass deletes the Machine.
    pub fn is_deleted(&self, machine: &str) -> bool {
        self.deleted.contains(machine)
    }

    pub fn problem(&mut self, problem: Problem) {
        self.decision.problems.push(problem);
    }

    /// The user asks for something that makes no sense: it is told, and nothing follows from it.
    pub fn invalid(&mut self, problem: Problem) {
        self.wait(WaitingOn::InvalidSpec { what: problem.to_string() });
        self.problem(problem);
    }

    pub fn wait(&mut self, reason: WaitingOn) {
        self.decision.waiting_on.push(reason);
    }

    pub fn wait_for(&mut self, what: impl Into<String>) {
        self.wait(WaitingOn::Other { what: what.into() });
    }

    /// Waits for these machines, if there are any.
    pub fn wait_unless_empty(&mut self, machines: Vec<String>, reason: impl FnOnce(Vec<String>) -> WaitingOn) {
        if !machines.is_empty() {
            self.wait(reason(machines));
        }
    }

    /// Says, once, that a template is needed and not there.
    pub fn missing(&mut self, error: NotFound) {
        let problem = Problem::Template(error);
        if !self.decision.problems.contains(&problem) {
            self.problem(problem);
        }
    }

    /// Asks to decide again after `delay`, or sooner if somebody asked for that already.
    pub fn requeue(&mut self, delay: Duration) {
        let earlier = self.decision.requeue_after;
        self.decision.requeue_after = Some(earlier.map_or(delay, |earlier| earlier.min(delay)));
    }

    /// What follows makes Machines the MachineSet's.
    pub fn adopts(&mut self) {
        self.decision.adopts = true;
    }

    pub fn into_decision(self) -> Decision {
        self.decision
    }
}
