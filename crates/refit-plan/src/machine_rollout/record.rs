//! What is written down of a rollout.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::conditions::{self, get};
use refit_api::policy::InPlacePolicy;
use refit_api::rollout::{FieldChange, MachineRollout, MachineRolloutStatus, RolloutDecision, RolloutState};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use refit_api::vocabulary::refit::reasons::NOT_BLOCKED;

use super::{Observed, machines, progress, words};
use crate::coverage::{Changes, Coverage, ExtensionAnswer, Verdict};

/// As many changes and extensions as the schema takes.
const MAX_CHANGES: usize = 512;
const MAX_EXTENSIONS: usize = 64;

/// The status of a rollout that is going on, or ends now.
pub(super) fn status(observed: &Observed<'_>, rollout: &MachineRollout) -> MachineRolloutStatus {
    let progress = progress::count(observed);
    let mut status = rollout.status.clone();
    if let Some(coverage) = observed.coverage {
        verdict(coverage, rollout.spec.policy, &mut status);
    } else if rollout.spec.policy == InPlacePolicy::Never {
        status.decision = Some(RolloutDecision::Replace);
    }
    if status.start_time.is_none() && (progress.updating > 0 || progress.updated > 0) {
        status.start_time = Some(Time(observed.now));
    }
    if progress::is_done(observed, &progress) {
        status.completion_time = Some(Time(observed.now));
    }
    status.progress = Some(progress);
    status.failures = machines::failures(observed);
    status.state = Some(words::state(observed, &status));
    status.message = Some(words::message(observed, &status)).filter(|words| !words.is_empty());
    status.waiting = machines::waiting(observed, status.message.as_deref());
    status.observed_generation = rollout.metadata.generation.filter(|number| *number > 0);
    let said = get(&observed.deployment.status.conditions, ROLLOUT_BLOCKED);
    let blocked = conditions::mirror(said, NOT_BLOCKED, conditions::refit::rollout_not_blocked());
    conditions::set(&mut status.conditions, blocked, rollout.metadata.generation, observed.now);
    status
}

/// The status of a rollout that will not be finished.
pub(super) fn overtaken(observed: &Observed<'_>, rollout: &MachineRollout) -> MachineRolloutStatus {
    MachineRolloutStatus {
        state: Some(RolloutState::Overtaken),
        message: Some("overtaken by another change".to_owned()),
        waiting: Vec::new(),
        completion_time: Some(Time(observed.now)),
        ..rollout.status.clone()
    }
}

/// What was decided, who covers what, and what nobody does.
fn verdict(coverage: &Coverage, policy: InPlacePolicy, status: &mut MachineRolloutStatus) {
    let none = Changes::default();
    let (left, answers, decision) = match coverage {
        Coverage::Covered { plan, answers } => {
            status.plan_hash = Some(plan.question.to_string());
            (&none, answers, Some(RolloutDecision::InPlace))
        }
        Coverage::Uncovered { left, answers } => (left, answers, Some(uncovered(policy))),
        Coverage::Undecided { left, answers } => (left, answers, status.decision),
    };
    status.decision = decision;
    status.changes = changes(left, answers);
    status.extensions = answers.iter().take(MAX_EXTENSIONS).map(ExtensionAnswer::to_status).collect();
}

fn uncovered(policy: InPlacePolicy) -> RolloutDecision {
    match policy {
        InPlacePolicy::Require => RolloutDecision::Blocked,
        InPlacePolicy::Prefer | InPlacePolicy::Never => RolloutDecision::Replace,
    }
}

fn changes(left: &Changes, answers: &[ExtensionAnswer]) -> Vec<FieldChange> {
    let covered = answers.iter().flat_map(|answer| match &answer.verdict {
        Verdict::Covers(changes) => {
            changes.listed.iter().map(|change| change.to_status(Some(&answer.extension))).collect()
        }
        Verdict::CoversNothing | Verdict::BadPatch(_) | Verdict::Unknown => Vec::new(),
    });
    let uncovered = left.listed.iter().map(|change| change.to_status(None));
    covered.chain(uncovered).take(MAX_CHANGES).collect()
}
