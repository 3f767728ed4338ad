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

use crate::protocol::Protocol;
use crate::state::{Machine, MachineId, Order, Scaffolding, Set, SetId, Stage, Wish};
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
        coverage: not_in_place.clone().map_or(Coverage::Covered, |why| Coverage::Uncovered { why }),
    };
    let observed = Observed {
        deployment: deployment(protocol, seen.wish),
        new: seen.sets.get(&new).map(|set| view(new, set)).or_else(to_be_created),
        old: selection.old.iter().map(|discarded| old(discarded.index, &discarded.not_in_place)).collect(),
        machines: seen.machines.iter().map(|(&name, machine)| machine_view(name, machine)).collect(),
    };
    let plan = (protocol.plan)(&observed);
    plan.machine_sets.iter().filter_map(|planned| write(protocol, seen, planned)).collect()
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
        Candidate { name: set_name(name), created: time(name), spec_replicas: set.order.replicas.into(), difference }
    };
    seen.sets.iter().map(candidate).collect()
}

fn deployment(protocol: &Protocol, wish: Wish) -> DeploymentView {
    let posts = Fenceposts { max_surge: protocol.max_surge.into(), max_unavailable: protocol.max_unavailable.into() };
    DeploymentView {
        replicas: wish.replicas.into(),
        strategy: if wish.on_delete { Strategy::OnDelete } else { Strategy::RollingUpdate(posts) },
        in_place: protocol.policy,
        keep_originals: protocol.keep_originals,
        paused: wish.paused,
    }
}

fn view(name: SetId, set: &Set) -> MachineSetView {
    MachineSetView {
        name: set_name(name),
        created: time(name),
        spec_replicas: set.order.replicas.into(),
        counters: set.counters(),
        handover: handover(&set.order),
        max_replicas: Some(set.order.max_replicas.into()),
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
        pending_acknowledge: machine.stage == Stage::Moved,
        updating: machine.is_updating(),
        update_failed: machine.stage == Stage::Failed,
        available: !machine.is_updating(),
        deleting: machine.deleting,
    }
}

/// The write that makes a MachineSet what it should be, if it was not when it was read.
fn write(protocol: &Protocol, seen: Seen<'_>, planned: &MachineSetPlan) -> Option<Write> {
    let max_surge = if seen.wish.on_delete { 0 } else { protocol.max_surge };
    let (set, order) = (set_id(&planned.name), order(planned, seen.wish.replicas + max_surge));
    match seen.sets.get(&set) {
        None => Some(Write::CreateSet { set, template: seen.wish.template, order }),
        Some(was) => (was.order != order).then_some(Write::Order { set, order }),
    }
}

fn order(planned: &MachineSetPlan, max_replicas: u8) -> Order {
    let handover = &planned.handover;
    let sets = |names: &NameSet| names.iter().map(set_id).collect();
    Order {
        replicas: u8::try_from(planned.replicas).expect("replicas must be few"),
        max_replicas,
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
