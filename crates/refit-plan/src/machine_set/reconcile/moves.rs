//! Machines that move to another MachineSet: asked about, rehearsed, then moved.

use std::time::Duration;

use refit_api::cluster::MachineSet;
use refit_api::name_set::NameSet;

use super::decision::Task;
use super::draft::Draft;
use super::observed::{MoveTarget, ObservedMachine};
use super::problem::Problem;
use crate::coverage::Accepted;
use crate::coverage::FrozenPlan;
use crate::machine_set::create::Templates;
use crate::machine_set::objects::name_of;
use crate::machine_set::preflight::{Checks, preflight_move};
use crate::machine_set::start_move::{Move, NotMoved, Outcome, Rehearsal, Rehearsed, handover_of};
use crate::reading::NotFound;
use crate::waiting::WaitingOn;

/// How many machines are rehearsed or moved in one pass at most: up to three dry runs and one write each. The next pass
/// follows at once.
pub const REHEARSALS_PER_PASS: usize = 250;

/// When to try again what was refused, or has no answer yet.
const RETRY: Duration = Duration::from_secs(15);

/// The other MachineSet, and what is accepted for machines that move there.
struct Way<'a> {
    target: &'a MoveTarget,
    to: &'a MachineSet,
    templates: Templates<'a>,
    plan: &'a FrozenPlan,
    /// What is in the way of machines that would change their version.
    blockers: Vec<String>,
}

impl Way<'_> {
    /// Whether the machine would get a version that it must not have yet.
    fn is_closed_to(&self, found: &ObservedMachine) -> bool {
        !self.blockers.is_empty() && found.machine.spec.version != self.to.spec.template.spec.version
    }

    /// What the API server has said about machines that are alike: all of them were accepted. Nothing: none was asked about.
    fn is_accepted(&self, rehearsal: &Rehearsal) -> Option<bool> {
        let alike = self.target.rehearsed.values().filter(|it| it.rehearsal.likeness == rehearsal.likeness);
        alike.map(|it| it.outcome == Outcome::Accepted).reduce(|all, this| all && this)
    }
}

/// Moves these machines, as far as the API server and the extensions accept it.
pub(super) fn decide(draft: &mut Draft<'_>, names: &[String]) {
    let Some(way) = way(draft) else { return };
    let (held, free): (Vec<_>, Vec<_>) = draft.named(names).into_iter().partition(|found| way.is_closed_to(found));
    let mut begun = 0;
    for found in free {
        if begun == REHEARSALS_PER_PASS || draft.is_written(found.name()) {
            draft.requeue(Duration::ZERO);
        } else if begin(draft, &way, found) {
            begun += 1;
        }
    }
    if !held.is_empty() {
        draft.wait(WaitingOn::Preflight { problems: way.blockers });
        draft.requeue(RETRY);
    }
}

/// The other MachineSet does not take machines from this one, or is not there.
pub(super) fn refuse(draft: &mut Draft<'_>, to: String, accepts: NameSet) {
    let target = draft.observed.move_target.as_ref().map(|target| target.machine_set.found(|| named(&to)));
    match target {
        Some(Err(error @ NotFound::Unreadable(_))) => draft.problem(Problem::MoveTarget(error)),
        Some(Err(error @ NotFound::Missing { .. })) => draft.wait_for(error.to_string()),
        Some(Ok(set)) if name_of(set) == to => {
            let from = name_of(draft.set()).to_owned();
            let why = match handover_of(set).move_to {
                Some(next) => NotMoved::GivesAway { from, to, next },
                None => NotMoved::NotAccepted { from, to, accepts },
            };
            draft.wait_for(why.to_string());
        }
        Some(Ok(_)) | None => draft.wait_for(format!("{} was not read", named(&to))),
    }
}

/// What must be known before any machine moves.
fn way<'a>(draft: &mut Draft<'a>) -> Option<Way<'a>> {
    let target = draft.observed.move_target.as_ref()?;
    let found = target.machine_set.found(|| "the MachineSet that machines move to".to_owned());
    let found = found.and_then(|to| Ok((to, target.templates.found(to)?)));
    let (to, templates) = match found {
        Ok(found) => found,
        Err(error) => {
            draft.problem(Problem::MoveTarget(error));
            return None;
        }
    };
    let plan = accepted(draft, target)?;
    let blockers = preflight_move(Checks {
        set: to,
        cluster: &draft.observed.cluster,
        control_plane: draft.observed.control_plane.as_ref(),
        bootstrap_template: templates.bootstrap,
    });
    let blockers = blockers.problems().into_iter().map(str::to_owned).collect();
    Some(Way { target, to, templates, plan, blockers })
}

/// The plan that extensions have accepted for the change.
fn accepted<'a>(draft: &mut Draft<'a>, target: &'a MoveTarget) -> Option<&'a FrozenPlan> {
    match &target.verdict {
        None => {
            draft.decision.ask = true;
            None
        }
        Some(Accepted::Covered { plan }) => Some(plan),
        Some(Accepted::Uncovered { paths, answers }) => {
            draft.wait(WaitingOn::Uncovered { paths: paths.clone(), answers: answers.clone() });
            None
        }
        Some(Accepted::Undecided { answers }) => {
            draft.wait(WaitingOn::Undecided { answers: answers.clone() });
            draft.requeue(RETRY);
            None
        }
    }
}

/// Rehearses one machine, or moves it. Tells whether there was something to do for it.
fn begin(draft: &mut Draft<'_>, way: &Way<'_>, found: &ObservedMachine) -> bool {
    let Way { to, templates, plan, .. } = *way;
    let moving = Move { from: draft.set(), to, templates, parts: found.parts(), plan };
    let rehearsed = way.target.rehearsed.get(found.name());
    let started = match (moving.rehearse(), rehearsed) {
        (Err(error), _) => Err(error),
        (Ok(rehearsal), Some(rehearsed)) if rehearsed.rehearsal == rehearsal => moving.start(rehearsed),
        (Ok(rehearsal), _) if way.is_accepted(&rehearsal) == Some(true) => {
            moving.start(&Rehearsed { rehearsal, outcome: Outcome::Accepted })
        }
        (Ok(rehearsal), _) => {
            // One of several that are alike is enough, unless one of them was refused: then it depends on who it is.
            let is_like = |other: &Rehearsal| other.likeness == rehearsal.likeness;
            if way.is_accepted(&rehearsal).is_some() || !draft.decision.rehearse.values().any(is_like) {
                draft.decision.rehearse.insert(found.name().to_owned(), rehearsal);
            }
            draft.requeue(Duration::ZERO);
            return true;
        }
    };
    match started {
        Ok(effect) => {
            draft.task(Task::of_machine(&found.machine, vec![effect]));
            return true;
        }
        Err(refused @ NotMoved::Refused { .. }) => {
            draft.wait_for(refused.to_string());
            draft.requeue(RETRY);
        }
        Err(error) => draft.problem(Problem::Move(error.into())),
    }
    false
}

fn named(set: &str) -> String {
    format!("MachineSet {set}")
}
