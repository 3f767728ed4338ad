//! The reconcile of the MachineDeployment: what it sees, and what its plan does to the world.

use jiff::Timestamp;
use refit_api::policy::InPlacePolicy;

use super::entry::Answer;
use super::number::{MachineNumber, SetNumber};
use super::scenario::{Scenario, Strategy as ScenarioStrategy};
use super::world::{Outcome, State, World};
use crate::handover::Handover;
use crate::machine_deployment::{
    self as planner, Candidate, Coverage, DeploymentView, MachineSetPlan, MachineSetView, MachineView, Observed,
    OldMachineSet, Plan, Selection, Strategy, TemplateDifference,
};
use crate::machine_set::refusal::MoveRefusal;

/// Plans and writes all MachineSets at once.
pub fn reconcile(world: &mut World, scenario: &Scenario) -> Outcome {
    let (numbers, selection) = select(world);
    let (new, mut notes) = match &selection.new {
        Ok(index) => (Some(numbers[*index]), Vec::new()),
        Err(_) if world.paused => (None, Vec::new()),
        Err(why) => create_set(world, why),
    };
    let plan = planner::plan(&observe(world, scenario, new, &numbers, &selection));
    notes.extend(apply(world, &plan));
    Outcome { notes, waiting_on: plan.waiting_on.iter().map(ToString::to_string).collect(), ..Outcome::default() }
}

/// Numbers stand for ages: the higher, the younger.
pub fn age(number: u32) -> Timestamp {
    Timestamp::from_second(i64::from(number)).expect("32 bits of seconds must be a time")
}

fn select(world: &World) -> (Vec<SetNumber>, Selection) {
    let candidate = |(number, set): (&SetNumber, &super::world::MachineSet)| {
        let mut difference = TemplateDifference::default();
        if set.template != world.template {
            difference.fields.push(format!("template {}, {} required", set.template, world.template));
        }
        Candidate {
            name: number.to_string(),
            created: age(number.0),
            spec_replicas: set.spec_replicas,
            is_going: false,
            difference,
        }
    };
    let candidates: Vec<Candidate> = world.sets.iter().map(candidate).collect();
    (world.sets.keys().copied().collect(), planner::select(&candidates, None, age(u32::MAX)))
}

fn create_set(world: &mut World, why: &str) -> (Option<SetNumber>, Vec<String>) {
    let number = SetNumber(world.last_set + 1);
    world.add_set(number, world.template.clone());
    (Some(number), vec![format!("{number}: created, as {why}")])
}

fn observe(
    world: &World,
    scenario: &Scenario,
    new: Option<SetNumber>,
    numbers: &[SetNumber],
    selection: &Selection,
) -> Observed<'static> {
    let rolls = !world.paused && world.strategy == ScenarioStrategy::RollingUpdate;
    let old = |discarded: &planner::Discarded| {
        let coverage = match (&discarded.not_in_place, world.answer) {
            (Some(why), _) => Coverage::Uncovered { why: why.clone() },
            (None, _) if world.policy == InPlacePolicy::Never => {
                Coverage::Uncovered { why: "the policy is to replace machines".to_owned() }
            }
            (None, _) if !rolls => Coverage::Undecided { why: "nothing rolls out".to_owned() },
            (None, Answer::Covered) if is_refused(world, numbers[discarded.index], new) => {
                Coverage::Uncovered { why: "the provider refuses the change for good".to_owned() }
            }
            (None, Answer::Covered) => Coverage::Covered,
            (None, Answer::Uncovered) => Coverage::Uncovered { why: "no extension covers the change".to_owned() },
            (None, Answer::Undecided) => Coverage::Undecided { why: "an extension does not answer".to_owned() },
        };
        OldMachineSet { view: view(world, numbers[discarded.index]), coverage }
    };
    Observed {
        deployment: deployment(world, scenario),
        new: new.map(|new| view(world, new)),
        old: selection.old.iter().map(old).collect(),
        machines: machines(world),
    }
}

/// Whether machines have to be replaced, and may be.
fn is_refused(world: &World, set: SetNumber, new: Option<SetNumber>) -> bool {
    world.policy == InPlacePolicy::Prefer && new.is_some_and(|new| world.is_refused_for_good(set, new))
}

fn deployment(world: &World, scenario: &Scenario) -> DeploymentView {
    let strategy = match world.strategy {
        ScenarioStrategy::OnDelete => Strategy::OnDelete,
        ScenarioStrategy::RollingUpdate => Strategy::RollingUpdate(
            scenario.limits_under(world.strategy, world.replicas).expect("limits must be validated"),
        ),
    };
    DeploymentView {
        replicas: world.replicas,
        strategy,
        in_place: world.policy,
        keep_originals: world.keep_originals,
        paused: world.paused,
    }
}

fn view(world: &World, number: SetNumber) -> MachineSetView {
    let set = &world.sets[&number];
    MachineSetView {
        failed_updates: Default::default(),
        name: number.to_string(),
        created: age(number.0),
        spec_replicas: set.spec_replicas,
        counters: set.counters,
        handover: set.handover.clone(),
        max_replicas: None,
        desired_replicas: set.desired_replicas,
        disable_machine_create: set.disable_machine_create,
        version: "of the simulation".to_owned(),
        held: true,
    }
}

fn machines(world: &World) -> Vec<MachineView<'static>> {
    let view = |(number, machine): (&MachineNumber, &super::world::Machine)| MachineView {
        name: number.to_string().into(),
        machine_set: machine.set.to_string().into(),
        created: age(number.0),
        scaffolding: machine.scaffolding,
        pending_acknowledge: machine.is_pending(),
        updating: machine.is_updating(),
        update_failed: machine.has_failed(),
        update_over: machine.is_over(),
        gone: None,
        available: machine.is_available(),
        deleting: machine.deleting,
        refused: machine.refused.map(|(to, for_good)| Box::new(refusal(to, for_good))),
    };
    world.machines.iter().map(view).collect()
}

fn refusal(to: SetNumber, for_good: bool) -> MoveRefusal {
    let words = "the provider refuses the change".to_owned();
    MoveRefusal { to: to.to_string(), since: String::new(), for_good, words }
}

/// Writes the plan into the world, and tells what it says about it.
fn apply(world: &mut World, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    for planned in &plan.machine_sets {
        let number = SetNumber::parse(&planned.name).expect("a plan must be about MachineSets of the world");
        notes.extend(apply_to(world, number, planned));
    }
    for machine in plan.wanted.iter().filter_map(|name| MachineNumber::parse(name)) {
        world.machines.get_mut(&machine).into_iter().for_each(|machine| machine.scaffolding = false);
    }
    notes
}

/// Reasons are told when they lead to something new, not again in every pass.
fn apply_to(world: &mut World, number: SetNumber, planned: &MachineSetPlan) -> Vec<String> {
    for (machine, state) in world.machines_of_mut(number) {
        if state.is_pending() && planned.handover.acknowledged.contains(&machine.to_string()) {
            state.state = State::Pending { acknowledged: true };
        }
    }
    let set = world.sets.get_mut(&number).expect("a plan must be about MachineSets of the world");
    // Who may delete what follows from the number.
    let Handover { surge, scaled_down, replaced, keep_at_least, .. } = set.handover;
    let handover = Handover { surge, scaled_down, replaced, keep_at_least, ..planned.handover.clone() };
    let is_new = (set.spec_replicas, &set.handover) != (planned.replicas, &handover);
    let scaled = (set.spec_replicas != planned.replicas)
        .then(|| format!("{number}: replicas {} -> {}", set.spec_replicas, planned.replicas));
    set.spec_replicas = planned.replicas;
    set.handover = planned.handover.clone();
    set.disable_machine_create = planned.disable_machine_create;
    set.desired_replicas = Some(world.replicas);
    let reasons = planned.notes.iter().filter(|_| is_new).map(|note| format!("{number}: {note}"));
    scaled.into_iter().chain(reasons).collect()
}
