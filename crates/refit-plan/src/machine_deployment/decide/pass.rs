//! What was observed, put in order: which MachineSet is the new one, and which are old.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use refit_api::cluster::{MachineDeployment, MachineSet};
use refit_api::naming::{RandomSuffix, machine_set_name};

use super::Observed;
use super::claims::Owned;
use crate::machine_deployment::{Candidate, Discarded, Selection, compare_templates, select};

/// What was observed, judged once and asked often.
pub(super) struct Pass<'a> {
    pub observed: &'a Observed<'a>,
    pub owned: &'a Owned<'a>,
    pub new: New<'a>,
    pub old: Vec<Old<'a>>,
    /// How the machines of old MachineSets differ from what is wanted, by uid, in words.
    pub differences: BTreeMap<String, Vec<String>>,
}

/// The MachineSet of the wanted template.
pub(super) enum New<'a> {
    Existing(&'a MachineSet),
    ToBeCreated {
        name: String,
        suffix: RandomSuffix,
        why: String,
    },
    /// There is none, and none is made while the rollout is paused.
    None,
}

/// Another MachineSet.
pub(super) struct Old<'a> {
    pub set: &'a MachineSet,
    /// Why its machines have to be replaced whatever extensions cover.
    pub not_in_place: Option<String>,
}

impl<'a> Pass<'a> {
    pub fn new(observed: &'a Observed<'a>, owned: &'a Owned<'a>) -> Self {
        let candidates: Vec<Candidate> =
            owned.machine_sets.iter().map(|set| candidate(observed.deployment, set)).collect();
        let Selection { new, old } = select(&candidates, rollout_after(observed), observed.now);
        let differences = differences(owned, &candidates, &old);
        let old = old.into_iter();
        let old = old.map(|old| Old { set: owned.machine_sets[old.index], not_in_place: old.not_in_place });
        let new = match new {
            Ok(index) => New::Existing(owned.machine_sets[index]),
            Err(_) if observed.deployment.spec.paused == Some(true) => New::None,
            Err(why) => to_be_created(observed, why),
        };
        Self { observed, owned, new, old: old.collect(), differences }
    }
}

/// The time from which on older machines are replaced.
pub(super) fn rollout_after(observed: &Observed<'_>) -> Option<Timestamp> {
    observed.deployment.spec.rollout.after.as_ref().map(|after| after.0)
}

impl New<'_> {
    pub fn existing(&self) -> Option<&MachineSet> {
        match self {
            Self::Existing(set) => Some(set),
            Self::ToBeCreated { .. } | Self::None => None,
        }
    }
}

/// The MachineSet that machines are to belong to, of those that a MachineDeployment owns. Nothing: it is to be made.
pub fn wanted<'a>(
    deployment: &MachineDeployment,
    machine_sets: &[&'a MachineSet],
    now: Timestamp,
) -> Option<&'a MachineSet> {
    let candidates: Vec<Candidate> = machine_sets.iter().map(|set| candidate(deployment, set)).collect();
    let after = deployment.spec.rollout.after.as_ref().map(|after| after.0);
    select(&candidates, after, now).new.ok().map(|index| machine_sets[index])
}

fn candidate(deployment: &MachineDeployment, set: &MachineSet) -> Candidate {
    Candidate {
        name: set.metadata.name.clone().unwrap_or_default(),
        created: created(set),
        spec_replicas: set.spec.replicas.unwrap_or_default(),
        is_going: set.metadata.deletion_timestamp.is_some(),
        difference: compare_templates(&set.spec.template, &deployment.spec.template),
    }
}

/// A MachineSet without a time of creation is as old as can be.
pub(super) fn created(set: &MachineSet) -> Timestamp {
    set.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |created| created.0)
}

/// The words for machines that the Machine controller has not noticed yet.
fn differences(owned: &Owned<'_>, candidates: &[Candidate], old: &[Discarded]) -> BTreeMap<String, Vec<String>> {
    let words = |old: &Discarded| {
        let uid = owned.machine_sets[old.index].metadata.uid.clone().unwrap_or_default();
        let mut messages = candidates[old.index].difference.condition_messages.clone();
        if messages.is_empty() {
            messages.extend(old.not_in_place.clone());
        }
        (uid, messages)
    };
    old.iter().map(words).collect()
}

/// A name that no MachineSet has: an apply would change that one instead of making another.
fn to_be_created<'a>(observed: &Observed<'_>, why: String) -> New<'a> {
    let of = observed.deployment.metadata.name.as_deref().unwrap_or_default();
    let listed = observed.machine_sets.all().unwrap_or_default();
    let taken: BTreeSet<&str> = listed.iter().filter_map(|set| set.metadata.name.as_deref()).collect();
    let mut random = observed.random;
    loop {
        let suffix = RandomSuffix::from_random(random);
        let name = machine_set_name(of, suffix);
        if !taken.contains(name.as_str()) {
            return New::ToBeCreated { name, suffix, why };
        }
        // Neighbouring numbers give different names, so this ends after as many as are taken.
        random = random.wrapping_add(1);
    }
}
