//! A path through the model, to be read by people.
//!
//! A line is a step and the API after it: each MachineSet with `reported/wanted` replicas, the marks on it and its
//! machines. `m1?` carries the mark of a move, `m1~` is being updated, `m1!` has failed, `m1;` waits for its next
//! try, `m1+` says that a rollout has made it, `m1=` that it cannot move, `m1x` is being deleted.

use std::fmt::Write as _;

use stateright::Path;

use crate::protocol::Step;
use crate::state::{Api, Machine, MachineId, Scaffolding, Set, SetId, Stage, State};

pub fn tell(path: Path<State, Step>) -> String {
    let mut story = String::new();
    let mut said = "the start".to_owned();
    for (state, step) in path.into_vec() {
        let _infallible = writeln!(story, "{said:<44}{}", api(&state.api));
        said = step.map(|step| describe(&state, step)).unwrap_or_default();
    }
    story
}

fn describe(state: &State, step: Step) -> String {
    let next = match step {
        Step::Write(actor) => state.passes.get(&actor).and_then(|writes| writes.front()),
        _ => None,
    };
    next.map_or_else(|| format!("{step:?}"), |write| format!("{step:?}: {}", write.name()))
}

fn api(api: &Api) -> String {
    let sets: Vec<String> = api.sets.iter().map(|(&name, is)| set(api, name, is)).collect();
    let wish = api.wish;
    let paused = if wish.paused { " paused" } else { "" };
    let on_delete = if wish.on_delete { " OnDelete" } else { "" };
    let (policy, answer) = (wish.policy, wish.answer);
    format!("{} of v{} {policy:?} {answer:?}{paused}{on_delete} | {}", wish.replicas, wish.template, sets.join(" | "))
}

fn set(api: &Api, name: SetId, set: &Set) -> String {
    let order = &set.order;
    let mut text = format!("ms{name} {}/{}", set.reported.0, order.replicas);
    text.extend(order.move_to.map(|to| format!(" to ms{to}")));
    text.extend(order.receive_from.iter().map(|from| format!(" from ms{from}")));
    text.extend(order.acknowledged.iter().map(|machine| format!(" counted m{machine}")));
    text.extend(order.scaffolding.map(|scaffolding| match scaffolding {
        Scaffolding::Requested => " scaffolding".to_owned(),
        Scaffolding::Machine(machine) => format!(" scaffolding m{machine}"),
    }));
    text.push_str(if order.surge { " surge" } else { "" });
    text.extend((order.scaled_down > 0).then(|| format!(" {} may go", order.scaled_down)));
    text.extend((order.replaced > 0).then(|| format!(" {} are replaced", order.replaced)));
    text.push_str(match (order.hold, set.held) {
        (false, _) => "",
        (true, false) => " hold",
        (true, true) => " held",
    });
    let machines: Vec<String> = api.machines_of(name).map(|(name, is)| machine(name, is)).collect();
    format!("{text} [{}]", machines.join(" "))
}

fn machine(name: MachineId, machine: &Machine) -> String {
    let stage = match machine.stage {
        Stage::Settled => "",
        Stage::Moved => "?",
        Stage::Updating => "~",
        Stage::Tried => ";",
        Stage::TriedAgain => ";~",
        Stage::Failed => "!",
    };
    let mark = if machine.scaffolding { "+" } else { "" };
    let refused = if machine.refused.is_some() { "=" } else { "" };
    format!("m{name}{stage}{mark}{refused}{}", if machine.deleting { "x" } else { "" })
}
