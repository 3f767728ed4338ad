//! Running the extension whose turn it is.

use jiff::Timestamp;
use refit_api::conditions::machine::{in_place_update_failed, updating_in_place};
use refit_api::conditions::{NewCondition, refit};
use refit_api::hooks::CanonicalName;
use refit_api::vocabulary::refit::annotations::{UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};

use serde_json::json;

use super::answer::Outcome;
use super::limits::Limits;
use super::{Report, completion, tell, update_began};
use crate::coverage::{ContentHash, FrozenPlan};
use crate::machine::draft::Draft;
use crate::machine::errand::{Call, Errand};
use crate::machine::phase::whole_seconds;
use crate::machine::progress::{Failure, Progress};
use crate::machine::quiet::Passing;
use crate::machine::request::update_machine_request;
use crate::waiting::WaitingOn;

/// An update that is going on.
pub(super) struct Run {
    /// What was accepted. Nothing where upstream's controllers began the update.
    pub plan: Option<FrozenPlan>,
    /// Who is to be asked, or why nobody can be.
    pub updater: Result<CanonicalName, String>,
    /// The objects of the Machine are not what was accepted. Nobody is asked for what nobody agreed to.
    pub has_moved_on: bool,
    pub progress: Progress,
    pub limits: Limits,
}

impl Run {
    /// The call that is due, or that was last made.
    fn call(&self) -> Option<Call> {
        Some(Call {
            updater: self.updater.clone().ok()?,
            plan: self.plan.as_ref().map(|plan| plan.question.clone()),
            remaining: self.plan.as_ref().map_or(1, |plan| plan.remaining().len()),
            attempts: self.progress.attempts,
        })
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.limits.deadline(self.progress.started_at)
    }

    /// What the extension says, under its name.
    fn said(&self, words: &str) -> String {
        match (&self.updater, words) {
            (Ok(updater), "") => format!("{updater} is at work"),
            (Ok(updater), words) => format!("{updater}: {words}"),
            (Err(absent), _) => absent.clone(),
        }
    }
}

/// Takes in the answer that there is, and asks if it is time to.
pub(super) fn go_on(draft: &mut Draft<'_>, mut run: Run) -> Report {
    if run.limits.timeout.is_some() && run.progress.started_at.is_none() {
        // It was not handed over by refit, or is begun anew after it was given up.
        let before = update_began(&draft.seen.machine).filter(|_| run.progress.forgiven == 0);
        run.progress.started_at = before.or(Some(whole_seconds(draft.seen.now)));
        draft.annotate(UPDATE_PROGRESS, run.progress.encode());
    }
    if run.has_moved_on {
        return moved_on(draft, &run);
    }
    let answer = draft.seen.answer.as_ref().filter(|answer| run.call().as_ref() == Some(&answer.call));
    let outcome = answer.map(Outcome::of);
    if outcome == Some(Outcome::Done) {
        return done(draft, run);
    }
    if let Some(Outcome::Failed { words, failure }) = outcome {
        return failed(draft, &run, run.said(&words), failure);
    }
    if run.deadline().is_some_and(|deadline| draft.seen.now >= deadline) {
        let words = match &outcome {
            Some(Outcome::InProgress { words, .. }) => words.as_str(),
            Some(Outcome::Done | Outcome::Failed { .. }) | None => "",
        };
        return timed_out(draft, &run, &run.said(words));
    }
    if let Some(deadline) = run.deadline() {
        draft.requeue_at(deadline);
    }
    match outcome {
        Some(Outcome::InProgress { until, words }) => in_progress(draft, &run, until, &words),
        Some(Outcome::Done | Outcome::Failed { .. }) | None => ask(draft, run),
    }
}

/// A plan that does not fit any more fails like one whose extension does: then its owner can make another.
fn moved_on(draft: &mut Draft<'_>, run: &Run) -> Report {
    match run.progress.retry_at.filter(|retry_at| draft.seen.now < *retry_at) {
        Some(retry_at) => {
            draft.requeue_at(retry_at);
            Report::default()
        }
        None => {
            let words = "the objects of the machine are not what its plan was made for".to_owned();
            failed(draft, run, words, Failure::Answered)
        }
    }
}

fn in_progress(draft: &mut Draft<'_>, run: &Run, until: Timestamp, words: &str) -> Report {
    let machines = vec![draft.name()];
    draft.waiting_on.push(WaitingOn::Updates { machines });
    let about = about(draft);
    let answer = draft.seen.answer.as_ref();
    let until = answer.map_or(until, |answer| Outcome::asked_again_at(answer, until, &about));
    if draft.seen.now < until {
        draft.requeue_at(until);
    } else {
        draft.errand = errand(draft, run);
    }
    let said = run.said(words);
    tell::at_work(draft, &said);
    // Of one that says nothing it is said who it is, which tells it from one that was not asked yet.
    Report::updating(updating_in_place(if words.is_empty() { &said } else { words }))
}

/// Asks, unless the last try has just failed.
fn ask(draft: &mut Draft<'_>, run: Run) -> Report {
    if let Err(absent) = &run.updater {
        draft.wait(absent.clone());
        tell::at_work(draft, absent);
        return Report::updating(updating_in_place(absent));
    }
    let machines = vec![draft.name()];
    draft.waiting_on.push(WaitingOn::Updates { machines });
    if let Some(retry_at) = run.progress.retry_at {
        draft.requeue_at(retry_at);
        if draft.seen.now >= retry_at {
            // Written before anybody is asked: from here on nobody gives the machine another target.
            draft.annotate(UPDATE_PROGRESS, run.progress.retrying().encode());
        }
        return Report::default();
    }
    draft.errand = errand(draft, &run);
    if run.progress.failures() == 0 {
        draft.will_pass(Passing::Update);
    }
    Report::default()
}

fn errand(draft: &Draft<'_>, run: &Run) -> Option<Errand> {
    let infrastructure = draft.seen.infrastructure.object()?;
    let request = update_machine_request(&draft.seen.machine, infrastructure, draft.seen.bootstrap.object());
    Some(Errand::Ask { call: run.call()?, about: about(draft), request: Box::new(request) })
}

/// What users want of the Machine and of its update. Where that changes, nobody waits for as long as an extension has said.
fn about(draft: &Draft<'_>) -> ContentHash {
    let metadata = &draft.machine.metadata;
    let deployment = draft.seen.machine_deployment.as_ref();
    ContentHash::of(&json!([
        metadata.labels,
        metadata.annotations,
        draft.machine.spec,
        deployment.map(|it| (&it.spec.template, &it.metadata.annotations)),
        draft.seen.cluster.metadata.annotations,
    ]))
}

/// The extension is done: the next one's turn comes, or the update is over.
fn done(draft: &mut Draft<'_>, run: Run) -> Report {
    let (Some(plan), Ok(updater)) = (run.plan, run.updater) else { return completion::complete(draft) };
    let plan = plan.without_first();
    draft.annotate(UPDATE_PLAN, Some(plan.encode()));
    let Some(next) = plan.next_extension() else { return completion::complete(draft) };
    let words = format!("{updater} is done, {} is next", next.extension_config());
    tell::next(draft, &words);
    draft.requeue_in(jiff::SignedDuration::ZERO);
    Report::updating(updating_in_place(&words))
}

/// The try failed: there is another after a while, or none.
fn failed(draft: &mut Draft<'_>, run: &Run, said: String, failure: Failure) -> Report {
    if run.limits.is_last_try(&run.progress, failure) {
        return give_up(draft, run, said, refit::update_retries_exhausted);
    }
    if run.deadline().is_some_and(|deadline| draft.seen.now >= deadline) {
        return timed_out(draft, run, &said);
    }
    let progress = run.progress.failed(failure, draft.seen.now);
    tell::try_failed(draft, &said);
    let said = format!("{said} ({})", run.limits.counted_tries(&progress, failure));
    draft.annotate(UPDATE_PROGRESS, progress.encode());
    if let Some(retry_at) = progress.retry_at {
        draft.requeue_at(retry_at);
    }
    Report::updating(in_place_update_failed(said))
}

fn timed_out(draft: &mut Draft<'_>, run: &Run, said: &str) -> Report {
    let timeout = run.limits.timeout.unwrap_or_default().as_secs();
    give_up(draft, run, format!("not done after {timeout}s: {said}"), refit::update_timed_out)
}

/// Nobody is asked any more. Everything else stays as it is, for a person to look at.
fn give_up(draft: &mut Draft<'_>, run: &Run, said: String, failed: fn(String) -> NewCondition) -> Report {
    draft.annotate(UPDATE_PROGRESS, run.progress.given_up().encode());
    draft.annotate(UPDATE_FAILED, Some(run.plan.as_ref().map(|plan| plan.question.to_string()).unwrap_or_default()));
    tell::given_up(draft, &said, run.progress.failures().saturating_add(1));
    let machines = vec![draft.name()];
    draft.waiting_on.push(WaitingOn::FailedUpdates { machines });
    Report { updating: Some(in_place_update_failed(said.clone())), failed: Some(failed(said)) }
}
