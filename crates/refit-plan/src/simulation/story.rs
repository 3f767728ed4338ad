//! A trace as a story.

mod opening;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::entry::{Answer, Entry};
use super::number::MachineNumber;
use super::scenario::Scenario;
use super::trace::{Line, SetState, Trace};

/// Tells what happened in words: what was there, each step that changed something and why, and how it ended.
pub fn story(scenario: &Scenario, trace: &Trace) -> String {
    let mut text = opening::opening(scenario);
    let (mut before, mut quiet) = (&trace.start.machine_sets, 0);
    for line in &trace.lines {
        quiet += 1;
        if let Some(passage) = passage(line, before) {
            text += &passage;
            quiet = 0;
        }
        before = &line.machine_sets;
    }
    text + &ending(trace, quiet)
}

/// Who did what, the reasons below it, and how things stand after it. Nothing for a step that leads to nothing.
fn passage(line: &Line, before: &[SetState]) -> Option<String> {
    let standing = standing(&line.machine_sets);
    let is_same = standing == self::standing(before);
    let deeds = deeds(line, before);
    if is_same && deeds.is_empty() && line.notes.is_empty() {
        return None;
    }
    let idle = if line.reconcile == "md" { "plans" } else { "waits" };
    let deeds = if deeds.is_empty() { idle.to_owned() } else { deeds.join(", ") };
    let mut text = format!("{:>3}. {} {deeds}\n", line.iteration, who(line));
    for note in &line.notes {
        let _ = writeln!(text, "       - {note}");
    }
    if !is_same {
        let _ = writeln!(text, "       {standing}");
    }
    Some(text)
}

fn who(line: &Line) -> &str {
    match line.reconcile.parse() {
        Ok(
            Entry::Unavailable(_)
            | Entry::Available(_)
            | Entry::Fail(_)
            | Entry::Trouble(_)
            | Entry::Try(_)
            | Entry::Refuse { .. }
            | Entry::Accept(_)
            | Entry::Extensions(_),
        ) => "the world",
        Ok(
            Entry::Delete(_)
            | Entry::Replicas(_)
            | Entry::Template(_)
            | Entry::Retry(_)
            | Entry::Paused(_)
            | Entry::Strategy(_)
            | Entry::Policy(_)
            | Entry::KeepOriginals(_),
        ) => "the user",
        Ok(Entry::Deployment | Entry::MachineSet(_) | Entry::Machine(_)) | Err(_) => &line.reconcile,
    }
}

fn deeds(line: &Line, before: &[SetState]) -> Vec<String> {
    let mut deeds: Vec<String> = wish(line).into_iter().collect();
    if !line.created.is_empty() {
        deeds.push(format!("creates {}", names(&line.created)));
    }
    match line.reconcile.parse() {
        Ok(Entry::Machine(_)) if !line.deleted.is_empty() => deeds.push("is gone".to_owned()),
        _ if !line.deleted.is_empty() => deeds.push(format!("deletes {}", names(&line.deleted))),
        _ => {}
    }
    let finished = finished(line, before);
    if !finished.is_empty() {
        deeds.push(format!("has updated {}", names(&finished)));
    }
    let failed = failed(line, before);
    if !failed.is_empty() {
        deeds.push(format!("has failed to update {}", names(&failed)));
    }
    if let Some(first) = line.moved.first() {
        let machines: Vec<MachineNumber> = line.moved.iter().map(|moved| moved.machine).collect();
        deeds.push(format!("moves {} to {}", names(&machines), first.to));
    }
    deeds
}

/// What the user or the world does.
fn wish(line: &Line) -> Option<String> {
    let is_there = |machine: &MachineNumber| line.machine_sets.iter().any(|set| set.machines.contains(machine));
    let about = |machine: &MachineNumber, what: &str| {
        let missing = if is_there(machine) { "" } else { ", which is not there" };
        Some(format!("{what} {machine}{missing}"))
    };
    match line.reconcile.parse().ok()? {
        Entry::Deployment | Entry::MachineSet(_) | Entry::Machine(_) => None,
        Entry::Delete(machine) => about(&machine, "deletes"),
        Entry::Unavailable(machine) => about(&machine, "breaks"),
        Entry::Available(machine) => about(&machine, "mends"),
        Entry::Fail(machine) => about(&machine, "dooms every update of"),
        Entry::Trouble(machine) => about(&machine, "lets every try fail to update"),
        Entry::Try(machine) => about(&machine, "begins the next try with"),
        Entry::Retry(machine) => about(&machine, "tries again with"),
        Entry::Refuse { machine, for_good: false } => about(&machine, "has a provider that does not change"),
        Entry::Refuse { machine, for_good: true } => about(&machine, "has a provider that will never change"),
        Entry::Accept(machine) => about(&machine, "has a provider that can change"),
        Entry::Replicas(replicas) => Some(format!("wants {replicas} replicas")),
        Entry::Template(template) => Some(format!("wants template {template}")),
        Entry::Paused(true) => Some("pauses the rollout".to_owned()),
        Entry::Paused(false) => Some("lets the rollout go on".to_owned()),
        Entry::Strategy(strategy) => Some(format!("wants the strategy {strategy:?}")),
        Entry::Policy(policy) => Some(format!("wants the policy {policy:?}")),
        Entry::KeepOriginals(true) => Some("wants the first machines to stay".to_owned()),
        Entry::KeepOriginals(false) => Some("wants upstream's sequence".to_owned()),
        Entry::Extensions(Answer::Covered) => Some("has extensions that cover every change".to_owned()),
        Entry::Extensions(Answer::Uncovered) => Some("has extensions that cover no change".to_owned()),
        Entry::Extensions(Answer::Undecided) => Some("has extensions that do not answer".to_owned()),
    }
}

/// Machines that were being updated before, and are not now or are by somebody else.
fn finished(line: &Line, before: &[SetState]) -> Vec<MachineNumber> {
    let is_updating = |name: &MachineNumber| line.machine_sets.iter().any(|set| set.updating.contains(name));
    let has_moved = |name: &MachineNumber| line.moved.iter().any(|moved| moved.machine == *name);
    let had_failed = |name: &MachineNumber| before.iter().any(|set| set.failed.contains(name));
    let was_updating = before.iter().flat_map(|set| &set.updating).copied();
    let is_done = |name: &MachineNumber| !is_updating(name) || (has_moved(name) && !had_failed(name));
    was_updating.filter(|name| is_done(name) && !line.deleted.contains(name)).collect()
}

/// Machines whose update has just failed.
fn failed(line: &Line, before: &[SetState]) -> Vec<MachineNumber> {
    let had_failed = |name: &MachineNumber| before.iter().any(|set| set.failed.contains(name));
    line.machine_sets.iter().flat_map(|set| &set.failed).copied().filter(|name| !had_failed(name)).collect()
}

/// `ms1 2/3 (m2 m3)   ms2 …`: how many machines each MachineSet has and is to have, and which.
fn standing(sets: &[SetState]) -> String {
    let set = |set: &SetState| {
        let machines: Vec<String> = set.machines.iter().map(|&machine| marked(set, machine)).collect();
        let head = format!("{} {}/{}", set.name, set.machines.len(), set.spec_replicas);
        if machines.is_empty() { head } else { format!("{head} ({})", machines.join(", ")) }
    };
    sets.iter().map(set).collect::<Vec<_>>().join("   ")
}

fn marked(set: &SetState, machine: MachineNumber) -> String {
    let state = if set.pending_acknowledge.contains(&machine) {
        " arriving"
    } else if set.failed.contains(&machine) {
        " failed"
    } else if set.updating.contains(&machine) {
        " updating"
    } else {
        ""
    };
    let deleting = if set.deleting.contains(&machine) { " leaving" } else { "" };
    format!("{machine}{state}{deleting}")
}

fn ending(trace: &Trace, quiet: usize) -> String {
    let end = if trace.is_settled { "Nothing changes any more" } else { "It has not come to an end" };
    let mut text = format!("\n{end} after {} steps, the last {quiet} without a change.\n", trace.last.iterations);
    for set in trace.last.world.machine_sets.iter().filter(|set| !set.machines.is_empty()) {
        let _ = writeln!(text, "{} has {}.", set.name, names(&set.machines));
    }
    for reason in &trace.waiting_on {
        let _ = writeln!(text, "It waits: {reason}.");
    }
    for violation in &trace.last.violations {
        let _ = writeln!(text, "BROKEN {violation}.");
    }
    text + &came_and_went(trace)
}

fn came_and_went(trace: &Trace) -> String {
    let all = |list: fn(&Line) -> Vec<MachineNumber>| {
        let machines: BTreeSet<MachineNumber> = trace.lines.iter().flat_map(list).collect();
        names(&machines.into_iter().collect::<Vec<_>>())
    };
    let (created, deleted) = (all(|line| line.created.clone()), all(|line| line.deleted.clone()));
    let failed: BTreeSet<MachineNumber> =
        trace.last.world.machine_sets.iter().flat_map(|set| &set.failed).copied().collect();
    let moved = trace.lines.iter().flat_map(|line| &line.moved).map(|moved| moved.machine);
    let updated: BTreeSet<MachineNumber> = moved.filter(|machine| !failed.contains(machine)).collect();
    let updated = names(&updated.into_iter().collect::<Vec<_>>());
    let text = format!("Created: {created}. Deleted: {deleted}. Updated in place: {updated}.");
    if failed.is_empty() {
        return text + "\n";
    }
    format!("{text} Failed: {}.\n", names(&failed.into_iter().collect::<Vec<_>>()))
}

fn names(machines: &[MachineNumber]) -> String {
    let names: Vec<String> = machines.iter().map(ToString::to_string).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
