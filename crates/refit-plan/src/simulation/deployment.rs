//! The reconcile of the MachineDeployment: what it sees, and what its plan does to the world.

use jiff::Timestamp;

use super::number::SetNumber;
use super::scenario::{Scenario, Strategy as ScenarioStrategy};
use super::world::{Outcome, State, World};
use crate::machine_deployment::{
    self as planner, Candidate, Coverage, DeploymentView, MachineSetPlan, MachineSetView, MachineView, Observed,
    OldMachineSet, Plan, Selection, Strategy, TemplateDifference,
};

/// Plans and writes all MachineSets at once.
pub fn reconcile(world: &mut World, scenario: &Scenario) -> Outcome {
    let (numbers, selection) = select(world);
    let (new, mut notes) = match &selection.new {
        Ok(index) => (numbers[*index], Vec::new()),
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
        Candidate { name: number.to_string(), created: age(number.0), spec_replicas: set.spec_replicas, difference }
    };
    let candidates: Vec<Candidate> = world.sets.iter().map(candidate).collect();
    (world.sets.keys().copied().collect(), planner::select(&candidates, None, age(u32::MAX)))
}

fn create_set(world: &mut World, why: &str) -> (SetNumber, Vec<String>) {
    let number = SetNumber(world.last_set + 1);
    world.add_set(number, world.template.clone());
    (number, vec![format!("{number}: created, as {why}")])
}

fn observe(
    world: &World,
    scenario: &Scenario,
    new: SetNumber,
    numbers: &[SetNumber],
    selection: &Selection,
) -> Observed<'static> {
    let old = |discarded: &planner::Discarded| {
        let why = match &discarded.not_in_place {
            None if scenario.in_place => None,
            None => Some("no extension covers the change".to_owned()),
            Some(why) => Some(why.clone()),
        };
        let coverage = why.map_or(Coverage::Covered, |why| Coverage::Uncovered { why });
        OldMachineSet { view: view(world, numbers[discarded.index]), coverage }
    };
    Observed {
        deployment: deployment(world, scenario),
        new: Some(view(world, new)),
        old: selection.old.iter().map(old).collect(),
        machines: machines(world),
    }
}

fn deployment(world: &World, scenario: &Scenario) -> DeploymentView {
    let strategy = match scenario.strategy {
        ScenarioStrategy::OnDelete => Strategy::OnDelete,
        ScenarioStrategy::RollingUpdate => {
            Strategy::RollingUpdate(scenario.limits(world.replicas).expect("a scenario's limits must be validated"))
        }
    };
    DeploymentView {
        replicas: world.replicas,
        strategy,
        in_place: scenario.policy,
        keep_originals: scenario.keep_originals,
        paused: false,
    }
}

fn view(world: &World, number: SetNumber) -> MachineSetView {
    let set = &world.sets[&number];
    MachineSetView {
        name: number.to_string(),
        created: age(number.0),
        spec_replicas: set.spec_replicas,
        counters: set.counters,
        handover: set.handover.clone(),
        max_replicas: None,
        disable_machine_create: set.disable_machine_create,
        version: "of the simulation".to_owned(),
        held: true,
    }
}

fn machines(world: &World) -> Vec<MachineView<'static>> {
    let view = |(number, machine): (&super::number::MachineNumber, &super::world::Machine)| MachineView {
        name: number.to_string().into(),
        machine_set: machine.set.to_string().into(),
        created: age(number.0),
        pending_acknowledge: machine.is_pending(),
        updating: machine.is_updating(),
        update_failed: machine.has_failed(),
        available: machine.is_available(),
        deleting: machine.deleting,
    };
    world.machines.iter().map(view).collect()
}

/// Writes the plan into the world, and tells what it says about it.
fn apply(world: &mut World, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    for planned in &plan.machine_sets {
        let number = SetNumber::parse(&planned.name).expect("a plan must be about MachineSets of the world");
        notes.extend(apply_to(world, number, planned));
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
    let is_new = (set.spec_replicas, &set.handover) != (planned.replicas, &planned.handover);
    let scaled = (set.spec_replicas != planned.replicas)
        .then(|| format!("{number}: replicas {} -> {}", set.spec_replicas, planned.replicas));
    set.spec_replicas = planned.replicas;
    set.handover = planned.handover.clone();
    set.disable_machine_create = planned.disable_machine_create;
    let reasons = planned.notes.iter().filter(|_| is_new).map(|note| format!("{number}: {note}"));
    scaled.into_iter().chain(reasons).collect()
}
