//! The pass of a MachineSet: what it sees, and the writes of its decision.

use std::collections::VecDeque;

use refit_api::cluster::MachineSetDeletionOrder;
use refit_plan::machine_set::{MachineView, MoveTarget, Observed, Replicas, decide};

use crate::deployment::{Seen, handover, machine_id, machine_name, set_id, set_name, time};
use crate::state::{Machine, MachineId, Policy, Provider, SetId, Stage};
use crate::write::Write;

/// Decides, and gives the writes: updates that begin, machines that come, move or go, and the counters last. The
/// counters are those of the machines that the pass has read.
pub fn pass(name: SetId, seen: Seen<'_>) -> VecDeque<Write> {
    let Some(set) = seen.sets.get(&name) else { return VecDeque::new() };
    let decision = decide(&observe(name, seen));
    let begin = |name: &String| Write::Begin { machine: machine_id(name) };
    // A machine that is being deleted is not updated any more.
    let is_staying = |name: &&String| !seen.machines[&machine_id(name)].deleting;
    let mut writes: VecDeque<Write> = decision.start_updates.iter().filter(is_staying).map(begin).collect();
    writes.extend(replicas(name, seen, decision.replicas));
    writes.extend(look_at_refused(name, seen));
    let (reported, held) = (count(name, seen), set.order.hold);
    if (reported, held) != (set.reported, set.held) {
        writes.push_back(Write::Report { set: name, reported, held });
    }
    writes
}

fn observe(name: SetId, seen: Seen<'_>) -> Observed {
    let set = &seen.sets[&name];
    let handover = handover(&set.order);
    let target = set.order.move_to.and_then(|target| seen.sets.get(&target).map(|set| (target, set)));
    let target = target.map(|(target, set)| MoveTarget {
        name: set_name(target),
        receive_from: self::handover(&set.order).receive_from,
    });
    let machines = own(name, seen).map(|(machine, is)| {
        let acknowledged = is.stage == Stage::Moved && set.order.acknowledged.contains(&machine);
        view(machine, is, acknowledged)
    });
    Observed {
        name: set_name(name),
        now: time(u8::MAX),
        spec_replicas: set.order.replicas.into(),
        handover,
        disable_machine_create: set.order.creates_none,
        order: MachineSetDeletionOrder::Random,
        keeps_originals: seen.wish.policy.keeps_originals(),
        is_required: seen.wish.policy == Policy::Require,
        target,
        machines: machines.collect(),
    }
}

fn own(name: SetId, seen: Seen<'_>) -> impl Iterator<Item = (MachineId, &Machine)> {
    seen.machines.iter().filter(move |(_, machine)| machine.set == name).map(|(&name, machine)| (name, machine))
}

fn view(name: MachineId, machine: &Machine, acknowledged: bool) -> MachineView {
    MachineView {
        name: machine_name(name),
        created: Some(time(name)),
        pending_acknowledge: machine.stage == Stage::Moved,
        acknowledged,
        scaffolding: machine.scaffolding,
        updating: machine.is_updating(),
        update_failed: machine.stage == Stage::Failed,
        update_over: machine.is_over(),
        update_retried: machine.stage == Stage::TriedAgain,
        deleting: machine.deleting,
        delete_requested: false,
        has_node: true,
        unhealthy: false,
        to_be_remediated: false,
    }
}

fn replicas(name: SetId, seen: Seen<'_>, replicas: Replicas) -> Vec<Write> {
    let under = seen.wish.policy;
    let delete =
        |names: Vec<String>| names.into_iter().map(move |name| Write::Delete { machine: machine_id(&name), under });
    match replicas {
        Replicas::Settled | Replicas::CreateDisabled(_) | Replicas::Keep(_) | Replicas::Refused { .. } => Vec::new(),
        Replicas::Create { missing, scaffolding } => {
            (0..missing).map(|made| Write::Create { set: name, scaffolding: made >= missing - scaffolding }).collect()
        }
        Replicas::Delete(names) => delete(names).collect(),
        Replicas::Move { to, machines, delete: broken, next } => {
            delete(broken).chain(moves(seen, set_id(&to), &machines, &next)).collect()
        }
    }
}

/// The machines that the provider lets move, with others in the place of those that it does not.
fn moves(seen: Seen<'_>, to: SetId, machines: &[String], next: &[String]) -> Vec<Write> {
    let (mut writes, mut wanted) = (Vec::new(), machines.len());
    for machine in machines.iter().chain(next).map(|name| machine_id(name)) {
        let as_read = seen.machines[&machine];
        match as_read.provider {
            _ if wanted == 0 => break,
            Provider::Accepts => {
                writes.push(Write::Move { machine, as_read, to });
                wanted -= 1;
            }
            Provider::Refuses => writes.extend(note(machine, &as_read, Some((to, false)))),
            Provider::RefusesForGood => writes.extend(note(machine, &as_read, Some((to, true)))),
        }
    }
    writes
}

fn note(machine: MachineId, is: &Machine, refused: Option<(SetId, bool)>) -> Option<Write> {
    (is.refused != refused).then_some(Write::NoteRefusal { machine, refused })
}

/// Machines that were refused are tried again, and are what is wanted where nothing is to move.
fn look_at_refused(name: SetId, seen: Seen<'_>) -> Vec<Write> {
    let set = &seen.sets[&name];
    if set.order.hold {
        return Vec::new();
    }
    let is_wanted = set.template == seen.wish.template;
    let look = |(machine, is): (MachineId, &Machine)| match (set.order.move_to, is.provider) {
        (None, _) if is_wanted => note(machine, is, None),
        (Some(to), says) if is.refused.is_some_and(|(refused, _)| refused == to) => match says {
            Provider::Accepts => note(machine, is, None),
            Provider::Refuses => note(machine, is, Some((to, false))),
            Provider::RefusesForGood => note(machine, is, Some((to, true))),
        },
        _ => None,
    };
    own(name, seen).filter(|(_, is)| !is.deleting && !is.is_updating()).filter_map(look).collect()
}

fn count(name: SetId, seen: Seen<'_>) -> (u8, u8, u8) {
    let is_wanted = seen.sets[&name].template == seen.wish.template;
    own(name, seen).fold((0, 0, 0), |(replicas, available, up_to_date), (_, machine)| {
        let is_idle = u8::from(!machine.is_updating());
        (replicas + 1, available + is_idle, up_to_date + is_idle * u8::from(is_wanted))
    })
}
