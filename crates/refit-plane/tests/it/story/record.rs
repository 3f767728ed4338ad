//! What the user did, for whoever has to find out what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::ResourceExt;
use refit_api::vocabulary::condition_types::{AVAILABLE, DISCOVERED};
use refit_api::vocabulary::refit::condition_types::HELD;

use crate::history::{Entry, Object};

/// So much of the value of a mark is shown.
const SHOWN: usize = 120;

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

/// All states that differ from the one before, a line each; those of MachineDeployment, MachineSets and Machines.
pub fn states(entries: &[Entry]) -> String {
    let (mut last, mut told) = (BTreeMap::new(), String::from("what was seen:\n"));
    for entry in entries {
        let (key, line) = (entry.object.key(), line(&entry.object, entry.is_gone));
        if last.get(&key) != Some(&line) {
            told += &format!("{:8.3}s {} {key} {line}\n", entry.at.as_secs_f64(), entry.version);
            last.insert(key, line);
        }
    }
    told
}

/// One state in a line.
fn line(object: &Object, is_gone: bool) -> String {
    let line = match object {
        Object::Deployment(it) => {
            let (spec, status) = (&it.spec, &it.status);
            let counters =
                [status.replicas, status.up_to_date_replicas, status.ready_replicas, status.available_replicas];
            let (paused, template) = (spec.paused == Some(true), &spec.template.spec.infrastructure_ref.name);
            format!(
                "wants {:?} of {template}, paused {paused}: {:?}",
                spec.replicas,
                counters.map(Option::unwrap_or_default)
            )
        }
        Object::Set(it) => {
            let (has, wants) = (it.status.replicas.unwrap_or_default(), it.spec.replicas.unwrap_or_default());
            let held = it.status.conditions.iter().find(|it| it.type_ == HELD && it.status == "True");
            let held = held.map(|condition| condition.message.clone());
            format!(
                "{} {has}/{wants} {:?} held {held:?}",
                it.spec.template.spec.infrastructure_ref.name,
                marks(it.annotations())
            )
        }
        Object::Machine(it) => {
            let owners: Vec<&str> = it.owner_references().iter().map(|owner| owner.name.as_str()).collect();
            let is = |type_: &str| it.status.conditions.iter().any(|it| it.type_ == type_ && it.status == "True");
            let deleting = if it.metadata.deletion_timestamp.is_some() { " deleting" } else { "" };
            let available = if is(AVAILABLE) { "" } else { " unavailable" };
            format!("of {owners:?}{deleting}{available} {:?}", marks(it.annotations()))
        }
        Object::Host(it) => format!("{:?} {:?}", it.spec.memory, it.status.host.as_ref().map(|host| &host.memory)),
        Object::Bootstrap(_) => String::new(),
        Object::Rollout(it) => {
            let status = &it.status;
            format!("{:?} {:?} {:?}", status.decision, status.state, status.message.as_deref().unwrap_or_default())
        }
        Object::Extension(it) => {
            let discovered = it.status.conditions.iter().find(|it| it.type_ == DISCOVERED);
            format!("discovered {:?}", discovered.map(|it| (&it.status, &it.message)))
        }
    };
    if is_gone { format!("GONE {line}") } else { line }
}

/// Annotations that tell of a rollout.
fn marks(annotations: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let is_mark = |key: &str| key.contains("in-place-updates") || key.contains("refit.dev") || key.contains("hooks");
    let short = |key: &'_ str| key.rsplit('/').next().map(str::len).map_or(0, |length| key.len() - length);
    let marks = annotations.iter().filter(|(key, _)| is_mark(key));
    marks.map(|(key, value)| (&key[short(key)..], value.get(..SHOWN).unwrap_or(value))).collect()
}
