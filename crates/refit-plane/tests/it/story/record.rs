//! What the user did, for whoever has to find out what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::ResourceExt;

use crate::history::{Entry, Object};

#[derive(Debug, Default)]
pub struct Record {
    actions: Mutex<Vec<(Duration, String)>>,
    deleted: Mutex<BTreeSet<String>>,
}

impl Record {
    pub fn note(&self, at: Duration, what: String) {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).push((at, what));
    }

    pub fn deletes(&self, machine: &str) {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner).insert(machine.to_owned());
    }

    /// Machines that the user has deleted.
    pub fn deleted(&self) -> BTreeSet<String> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "what the user did:")?;
        for (at, what) in self.actions.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            writeln!(f, "{:8.3}s {what}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

/// The last state of each object, a line each.
pub fn last_states(entries: &[Entry]) -> String {
    let mut last = BTreeMap::new();
    for entry in entries {
        last.insert(entry.object.key(), (entry.at, entry.is_gone, line(&entry.object)));
    }
    let line = |(key, (at, is_gone, line)): (String, (Duration, bool, String))| {
        let gone = if is_gone { " GONE" } else { "" };
        format!("{:8.3}s {key}{gone} {line}\n", at.as_secs_f64())
    };
    format!("what was seen last:\n{}", last.into_iter().map(line).collect::<String>())
}

/// One state in a line.
pub fn line(object: &Object) -> String {
    match object {
        Object::Deployment(it) => {
            let status = &it.status;
            let counters =
                [status.replicas, status.up_to_date_replicas, status.ready_replicas, status.available_replicas];
            format!("generation {:?} spec {:?} counters {counters:?}", it.metadata.generation, it.spec.replicas)
        }
        Object::Set(it) => {
            let template = &it.spec.template.spec.infrastructure_ref.name;
            format!("{template} {:?}/{:?} {:?}", it.status.replicas, it.spec.replicas, marks(it.annotations()))
        }
        Object::Machine(it) => {
            let owners: Vec<&str> = it.owner_references().iter().map(|owner| owner.name.as_str()).collect();
            let deleting = if it.metadata.deletion_timestamp.is_some() { " deleting" } else { "" };
            let bad = it.status.conditions.iter().filter(|it| it.status != "True" && it.status != "False");
            let bad: Vec<_> = bad.map(|it| format!("{} {}", it.type_, it.status)).collect();
            format!("of {owners:?}{deleting} {:?} {bad:?}", marks(it.annotations()))
        }
        Object::Host(it) => format!("{:?} {:?}", it.spec.memory, it.status.host.as_ref().map(|host| &host.memory)),
        Object::Bootstrap(_) => String::new(),
    }
}

/// Annotations that tell of a rollout.
fn marks(annotations: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let is_mark = |key: &str| key.contains("in-place-updates") || key.contains("refit.dev") || key.contains("hooks");
    let short = |key: &'_ str| key.rsplit('/').next().map(str::len).map_or(0, |length| key.len() - length);
    let marks = annotations.iter().filter(|(key, _)| is_mark(key));
    marks.map(|(key, value)| (&key[short(key)..], value.as_str())).collect()
}
