//! What was decided about a rollout, who covers what, and what nobody does.

use refit_api::policy::InPlacePolicy;
use refit_api::rollout::{FieldChange, MachineRolloutStatus, RolloutDecision};

use super::deletions::REPLACED;
use crate::coverage::{self, Changes, Coverage, ExtensionAnswer, MAX_WORDS, shortened};

/// As many changes and extensions as the schema takes.
const MAX_CHANGES: usize = 512;
const MAX_EXTENSIONS: usize = 64;
/// How the reason of a rollout ends that has replaced some machines and updates the others.
const IN_PART: &str = ", the others are updated in place";

/// What was decided about the machines of all old MachineSets.
pub(crate) enum Verdict {
    /// All of them are updated in place.
    InPlace,
    /// Some cannot be, for this reason.
    NotInPlace { why: String },
    /// It is not known yet.
    Unknown,
}

/// Writes the verdict into the status, and what extensions said, or else what is known of the change. What is known stays while
/// nothing else is.
pub(crate) fn set_verdict(
    verdict: &Verdict,
    policy: InPlacePolicy,
    answered: Option<&Coverage>,
    unasked: impl FnOnce() -> Option<Changes>,
    status: &mut MachineRolloutStatus,
) {
    match verdict {
        Verdict::InPlace => {
            (status.decision, status.reason) = (Some(RolloutDecision::InPlace), None);
            in_part(status);
        }
        Verdict::NotInPlace { why } => {
            status.decision = Some(uncovered(policy));
            status.reason = Some(shortened(why.clone(), MAX_WORDS)).filter(|why| !why.is_empty());
        }
        Verdict::Unknown => {}
    }
    match (answered, verdict) {
        (Some(coverage), _) => set_answers(coverage, status),
        (None, Verdict::NotInPlace { .. }) if status.changes.is_empty() => {
            status.changes = unasked().map(|left| changes(&left, &[])).unwrap_or_default();
        }
        (None, _) => {}
    }
}

/// Of a rollout that updates machines in place: whether some were replaced. They are not back because the others are updated.
pub(super) fn in_part(status: &mut MachineRolloutStatus) {
    let is_in_place = status.decision == Some(RolloutDecision::InPlace);
    if !is_in_place && !status.reason.as_deref().is_some_and(is_in_part) {
        return;
    }
    let words = match replaced(status) {
        0 => return,
        1 => "1 machine was replaced".to_owned(),
        several => format!("{several} machines were replaced"),
    };
    (status.decision, status.reason) = (Some(RolloutDecision::Replace), Some(format!("{words}{IN_PART}")));
}

/// Whether this is the reason of a rollout whose machines were replaced in part.
pub(super) fn is_in_part(reason: &str) -> bool {
    reason.ends_with(IN_PART)
}

fn set_answers(coverage: &Coverage, status: &mut MachineRolloutStatus) {
    let none = Changes::default();
    let (left, answers) = match coverage {
        Coverage::Covered { plan, answers } => {
            status.plan_hash = Some(plan.question.to_string());
            (&none, answers)
        }
        Coverage::Uncovered { left, answers } | Coverage::Undecided { left, answers, .. } => (left, answers),
    };
    status.changes = changes(left, answers);
    status.extensions = answers.iter().take(MAX_EXTENSIONS).map(ExtensionAnswer::to_status).collect();
}

/// How many machines were deleted because they had to be replaced, of those that are listed.
fn replaced(status: &MachineRolloutStatus) -> usize {
    status.deletions.iter().filter(|deletion| deletion.reason.starts_with(REPLACED)).count()
}

fn uncovered(policy: InPlacePolicy) -> RolloutDecision {
    match policy {
        InPlacePolicy::Require => RolloutDecision::Blocked,
        InPlacePolicy::Prefer | InPlacePolicy::Never => RolloutDecision::Replace,
    }
}

fn changes(left: &Changes, answers: &[ExtensionAnswer]) -> Vec<FieldChange> {
    let covered = answers.iter().flat_map(|answer| match &answer.verdict {
        coverage::Verdict::Covers(changes) => {
            changes.listed.iter().map(|change| change.to_status(Some(&answer.extension))).collect()
        }
        coverage::Verdict::CoversNothing
        | coverage::Verdict::BadPatch(_)
        | coverage::Verdict::Strays(_)
        | coverage::Verdict::Unknown => Vec::new(),
    });
    let uncovered = left.listed.iter().map(|change| change.to_status(None));
    covered.chain(uncovered).take(MAX_CHANGES).collect()
}
