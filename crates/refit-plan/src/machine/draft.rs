//! A decision in the making: the Machine as it should become, and what else is to be written.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use refit_api::cluster::Machine;
use refit_api::conditions::{NewCondition, get};
use serde_json::json;

use super::quiet::{self, Passing};
use super::{Decision, Errand, Observed, Problem};
use crate::effect::{Effect, Event, Patch, Target};
use crate::merge::OwnWrites;
use crate::plan::Plan;
use crate::waiting::WaitingOn;

/// A decision in the making.
pub(super) struct Draft<'a> {
    pub seen: &'a Observed,
    /// The Machine as it should become. What differs from the one that was seen is written in the end.
    pub machine: Machine,
    /// Writes to what belongs to the Machine that come before its own.
    pub first: Vec<Effect>,
    /// Writes that come after its own.
    pub last: Vec<Effect>,
    /// The update is over, and these writes in this order say so.
    pub completion: Option<Vec<Effect>>,
    pub events: Vec<Event>,
    pub waiting_on: Vec<WaitingOn>,
    pub problems: Vec<Problem>,
    pub errand: Option<Errand>,
    /// What of the status will pass by itself.
    pub passing: Option<Passing>,
    requeue_after: Option<Duration>,
}

impl<'a> Draft<'a> {
    pub fn new(seen: &'a Observed) -> Self {
        Self {
            seen,
            machine: seen.machine.clone(),
            first: Vec::new(),
            last: Vec::new(),
            completion: None,
            events: Vec::new(),
            waiting_on: Vec::new(),
            problems: Vec::new(),
            errand: None,
            passing: None,
            requeue_after: None,
        }
    }

    pub fn target(&self) -> Target {
        Target::of(&self.seen.machine)
    }

    pub fn name(&self) -> String {
        self.machine.metadata.name.clone().unwrap_or_default()
    }

    pub fn annotations(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.machine.metadata.annotations.as_ref().unwrap_or(&NONE)
    }

    pub fn has_annotation(&self, key: &str) -> bool {
        self.annotations().contains_key(key)
    }

    /// Puts the annotation on, or takes it off.
    pub fn annotate(&mut self, key: &str, value: Option<String>) {
        let annotations = self.machine.metadata.annotations.get_or_insert_default();
        match value {
            Some(value) => annotations.insert(key.to_owned(), value),
            None => annotations.remove(key),
        };
    }

    pub fn has_label(&self, key: &str) -> bool {
        self.machine.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(key))
    }

    /// Asks to decide again at that time, or a moment from now if it has passed.
    pub fn requeue_at(&mut self, time: Timestamp) {
        self.requeue_in(time.duration_since(self.seen.now));
    }

    pub fn requeue_in(&mut self, delay: SignedDuration) {
        let delay = Duration::try_from(delay).unwrap_or_default();
        self.requeue_after = Some(self.requeue_after.map_or(delay, |earlier| earlier.min(delay)));
    }

    /// Tells people of a failure, unless the condition says already that there was one.
    pub fn tell_once(&mut self, reason: &'static str, words: String, condition: &NewCondition) {
        let said = get(&self.seen.machine.status.conditions, &condition.type_);
        if said.is_none_or(|said| said.reason != condition.reason || said.message != condition.message) {
            self.events.push(Event::warning(self.target(), reason, words));
        }
    }

    pub fn wait(&mut self, what: impl Into<String>) {
        self.waiting_on.push(WaitingOn::Other { what: what.into() });
    }

    /// Puts the writes in their order.
    ///
    /// The status goes before the Machine itself. The end of an update is the one exception: the status says so only
    /// once it is so.
    pub fn finish(mut self) -> Decision {
        let mut effects = std::mem::take(&mut self.first);
        let quiet_about = match self.completion.take() {
            Some(completion) => {
                effects.extend(completion);
                self.seen.quiet.map(|quiet| quiet.about)
            }
            None => self.own_writes(&mut effects),
        };
        effects.append(&mut self.last);
        effects.extend(self.events.into_iter().map(Effect::Emit));
        Decision {
            plan: Plan { effects, waiting_on: self.waiting_on, requeue_after: self.requeue_after },
            errand: self.errand,
            status: self.machine.status,
            quiet_about,
            problems: self.problems,
        }
    }

    /// The writes to the Machine itself. Tells what that of its status is left for later about.
    fn own_writes(&mut self, effects: &mut Vec<Effect>) -> Option<Passing> {
        let end = quiet::until(self);
        let mut wanted = self.machine.clone();
        if let Some(end) = end {
            self.requeue_at(end);
            wanted.status = self.seen.machine.status.clone();
        }
        let writes = OwnWrites::of(&self.seen.machine, &wanted);
        if writes.collide() {
            self.requeue_in(SignedDuration::ZERO);
        }
        effects.extend(writes.in_order().map(Effect::Patch));
        self.passing.filter(|_| end.is_some())
    }

    /// Something of what the status says will pass by itself.
    pub fn will_pass(&mut self, passing: Passing) {
        self.passing = self.passing.max(Some(passing));
    }

    /// What is to change of metadata and spec, as the first write of a plan. It may be nothing but its precondition.
    pub fn first_patch(&self) -> Patch {
        let patch = OwnWrites::of(&self.seen.machine, &self.machine).object;
        let patch = patch.unwrap_or_else(|| Patch::object(self.target(), json!({})));
        Patch { resource_version: self.seen.machine.metadata.resource_version.clone(), ..patch }
    }
}
