//! Whether the machines of old MachineSets can be updated in place, as far as extensions have said.

use std::time::Duration;

use refit_api::cluster::{ContractVersionedObjectReference, MachineSet};
use refit_api::hooks::RawObject;
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, DESIRED_REPLICAS, DISABLE_MACHINE_CREATE, LAST_APPLIED_CONFIGURATION, MAX_REPLICAS,
    MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, REVISION, REVISION_HISTORY,
};
use refit_api::vocabulary::refit::annotations::{HOLD, SCAFFOLDING};

use super::pass::{New, Old, Pass};
use super::wishes::Wishes;
use super::{Decision, Observed, Problem};
use crate::coverage::{
    Accepted, ContentHash, Coverage as Answered, MAX_WORDS, MachineSetObjects, Question, QuestionError, shortened,
};
use crate::machine_deployment::Coverage;
use crate::reading::Read;
use crate::waiting::WaitingOn;

/// When to ask again after an extension gave no answer, or a template was not there.
const RETRY: Duration = Duration::from_secs(15);

/// What changes on a MachineSet while its machines move, and says nothing about them.
const PASSING: [&str; 11] = [
    ACKNOWLEDGED_MOVE,
    DESIRED_REPLICAS,
    DISABLE_MACHINE_CREATE,
    HOLD,
    LAST_APPLIED_CONFIGURATION,
    MAX_REPLICAS,
    MOVE_MACHINES_TO_MACHINESET,
    RECEIVE_MACHINES_FROM_MACHINESETS,
    REVISION,
    REVISION_HISTORY,
    SCAFFOLDING,
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

/// The coverage of every old MachineSet, in their order. What has to be asked for it is added to the decision.
pub(super) fn of_old(pass: &Pass<'_>, wishes: &Wishes, decision: &mut Decision) -> Vec<Coverage> {
    pass.old.iter().map(|old| of_one(pass, wishes, old, decision)).collect()
}

fn of_one(pass: &Pass<'_>, wishes: &Wishes, old: &Old<'_>, decision: &mut Decision) -> Coverage {
    if let Err(why) = &wishes.policy {
        return Coverage::Undecided { why: why.clone() };
    }
    if let Some(why) = &old.not_in_place {
        return uncovered(why.clone());
    }
    if wishes.view.in_place == InPlacePolicy::Never {
        return uncovered("the policy is to replace machines".to_owned());
    }
    match &pass.new {
        _ if !wishes.rolls() => undecided("nothing rolls out"),
        _ if !pass.owned.has_machines(old.set) => undecided("it has no machines"),
        // Its own name is part of the question.
        New::ToBeCreated { .. } | New::None => undecided("the MachineSet that they would move to is not there yet"),
        New::Existing(new) => answered(pass.observed, old.set, new, decision),
    }
}

fn answered(observed: &Observed<'_>, old: &MachineSet, new: &MachineSet, decision: &mut Decision) -> Coverage {
    let templates = match both_templates(observed, old, new, decision) {
        Ok(templates) => templates,
        Err(coverage) => return coverage,
    };
    let objects = || (templates.0.with(old.clone()), templates.1.with(new.clone()));
    let machine_set = old.metadata.name.clone().unwrap_or_default();
    let (from, to) = objects();
    let key = match answer_key(from, to) {
        Ok(key) => key,
        Err(source) => return cannot_ask(Problem::Question { machine_set, source }, decision),
    };
    if let Some(answered) = observed.answers.get(&key) {
        return judge(answered, decision);
    }
    let (from, to) = objects();
    match Question::about_machine_set(from, to) {
        Ok(question) => decision.ask.push(Ask { machine_set, key, question }),
        Err(source) => return cannot_ask(Problem::Question { machine_set, source }, decision),
    }
    undecided("extensions are to be asked")
}

/// The templates of both MachineSets, or what follows from it that one is not there.
fn both_templates<'a>(
    observed: &'a Observed<'_>,
    old: &MachineSet,
    new: &MachineSet,
    decision: &mut Decision,
) -> Result<(Templates<'a>, Templates<'a>), Coverage> {
    match (Templates::of(observed, old), Templates::of(observed, new)) {
        (Ok(old), Ok(new)) => Ok((old, new)),
        (Err(NoTemplate::Unreadable(why)), _) | (_, Err(NoTemplate::Unreadable(why))) => {
            decision.requeue(RETRY);
            Err(Coverage::Undecided { why })
        }
        // New machines could not be made either. Templates are not watched: whether it is there now is asked for.
        (_, Err(NoTemplate::Missing(what))) => {
            decision.requeue(RETRY);
            Err(Coverage::Undecided { why: format!("{what} does not exist") })
        }
        // What the machines were made from is gone: nobody covers this change, unless somebody puts it back.
        (Err(NoTemplate::Missing(what)), _) => {
            decision.requeue(RETRY);
            Err(uncovered(format!("{what} does not exist any more")))
        }
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
        annotations.retain(|key, _| !PASSING.contains(&key.as_str()));
    }
    lasting
}

/// The templates of a MachineSet.
struct Templates<'a> {
    infrastructure: &'a RawObject,
    bootstrap: Option<&'a RawObject>,
}

/// Why there is a template less than there should be.
enum NoTemplate {
    Missing(String),
    Unreadable(String),
}

impl<'a> Templates<'a> {
    fn of(observed: &'a Observed<'_>, set: &MachineSet) -> Result<Self, NoTemplate> {
        let spec = &set.spec.template.spec;
        let bootstrap = spec.bootstrap.config_ref.as_ref();
        Ok(Self {
            infrastructure: found(observed, &spec.infrastructure_ref)?,
            bootstrap: bootstrap.map(|reference| found(observed, reference)).transpose()?,
        })
    }

    fn with(&self, machine_set: MachineSet) -> MachineSetObjects {
        MachineSetObjects {
            machine_set,
            infrastructure_machine_template: self.infrastructure.clone(),
            bootstrap_config_template: self.bootstrap.cloned(),
        }
    }
}

fn found<'a>(
    observed: &'a Observed<'_>,
    reference: &ContractVersionedObjectReference,
) -> Result<&'a RawObject, NoTemplate> {
    match observed.template(reference) {
        Read::Found(template) => Ok(template),
        Read::Missing => Err(NoTemplate::Missing(format!("{} {}", reference.kind, reference.name))),
        Read::Unreadable(problem) => Err(NoTemplate::Unreadable(problem.to_string())),
    }
}
