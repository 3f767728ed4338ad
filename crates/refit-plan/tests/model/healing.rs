//! I7: when nobody disturbs any more, all gets to where it should be, and stays there.
//!
//! From every world that the checker reaches with no pass under way, the controllers are run in turn, with fresh reads
//! and no crash, until a whole round writes nothing. A world that has come to its end is not tried again.

use crate::deployment::Seen;
use crate::protocol::Protocol;
use crate::state::{Actor, Api, Machine, Stage, State};

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
    for machine in api.machines.values_mut().filter(|machine| machine.stage == Stage::Updating) {
        machine.stage = Stage::Settled;
    }
}

/// Whether this is where the user wants it to be.
fn is_wanted(protocol: &Protocol, api: &Api) -> bool {
    let wish = api.wish;
    let is_done = |machine: &Machine| matches!(machine.stage, Stage::Settled | Stage::Failed);
    if !api.machines.values().all(is_done) {
        return false;
    }
    // A machine that cannot be updated stops the rollout, wherever it is.
    if api.machines.values().any(|machine| machine.stage == Stage::Failed) {
        return true;
    }
    let total = api.total();
    // A surge that was there when the user paused may stay.
    let most = if wish.paused { protocol.ceiling(wish) } else { wish.replicas };
    let is_whole = (wish.replicas.into()..=most.into()).contains(&total);
    let rolls_out = !wish.paused && !wish.on_delete;
    is_whole && (!rolls_out || api.machines.values().all(|machine| api.sets[&machine.set].template == wish.template))
}
