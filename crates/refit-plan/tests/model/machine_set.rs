//! The pass of a MachineSet: what it sees, and the writes of its decision.

use std::collections::VecDeque;

use refit_api::cluster::MachineSetDeletionOrder;
use refit_plan::machine_set::{MachineView, MoveTarget, Observed, Replicas, decide};

use crate::deployment::{Seen, handover, machine_id, machine_name, set_id, set_name, time};
use crate::protocol::Protocol;
use crate::state::{Machine, MachineId, SetId, Stage};
use crate::write::Write;

/// Decides, and gives the writes: updates that begin, machines that come, move or go, and the counters last. The
/// counters are those of the machines that the pass has read.
pub fn pass(protocol: &Protocol, name: SetId, seen: Seen<'_>) -> VecDeque<Write> {
    let Some(set) = seen.sets.get(&name) else { return VecDeque::new() };
    let decision = decide(&observe(protocol, name, seen));
    let begin = |name: &String| Write::Begin { machine: machine_id(name) };
    // A machine that is being deleted is not updated any more.
    let is_staying = |name: &&String| !seen.machines[&machine_id(name)].deleting;
    let mut writes: VecDeque<Write> = decision.start_updates.iter().filter(is_staying).map(begin).collect();
    writes.extend(replicas(name, seen, decision.replicas));
    let (reported, held) = (count(name, seen), set.order.hold);
    if (reported, held) != (set.reported, set.held) {
        writes.push_back(Write::Report { set: name, reported, held });
    }
    writes
}

fn observe(protocol: &Protocol, name: SetId, seen: Seen<'_>) -> Observed {
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
        keeps_originals: protocol.keeps_originals(),
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
        updating: machine.is_updating(),
        update_failed: machine.stage == Stage::Failed,
        deleting: machine.deleting,
        delete_requested: false,
        has_node: true,
        unhealthy: false,
        to_be_remediated: false,
    }
}

fn replicas(name: SetId, seen: Seen<'_>, replicas: Replicas) -> Vec<Write> {
    let delete = |names: Vec<String>| names.into_iter().map(|name| Write::Delete { machine: machine_id(&name) });
    match replicas {
        Replicas::Settled | Replicas::CreateDisabled(_) | Replicas::Refused { .. } => Vec::new(),
        Replicas::Create(missing) => vec![Write::Create { set: name }; missing],
        Replicas::Delete(names) => delete(names).collect(),
        Replicas::Move { to, machines, delete: broken } => {
            let start = |name: String| {
                let machine = machine_id(&name);
                Write::Move { machine, as_read: seen.machines[&machine], to: set_id(&to) }
            };
            delete(broken).chain(machines.into_iter().map(start)).collect()
        }
    }
}

fn count(name: SetId, seen: Seen<'_>) -> (u8, u8, u8) {
    let is_wanted = seen.sets[&name].template == seen.wish.template;
    own(name, seen).fold((0, 0, 0), |(replicas, available, up_to_date), (_, machine)| {
        let is_idle = u8::from(!machine.is_updating());
        (replicas + 1, available + is_idle, up_to_date + is_idle * u8::from(is_wanted))
    })
}
