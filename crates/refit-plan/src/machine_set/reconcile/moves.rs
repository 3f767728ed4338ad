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
use crate::fleet;
use crate::machine_set::create::Templates;
use crate::machine_set::objects::name_of;
use crate::machine_set::preflight::{Checks, preflight_move};
use crate::machine_set::refusal::MoveRefusal;
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

impl<'a> Way<'a> {
    fn moving<'b>(&self, draft: &Draft<'b>, found: &'b ObservedMachine) -> Move<'b>
    where
        'a: 'b,
    {
        let Way { to, templates, plan, .. } = *self;
        Move { from: draft.set(), to, templates, parts: found.parts(), plan }
    }

    /// Whether the machine would get a version that it must not have yet.
    fn is_closed_to(&self, found: &ObservedMachine) -> bool {
        !self.blockers.is_empty() && found.machine.spec.version != self.to.spec.template.spec.version
    }

    /// What the API server has said about machines that are alike: all of them were accepted. Nothing: none was asked about.
    fn is_accepted(&self, rehearsal: &Rehearsal) -> Option<bool> {
        let alike = self.target.rehearsed.values().filter(|it| it.rehearsal.likeness == rehearsal.likeness);
        alike.map(|it| it.outcome == Outcome::Accepted).reduce(|all, this| all && this)
    }

    /// What the API server has said about exactly this, of the machine or of others that are alike and were all accepted.
    fn outcome(&self, machine: &str, rehearsal: Rehearsal) -> Result<Rehearsed, Rehearsal> {
        match self.target.rehearsed.get(machine) {
            Some(known) if known.rehearsal == rehearsal => Ok(known.clone()),
            _ if self.is_accepted(&rehearsal) == Some(true) => Ok(Rehearsed { rehearsal, outcome: Outcome::Accepted }),
            _ => Err(rehearsal),
        }
    }
}

/// What became of a machine that is to move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// It moves, or a dry run says next whether it can.
    Moves,
    /// It cannot move now. Another one may in its place.
    Stays,
}

/// Moves these machines, as far as the API server and the extensions accept it, and in the place of one that it does not
/// accept one of those that are next.
pub(super) fn decide(draft: &mut Draft<'_>, names: &[String], next: &[String]) {
    let Some(way) = way(draft) else { return };
    let (held, free): (Vec<_>, Vec<_>) = draft.named(names).into_iter().partition(|found| way.is_closed_to(found));
    let (mut begun, mut wanted) = (0, free.len());
    let next = draft.named(next).into_iter().filter(|found| !way.is_closed_to(found));
    for found in free.into_iter().chain(next) {
        if wanted == 0 {
            break;
        }
        if begun == REHEARSALS_PER_PASS || draft.is_written(found.name()) {
            draft.requeue(Duration::ZERO);
            wanted -= 1;
        } else if begin(draft, &way, found) == Begun::Moves {
            begun += 1;
            wanted -= 1;
        }
    }
    try_refused_again(draft, &way);
    if !held.is_empty() {
        draft.wait(WaitingOn::Preflight { problems: way.blockers });
        draft.requeue(RETRY);
    }
}

/// Asks again about machines that were refused, whether they are to move now or not: only so it is noticed that they can.
pub(super) fn look_at_refused(draft: &mut Draft<'_>) {
    let Some(to) = draft.handover.move_to.clone().filter(|_| draft.handover.hold.is_none()) else {
        return forget_refused(draft);
    };
    let is_refused = |found: &&ObservedMachine| MoveRefusal::of_move_to(&found.machine, &to).is_some();
    if draft.machines().iter().any(is_refused)
        && let Some(way) = way(draft)
    {
        try_refused_again(draft, &way);
    }
}

/// Where machines are what is wanted, nothing is refused any more.
fn forget_refused(draft: &mut Draft<'_>) {
    if draft.is_outgoing || draft.handover.hold.is_some() {
        return;
    }
    for found in draft.machines() {
        let forget = MoveRefusal::forget(&found.machine).filter(|_| !draft.is_written(found.name()));
        draft.task(Task::of_machine(&found.machine, forget.into_iter().collect()));
    }
}

fn try_refused_again(draft: &mut Draft<'_>, way: &Way<'_>) {
    let to = name_of(way.to);
    for found in draft.machines() {
        let is_due = draft.decision.rehearse.len() < REHEARSALS_PER_PASS && !draft.is_written(found.name());
        if !is_due || MoveRefusal::of_move_to(&found.machine, to).is_none() || fleet::is_deleting(&found.machine) {
            continue;
        }
        draft.requeue(RETRY);
        let Ok(rehearsal) = way.moving(draft, found).rehearse() else { continue };
        match way.outcome(found.name(), rehearsal) {
            Ok(Rehearsed { outcome: Outcome::Accepted, .. }) => {
                draft.task(Task::of_machine(&found.machine, MoveRefusal::forget(&found.machine).into_iter().collect()));
            }
            Ok(rehearsed) => drop(say(draft, way, found, way.moving(draft, found).start(&rehearsed).err())),
            Err(rehearsal) => drop(draft.decision.rehearse.insert(found.name().to_owned(), rehearsal)),
        }
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

/// Rehearses one machine, or moves it.
fn begin(draft: &mut Draft<'_>, way: &Way<'_>, found: &ObservedMachine) -> Begun {
    let moving = way.moving(draft, found);
    let rehearsed = match moving.rehearse() {
        Ok(rehearsal) => way.outcome(found.name(), rehearsal),
        Err(error) => return say(draft, way, found, Some(error)),
    };
    match rehearsed {
        Ok(rehearsed) => match moving.start(&rehearsed) {
            Ok(effect) => {
                draft.task(Task::of_machine(&found.machine, vec![effect]));
                Begun::Moves
            }
            Err(error) => say(draft, way, found, Some(error)),
        },
        Err(rehearsal) => {
            // One of several that are alike is enough, unless one of them was refused: then it depends on who it is.
            let is_like = |other: &Rehearsal| other.likeness == rehearsal.likeness;
            if way.is_accepted(&rehearsal).is_some() || !draft.decision.rehearse.values().any(is_like) {
                draft.decision.rehearse.insert(found.name().to_owned(), rehearsal);
            }
            draft.requeue(Duration::ZERO);
            Begun::Moves
        }
    }
}

/// Says why a machine does not move: on the Machine where it is refused, so that the MachineDeployment sees it, too.
fn say(draft: &mut Draft<'_>, way: &Way<'_>, found: &ObservedMachine, error: Option<NotMoved>) -> Begun {
    match error {
        None => {}
        Some(NotMoved::Refused { machine, refusal }) => {
            let (to, now, words) = (name_of(way.to), draft.observed.now, refusal.to_string());
            let note = MoveRefusal::note(&found.machine, to, now, refusal.for_good, &words);
            draft.task(Task::of_machine(&found.machine, note.into_iter().collect()));
            wait_for_refused(draft, machine, words);
            draft.requeue(RETRY);
        }
        Some(unanswered @ NotMoved::Unanswered { .. }) => {
            draft.wait_for(unanswered.to_string());
            draft.requeue(RETRY);
        }
        Some(error) => draft.problem(Problem::Move(error.into())),
    }
    Begun::Stays
}

/// All that are refused are one reason, with the words for the first.
fn wait_for_refused(draft: &mut Draft<'_>, machine: String, why: String) {
    let known = draft.decision.waiting_on.iter_mut().find_map(|reason| match reason {
        WaitingOn::ChangeRefused { machines, .. } => Some(machines),
        _ => None,
    });
    match known {
        Some(machines) if machines.contains(&machine) => {}
        Some(machines) => machines.push(machine),
        None => draft.wait(WaitingOn::ChangeRefused { machines: vec![machine], why }),
    }
}

fn named(set: &str) -> String {
    format!("MachineSet {set}")
}
