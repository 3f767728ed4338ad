//! Tells what has changed from one picture to the next, in lines for people.

use refit_api::rollout::{FieldChange, MachineRollout};

use super::picture::{MachineView, Picture};

/// What has changed between two pictures. Lines come in the order of machines' names.
pub(super) fn lines(old: &Picture, new: &Picture) -> Vec<String> {
    let mut lines = Vec::new();
    sets(old, new, &mut lines);
    rollouts(old, new, &mut lines);
    for (name, machine) in &new.machines {
        of_machine(name, old.machines.get(name), machine, &mut lines);
    }
    let gone = old.machines.keys().filter(|name| !new.machines.contains_key(*name));
    lines.extend(gone.map(|name| format!("machine {name}: gone")));
    changed(&mut lines, "rollout blocked", old.blocked(), new.blocked());
    changed(&mut lines, "etcd is led by", old.etcd_leader.as_deref(), new.etcd_leader.as_deref());
    let owner = if new.control_plane.is_some() { "control plane" } else { "workers" };
    changed(&mut lines, owner, progress(old).as_deref(), progress(new).as_deref());
    lines
}

fn sets(old: &Picture, new: &Picture, lines: &mut Vec<String>) {
    for set in &new.machine_sets {
        let is_new = old.machine_sets.iter().all(|known| known.metadata.uid != set.metadata.uid);
        if is_new {
            let name = set.metadata.name.as_deref().unwrap_or_default();
            lines.push(format!("MachineSet {name} for {}", set.spec.template.spec.infrastructure_ref.name));
        }
    }
}

/// Where each rollout stands, and why; what was decided only when that is new.
fn rollouts(old: &Picture, new: &Picture, lines: &mut Vec<String>) {
    for rollout in &new.rollouts {
        let known = old.rollouts.iter().find(|known| known.metadata.uid == rollout.metadata.uid);
        let stands = |rollout: &MachineRollout| (rollout.status.decision, rollout.status.state);
        let is_new = known.map(stands) != Some(stands(rollout));
        lines.extend(standing(rollout).filter(|_| is_new));
        if known.and_then(|known| known.status.decision) != rollout.status.decision {
            lines.extend(rollout.status.changes.iter().map(change));
        }
    }
}

fn standing(rollout: &MachineRollout) -> Option<String> {
    let state = rollout.status.state?;
    let message = rollout.status.message.as_deref().unwrap_or_default();
    let decision = rollout.status.decision.map_or_else(String::new, |decision| format!("{decision:?}, "));
    Some(format!("rollout {decision}{state:?}: {message}"))
}

fn change(change: &FieldChange) -> String {
    let FieldChange { object, path, from, to, covered_by } = change;
    let values = match (from, to) {
        (None, None) => String::new(),
        (from, to) => {
            let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
            format!(" from {} to {}", word(from), word(to))
        }
    };
    let by = covered_by.as_deref().map_or_else(|| "covered by nobody".to_owned(), |by| format!("covered by {by}"));
    format!("  {object:?} {path}{values}: {by}")
}

fn of_machine(name: &str, old: Option<&MachineView>, new: &MachineView, lines: &mut Vec<String>) {
    let Some(old) = old else {
        return lines.push(format!("machine {name}: created"));
    };
    let mut say = |text: String| lines.push(format!("machine {name}: {text}"));
    if let Some(updating) = &new.updating
        && old.updating.as_ref() != Some(updating)
    {
        say(format!("updating: {}", one_line(updating)));
    }
    let host = |view: &MachineView| (view.memory.clone(), view.cpus, view.image.clone(), view.kubelet_version.clone());
    if host(old) != host(new) && new.memory.is_some() {
        say(described(new));
    }
    if old.updating.is_some() && new.updating.is_none() {
        say("updated, the same host".to_owned());
    }
    if !old.is_ready && new.is_ready {
        say("ready".to_owned());
    }
    if !old.is_deleting && new.is_deleting {
        say("being deleted".to_owned());
    }
}

fn described(machine: &MachineView) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    format!(
        "host {} has memory {}, image {}, kubelet {}",
        word(&machine.facts.host),
        word(&machine.memory),
        word(&machine.image),
        word(&machine.kubelet_version)
    )
}

fn progress(picture: &Picture) -> Option<String> {
    let [all, up_to_date, available] = picture.counted()?;
    let counters = format!("{up_to_date} of {all} up to date, {available} available");
    Some(picture.rolling_out().map_or(counters.clone(), |why| format!("{counters}; rolling out: {}", one_line(why))))
}

fn changed(lines: &mut Vec<String>, what: &str, old: Option<&str>, new: Option<&str>) {
    if let Some(text) = new.filter(|_| old != new) {
        lines.push(format!("{what}: {}", one_line(text)));
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
