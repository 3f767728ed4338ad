//! Whether the machines of old MachineSets can be updated in place, as far as extensions have said.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use refit_api::cluster::{ContractVersionedObjectReference, Machine, MachineSet};
use refit_api::hooks::RawObject;
use refit_api::owners;
use refit_api::policy::{InPlacePolicy, PREFIX};
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, DESIRED_REPLICAS, DISABLE_MACHINE_CREATE, LAST_APPLIED_CONFIGURATION, MAX_REPLICAS,
    MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, REVISION, REVISION_HISTORY,
};
use refit_api::vocabulary::refit::annotations::{REPLACE, REPLACE_AFTER};

use super::decided::{Decided, Record, Uncovered};
use super::pass::{New, Old, Pass};
use super::wishes::Wishes;
use super::{Decision, Observed, Problem};
use crate::coverage::{
    Accepted, ContentHash, Coverage as Answered, MAX_WORDS, MachineSetObjects, Question, QuestionError, is_arriving,
    shortened,
};
use crate::machine_deployment::Coverage;
use crate::reading::Read;
use crate::waiting::WaitingOn;

/// When to ask again after an extension gave no answer, or a template was not there.
pub(super) const RETRY: Duration = Duration::from_secs(15);

/// How long an extension may keep silent before somebody has to look at it. Longer than a restart of it takes.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// What changes on a MachineSet while its machines move, and says nothing about them. Refit's own annotations are left out, too.
const PASSING: [&str; 9] = [
    ACKNOWLEDGED_MOVE,
    DESIRED_REPLICAS,
    DISABLE_MACHINE_CREATE,
    LAST_APPLIED_CONFIGURATION,
    MAX_REPLICAS,
    MOVE_MACHINES_TO_MACHINESET,
    RECEIVE_MACHINES_FROM_MACHINESETS,
    REVISION,
    REVISION_HISTORY,
];

/// A question to extensions: can the machines of this MachineSet become those of the new one?
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The old MachineSet.
    pub machine_set: String,
    /// What to bring the answer under. It is the same as long as the answer is: it stands for the contents of both
    /// MachineSets and of their templates, but for what changes while machines move.
    pub key: ContentHash,
    pub question: Question,
}

/// What the answer about the change from one MachineSet to another is kept under, by whoever is to find it again: the
/// MachineSet whose machines move carries it out by the plan that the MachineDeployment was answered.
pub fn answer_key(mut from: MachineSetObjects, mut to: MachineSetObjects) -> Result<ContentHash, QuestionError> {
    for objects in [&mut from, &mut to] {
        objects.machine_set = lasting(&objects.machine_set);
    }
    Question::about_machine_set(from, to).map(|question| question.hash())
}

/// What is known of the machines of an old MachineSet, and what is to be on record about them.
pub(super) struct Judged {
    pub coverage: Coverage,
    pub record: Option<String>,
}

/// The coverage of every old MachineSet, in their order. What has to be asked for it is added to the decision.
pub(super) fn of_old(pass: &Pass<'_>, wishes: &Wishes, decision: &mut Decision) -> Vec<Judged> {
    pass.old.iter().map(|old| of_one(pass, wishes, old, decision)).collect()
}

fn of_one(pass: &Pass<'_>, wishes: &Wishes, old: &Old<'_>, decision: &mut Decision) -> Judged {
    let kept = |coverage: Coverage| Judged { coverage, record: Record::text(old.set) };
    if let Err(why) = &wishes.policy {
        return kept(Coverage::Undecided { why: why.clone() });
    }
    if let Some(why) = &old.not_in_place {
        return kept(uncovered(why.clone()));
    }
    if wishes.view.in_place == InPlacePolicy::Never {
        return kept(uncovered("the policy is to replace machines".to_owned()));
    }
    match &pass.new {
        _ if !wishes.rolls() => kept(undecided("nothing rolls out")),
        _ if !pass.owned.has_machines(old.set) => kept(undecided("it has no machines")),
        // Its own name is part of the question.
        New::ToBeCreated { .. } | New::None => {
            kept(undecided("the MachineSet that they would move to is not there yet"))
        }
        New::Existing(new) => {
            let (coverage, key) = answered(pass.observed, old.set, new, decision);
            let change = Change { observed: pass.observed, wishes, old: old.set, to: name_of(new) };
            change.judge(coverage, key.as_ref(), decision)
        }
    }
}

/// The change of the machines of one MachineSet to those of another.
struct Change<'a> {
    observed: &'a Observed<'a>,
    wishes: &'a Wishes,
    old: &'a MachineSet,
    to: &'a str,
}

impl Change<'_> {
    /// What follows from an answer and from what is on record. The key is there if extensions have answered.
    fn judge(&self, coverage: Coverage, key: Option<&ContentHash>, decision: &mut Decision) -> Judged {
        let before = Record::of(self.old, self.to);
        if let (Coverage::Undecided { why }, Some(key)) = (&coverage, key)
            && self.is_unanswered(key)
            && !self.has_word()
        {
            let record = self.unanswered(why, before, decision);
            return Judged { coverage, record: Some(record.encode()) };
        }
        let before = if key.is_some() { before.and_then(Record::answered) } else { before };
        let (coverage, record) = match (coverage, key) {
            (Coverage::Covered, _) => (Coverage::Covered, Some(Record::in_place(self.to))),
            (Coverage::Uncovered { why } | Coverage::Undecided { why }, Some(_)) if self.has_word() => {
                (uncovered(format!("the user has {REPLACE} on it: {why}")), before)
            }
            (Coverage::Uncovered { why }, Some(key)) if self.wishes.view.in_place == InPlacePolicy::Prefer => {
                self.lasting(why, key, before, decision)
            }
            // What was answered before did not last.
            (undecided @ Coverage::Undecided { .. }, Some(_)) => (undecided, before.filter(Record::is_in_place)),
            (coverage, _) => (coverage, before),
        };
        Judged { coverage, record: record.map(|record| record.encode()) }
    }

    /// Whether an extension did not answer, or cannot be asked. Without any of either nobody has asked: the process has just begun.
    fn is_unanswered(&self, key: &ContentHash) -> bool {
        match self.observed.answers.get(key) {
            Some(Answered::Undecided { answers, undiscovered, .. }) => !answers.is_empty() || !undiscovered.is_empty(),
            Some(Answered::Covered { .. } | Answered::Uncovered { .. }) | None => false,
        }
    }

    /// An extension does not answer. When that lasts, somebody must do something. What others had left uncovered before does not
    /// count any more.
    fn unanswered(&self, why: &str, before: Option<Record>, decision: &mut Decision) -> Record {
        let record = Record::unanswered(self.to, before, self.observed.now);
        let since = record.unanswered_since.unwrap_or(self.observed.now);
        let passed = Duration::try_from(self.observed.now.duration_since(since)).unwrap_or_default();
        match MAX_SILENCE.checked_sub(passed).filter(|left| !left.is_zero()) {
            Some(left) => decision.requeue(left),
            None => decision.plan.waiting_on.push(WaitingOn::NotAnswering { why: why.to_owned() }),
        }
        record
    }

    /// Whether the user has said that for this rollout machines may be replaced.
    fn has_word(&self) -> bool {
        self.wishes.view.in_place == InPlacePolicy::Prefer && self.wishes.replace.as_deref() == Some(self.to)
    }

    /// Nobody covers the change, say those who are registered now. Machines are replaced for it when they have said so for long
    /// enough, unless the rollout was decided in place.
    fn lasting(
        &self,
        why: String,
        key: &ContentHash,
        before: Option<Record>,
        decision: &mut Decision,
    ) -> (Coverage, Option<Record>) {
        let Some(registered) = &self.observed.registered else {
            decision.requeue(RETRY);
            return (undecided("the registered extensions are not known"), before);
        };
        let now = self.observed.now;
        let since = match before.as_ref().map(|record| &record.decided) {
            Some(Decided::InPlace) => return (self.withdrawn(&why), before),
            Some(Decided::Uncovered(said)) if said.is_of(key, registered) => said.since,
            Some(Decided::Uncovered(_) | Decided::Unknown) | None => {
                decision.requeue(self.wishes.replace_after);
                let said = Uncovered::since(key, registered, now);
                let since = said.since;
                return (self.until(&why, since), Some(Record::uncovered(self.to, said)));
            }
        };
        let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        match self.wishes.replace_after.checked_sub(passed).filter(|left| !left.is_zero()) {
            None => (uncovered(why), before),
            Some(left) => {
                decision.requeue(left);
                (self.until(&why, since), before)
            }
        }
    }

    fn withdrawn(&self, why: &str) -> Coverage {
        let next =
            format!("it goes on when an extension covers it again; to replace machines, set {REPLACE}: {}", self.to);
        Coverage::Withdrawn { why: format!("{}; {next}", shortened(why.to_owned(), MAX_WORDS / 2)) }
    }

    fn until(&self, why: &str, since: Timestamp) -> Coverage {
        let at =
            SignedDuration::try_from(self.wishes.replace_after).ok().and_then(|after| since.checked_add(after).ok());
        let at = at.map_or_else(|| "some time".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let next = format!("machines are replaced at {at} if that is still so, by {REPLACE_AFTER}");
        Coverage::Undecided { why: format!("{}; {next}", shortened(why.to_owned(), MAX_WORDS / 2)) }
    }
}

/// What extensions have said, and under which key.
fn answered(
    observed: &Observed<'_>,
    old: &MachineSet,
    new: &MachineSet,
    decision: &mut Decision,
) -> (Coverage, Option<ContentHash>) {
    let (from, to) = match both_templates(observed, old, new) {
        Ok(templates) => templates,
        Err(why) => {
            // Templates are not watched: whether it is there now is asked for.
            decision.requeue(RETRY);
            return (Coverage::Undecided { why }, None);
        }
    };
    let objects = || (from.with(old.clone()), to.with(new.clone()));
    let machine_set = old.metadata.name.clone().unwrap_or_default();
    let (current, desired) = objects();
    let key = match answer_key(current, desired) {
        Ok(key) => key,
        Err(source) => return (cannot_ask(Problem::Question { machine_set, source }, decision), None),
    };
    if let Some(answered) = observed.answers.get(&key) {
        decision.answered.insert(machine_set, key.clone());
        return (about_all(observed, old, judge(answered, decision)), Some(key));
    }
    let (current, desired) = objects();
    match Question::about_machine_set(current, desired) {
        Ok(question) => decision.ask.push(Ask { machine_set, key, question }),
        Err(source) => return (cannot_ask(Problem::Question { machine_set, source }, decision), None),
    }
    (undecided("extensions are to be asked"), None)
}

/// The templates of both MachineSets, or why they are not known. New machines could not be made without those of the new
/// one. What the machines of the old one were made from stands on their own objects, too.
fn both_templates<'a>(
    observed: &'a Observed<'_>,
    old: &MachineSet,
    new: &MachineSet,
) -> Result<(Templates<'a>, Templates<'a>), String> {
    let to = Templates::of(new, |reference| match observed.template(reference) {
        Read::Found(template) => Ok(template),
        Read::Missing => Err(format!("{} {} does not exist", reference.kind, reference.name)),
        Read::Unreadable(problem) => Err(problem.to_string()),
    });
    let from = Templates::of(old, |reference| match observed.template(reference) {
        Read::Found(template) => Ok(template),
        Read::Missing => observed.made_from(old, reference).map_err(|why| {
            let what = format!("{} {} does not exist any more", reference.kind, reference.name);
            format!("{what}, and its machines do not tell what it was: {why}")
        }),
        Read::Unreadable(problem) => Err(problem.to_string()),
    });
    Ok((from?, to?))
}

/// An answer about what machines were made from is about those that have told it. One that is still on its way to its
/// MachineSet is something else: it is not replaced for it.
fn about_all(observed: &Observed<'_>, old: &MachineSet, coverage: Coverage) -> Coverage {
    let is_told = |reference| observed.template(reference).is_missing();
    let spec = &old.spec.template.spec;
    let references = spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref]);
    let Coverage::Uncovered { why } = coverage else { return coverage };
    let uid = old.metadata.uid.as_deref().unwrap_or_default();
    let is_odd = |machine: &&&Machine| {
        let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
        owners::is_controlled_by_uid(references, uid) && is_arriving(machine)
    };
    let machines = observed.machines.all().unwrap_or_default();
    match machines.iter().find(is_odd) {
        Some(machine) if references.into_iter().any(is_told) => {
            let name = crate::fleet::name(machine);
            Coverage::Undecided { why: format!("machine {name} is not yet what the template was that is gone; {why}") }
        }
        Some(_) | None => Coverage::Uncovered { why },
    }
}

fn cannot_ask(problem: Problem, decision: &mut Decision) -> Coverage {
    let why = problem.words();
    decision.problems.push(problem);
    Coverage::Undecided { why }
}

fn judge(answered: &Answered, decision: &mut Decision) -> Coverage {
    match Accepted::from(answered) {
        Accepted::Covered { .. } => Coverage::Covered,
        Accepted::Uncovered { paths, answers } => uncovered(WaitingOn::Uncovered { paths, answers }.to_string()),
        Accepted::Undecided { answers } => {
            decision.requeue(RETRY);
            let why = WaitingOn::Undecided { answers }.to_string();
            Coverage::Undecided { why: shortened(why, MAX_WORDS) }
        }
    }
}

fn name_of(set: &MachineSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

fn uncovered(why: String) -> Coverage {
    Coverage::Uncovered { why: shortened(why, MAX_WORDS) }
}

fn undecided(why: &str) -> Coverage {
    Coverage::Undecided { why: why.to_owned() }
}

/// The MachineSet without what changes while its machines move.
fn lasting(set: &MachineSet) -> MachineSet {
    let mut lasting = set.clone();
    lasting.spec.replicas = None;
    if let Some(annotations) = &mut lasting.metadata.annotations {
        annotations.retain(|key, _| !PASSING.contains(&key.as_str()) && !key.starts_with(PREFIX));
    }
    lasting
}

/// The templates of a MachineSet.
struct Templates<'a> {
    infrastructure: &'a RawObject,
    bootstrap: Option<&'a RawObject>,
}

impl<'a> Templates<'a> {
    fn of(
        set: &MachineSet,
        find: impl Fn(&ContractVersionedObjectReference) -> Result<&'a RawObject, String>,
    ) -> Result<Self, String> {
        let spec = &set.spec.template.spec;
        let bootstrap = spec.bootstrap.config_ref.as_ref();
        Ok(Self { infrastructure: find(&spec.infrastructure_ref)?, bootstrap: bootstrap.map(find).transpose()? })
    }

    fn with(&self, machine_set: MachineSet) -> MachineSetObjects {
        MachineSetObjects {
            machine_set,
            infrastructure_machine_template: self.infrastructure.clone(),
            bootstrap_config_template: self.bootstrap.cloned(),
        }
    }
}
