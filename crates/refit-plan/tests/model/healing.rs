//! I7: when nobody disturbs any more, all gets to where it should be, and stays there.
//!
//! From every world that the checker reaches with no pass under way, the controllers are run in turn, with fresh reads
//! and no crash, until a whole round writes nothing. A world that has come to its end is not tried again.

use crate::deployment::Seen;
use crate::protocol::Protocol;
use crate::state::{Actor, Answer, Api, Machine, Policy, Provider, Stage, State, Wish};

/// How many rounds there are at most. Three machines, one after another, need about five each.
const MAX_ROUNDS: usize = 40;

/// Who comes first in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    DeploymentFirst,
    MachineSetsFirst,
}

pub fn heals(protocol: &Protocol, state: &State) -> bool {
    if !state.passes.is_empty() || state.ledger.fault.is_some() {
        return true;
    }
    [Order::DeploymentFirst, Order::MachineSetsFirst]
        .into_iter()
        .all(|order| comes_to_its_end(protocol, &state.api, order))
}

fn comes_to_its_end(protocol: &Protocol, start: &Api, order: Order) -> bool {
    let (mut api, mut visited) = (start.clone(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        if known(protocol).contains(&(order, api.clone())) {
            known(protocol).extend(visited);
            return true;
        }
        let before = api.clone();
        round(protocol, &mut api, order);
        if before == api {
            let is_wanted = is_wanted(protocol, &api);
            known(protocol).extend(visited.into_iter().chain([(order, before)]).filter(|_| is_wanted));
            return is_wanted;
        }
        visited.push((order, before));
    }
    false
}

fn known(protocol: &Protocol) -> std::sync::MutexGuard<'_, std::collections::BTreeSet<(Order, Api)>> {
    protocol.healed.lock().expect("no thread must have panicked")
}

fn round(protocol: &Protocol, api: &mut Api, order: Order) {
    let mut actors: Vec<Actor> = api.sets.keys().rev().map(|&set| Actor::MachineSet(set)).collect();
    match order {
        Order::DeploymentFirst => actors.insert(0, Actor::Deployment),
        Order::MachineSetsFirst => actors.push(Actor::Deployment),
    }
    for actor in actors {
        let writes = protocol.decide(actor, Seen { wish: api.wish, sets: &api.sets, machines: &api.machines });
        // What is refused is tried anew in the next round.
        let _refused = writes.iter().try_for_each(|write| write.carry_out(api));
    }
    api.machines.retain(|_, machine| !machine.deleting);
    for machine in api.machines.values_mut() {
        // Who is in trouble stays in it, unless something else is wanted of the machine.
        machine.stage = match machine.stage {
            Stage::Updating => Stage::Settled,
            Stage::TriedAgain => Stage::Tried,
            stage => stage,
        };
    }
}

/// Whether a change can reach all machines.
fn can_complete(wish: Wish) -> bool {
    match (wish.policy, wish.answer) {
        (Policy::Never, _) | (_, Answer::Covered) => true,
        (Policy::Upstream | Policy::Keep, answer) => answer == Answer::Uncovered,
        (Policy::Require, _) => false,
    }
}

/// Whether this is where the user wants it to be.
fn is_wanted(protocol: &Protocol, api: &Api) -> bool {
    let wish = api.wish;
    let is_done = |machine: &Machine| !machine.is_updating() || machine.is_over();
    if !api.machines.values().all(is_done) {
        return false;
    }
    let rolls_out = !wish.paused && !wish.on_delete && can_complete(wish);
    let is_up_to_date = |machine: &Machine| api.sets[&machine.set].template == wish.template;
    // A machine that cannot be updated stops the rollout. If something else is wanted by now, it gets that.
    if let Some(failed) = api.machines.values().find(|machine| machine.is_over()) {
        return !rolls_out || is_up_to_date(failed);
    }
    let total = api.total();
    // A surge that was there when the user paused may stay.
    let most = if wish.paused { protocol.ceiling(wish) } else { wish.replicas };
    let is_whole = (wish.replicas.into()..=most.into()).contains(&total);
    let stays = |machine: &Machine| is_up_to_date(machine) || is_refused(api, machine);
    is_whole && (!rolls_out || api.machines.values().all(stays))
}

/// Whether the provider keeps the machine from being updated, and it is not known that another host would do.
fn is_refused(api: &Api, machine: &Machine) -> bool {
    let mut mates = api.machines_of(machine.set);
    let mut must_go = || mates.all(|(_, mate)| mate.provider == Provider::RefusesForGood);
    machine.provider != Provider::Accepts && (api.wish.policy == Policy::Require || !must_go())
}
