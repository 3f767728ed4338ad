//! The pass of the MachineDeployment: what it sees, and the writes of its plan.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use refit_api::int_or_percent::Fenceposts;
use refit_api::name_set::NameSet;
use refit_plan::handover::{Handover, Scaffolding as Mark};
use refit_plan::machine_deployment::{
    Candidate, Coverage, DeploymentView, MachineSetPlan, MachineSetView, MachineView, Observed, OldMachineSet,
    Strategy, TemplateDifference, select,
};
use refit_plan::machine_set::refusal::MoveRefusal;

use crate::protocol::Protocol;
use crate::state::{Answer, Machine, MachineId, Order, Policy, Scaffolding, Set, SetId, Stage, Wish};
use crate::write::Write;

/// What a pass of the MachineDeployment has read. The parts may be of different age.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub wish: Wish,
    pub sets: &'a BTreeMap<SetId, Set>,
    pub machines: &'a BTreeMap<MachineId, Machine>,
}

/// Decides, and gives the writes: one for each MachineSet that is not as it should be.
pub fn pass(protocol: &Protocol, seen: Seen<'_>) -> VecDeque<Write> {
    let names: Vec<SetId> = seen.sets.keys().copied().collect();
    let selection = select(&candidates(seen), None, time(u8::MAX));
    let next = names.last().copied().unwrap_or(0) + 1;
    let new = selection.new.as_ref().map_or(next, |&index| names[index]);
    let to_be_created = || (!seen.wish.paused).then(|| MachineSetView::to_be_created(set_name(new), time(new)));
    let old = |index: usize, not_in_place: &Option<String>| OldMachineSet {
        view: view(names[index], &seen.sets[&names[index]]),
        coverage: match coverage(seen.wish, not_in_place.as_deref()) {
            Coverage::Covered if is_refused(seen, names[index], new) => uncovered("the provider refuses it for good"),
            coverage => coverage,
        },
    };
    let observed = Observed {
        deployment: deployment(protocol, seen.wish),
        new: seen.sets.get(&new).map(|set| view(new, set)).or_else(to_be_created),
        old: selection.old.iter().map(|discarded| old(discarded.index, &discarded.not_in_place)).collect(),
        machines: seen.machines.iter().map(|(&name, machine)| machine_view(name, machine)).collect(),
    };
    let plan = (protocol.plan)(&observed);
    let wanted = plan.wanted.iter().map(|name| Write::Unmark { machine: machine_id(name) });
    wanted.chain(plan.machine_sets.iter().filter_map(|planned| write(protocol, seen, planned))).collect()
}

/// Whether only new hosts can become what is wanted: the provider refuses it for good for all machines that are left.
fn is_refused(seen: Seen<'_>, set: SetId, new: SetId) -> bool {
    let mut of_set = seen.machines.values().filter(|machine| machine.set == set && !machine.deleting).peekable();
    let may_replace = matches!(seen.wish.policy, Policy::Upstream | Policy::Keep);
    may_replace && of_set.peek().is_some() && of_set.all(|machine| machine.must_be_replaced(new))
}

fn uncovered(why: &str) -> Coverage {
    Coverage::Uncovered { why: why.to_owned() }
}

/// Extensions are asked only where a change is to reach machines.
fn coverage(wish: Wish, not_in_place: Option<&str>) -> Coverage {
    let undecided = |why: &str| Coverage::Undecided { why: why.to_owned() };
    match (not_in_place, wish.answer) {
        (Some(why), _) => uncovered(why),
        _ if wish.policy == Policy::Never => uncovered("the policy is to replace machines"),
        _ if wish.paused || wish.on_delete => undecided("nothing rolls out"),
        (None, Answer::Covered) => Coverage::Covered,
        (None, Answer::Uncovered) => uncovered("no extension covers it"),
        (None, Answer::Undecided) => undecided("an extension does not answer"),
    }
}

pub fn set_name(set: SetId) -> String {
    format!("ms{set}")
}

pub fn machine_name(machine: MachineId) -> String {
    format!("m{machine}")
}

pub fn set_id(name: &str) -> SetId {
    name.trim_start_matches("ms").parse().expect("a MachineSet must be called by its number")
}

pub fn machine_id(name: &str) -> MachineId {
    name.trim_start_matches('m').parse().expect("a machine must be called by its number")
}

/// Numbers stand for ages: the higher, the younger.
pub fn time(number: u8) -> Timestamp {
    Timestamp::from_second(number.into()).expect("a small number must be a time")
}

pub fn handover(order: &Order) -> Handover {
    let machines: Vec<String> = order.acknowledged.iter().map(|&machine| machine_name(machine)).collect();
    let sets: Vec<String> = order.receive_from.iter().map(|&set| set_name(set)).collect();
    Handover {
        move_to: order.move_to.map(set_name),
        receive_from: sets.iter().map(String::as_str).collect(),
        acknowledged: machines.iter().map(String::as_str).collect(),
        hold: order.hold.then(|| "held".to_owned()),
        surge: order.surge,
        scaled_down: order.scaled_down.into(),
        replaced: order.replaced.into(),
        keep_at_least: order.keep_at_least.into(),
        scaffolding: order.scaffolding.map(|scaffolding| match scaffolding {
            Scaffolding::Requested => Mark::Requested,
            Scaffolding::Machine(machine) => Mark::Machine(machine_name(machine)),
        }),
    }
}

fn candidates(seen: Seen<'_>) -> Vec<Candidate> {
    let candidate = |(&name, set): (&SetId, &Set)| {
        let mut difference = TemplateDifference::default();
        if set.template != seen.wish.template {
            difference.fields.push("template".to_owned());
        }
        Candidate {
            name: set_name(name),
            created: time(name),
            spec_replicas: set.order.replicas.into(),
            is_going: false,
            difference,
        }
    };
    seen.sets.iter().map(candidate).collect()
}

fn deployment(protocol: &Protocol, wish: Wish) -> DeploymentView {
    let posts = Fenceposts { max_surge: protocol.max_surge.into(), max_unavailable: protocol.max_unavailable.into() };
    DeploymentView {
        replicas: wish.replicas.into(),
        strategy: if wish.on_delete { Strategy::OnDelete } else { Strategy::RollingUpdate(posts) },
        in_place: wish.policy.in_place(),
        keep_originals: wish.policy == Policy::Keep,
        paused: wish.paused,
    }
}

fn view(name: SetId, set: &Set) -> MachineSetView {
    MachineSetView {
        failed_updates: Default::default(),
        name: set_name(name),
        created: time(name),
        spec_replicas: set.order.replicas.into(),
        counters: set.counters(),
        handover: handover(&set.order),
        max_replicas: Some(set.order.max_replicas.into()),
        desired_replicas: Some(set.order.desired.into()),
        disable_machine_create: set.order.creates_none,
        version: "some".to_owned(),
        held: set.held,
    }
}

fn machine_view(name: MachineId, machine: &Machine) -> MachineView<'static> {
    MachineView {
        name: machine_name(name).into(),
        machine_set: set_name(machine.set).into(),
        created: time(name),
        scaffolding: machine.scaffolding,
        pending_acknowledge: machine.stage == Stage::Moved,
        updating: machine.is_updating(),
        update_failed: machine.stage == Stage::Failed,
        update_over: machine.is_over(),
        gone: None,
        available: !machine.is_updating(),
        deleting: machine.deleting,
        refused: machine.refused.map(|(to, for_good)| Box::new(refusal(to, for_good))),
    }
}

fn refusal(to: SetId, for_good: bool) -> MoveRefusal {
    MoveRefusal { to: set_name(to), since: String::new(), for_good, words: "the provider refuses it".to_owned() }
}

/// The write that makes a MachineSet what it should be, if it was not when it was read.
fn write(protocol: &Protocol, seen: Seen<'_>, planned: &MachineSetPlan) -> Option<Write> {
    let max_surge = if seen.wish.on_delete { 0 } else { protocol.max_surge };
    let (set, order) = (set_id(&planned.name), order(planned, seen.wish.replicas, max_surge));
    match seen.sets.get(&set) {
        None => Some(Write::CreateSet { set, template: seen.wish.template, order }),
        Some(was) => (was.order != order).then_some(Write::Order { set, order }),
    }
}

fn order(planned: &MachineSetPlan, desired: u8, max_surge: u8) -> Order {
    let handover = &planned.handover;
    let sets = |names: &NameSet| names.iter().map(set_id).collect();
    Order {
        replicas: u8::try_from(planned.replicas).expect("replicas must be few"),
        max_replicas: desired + max_surge,
        desired,
        surge: handover.surge,
        scaled_down: u8::try_from(handover.scaled_down).expect("machines must be few"),
        replaced: u8::try_from(handover.replaced).expect("machines must be few"),
        keep_at_least: u8::try_from(handover.keep_at_least).expect("machines must be few"),
        creates_none: planned.disable_machine_create,
        move_to: handover.move_to.as_deref().map(set_id),
        receive_from: sets(&handover.receive_from),
        acknowledged: handover.acknowledged.iter().map(machine_id).collect(),
        hold: handover.hold.is_some(),
        scaffolding: handover.scaffolding.as_ref().map(|mark| match mark {
            Mark::Requested => Scaffolding::Requested,
            Mark::Machine(name) => Scaffolding::Machine(machine_id(name)),
        }),
    }
}
