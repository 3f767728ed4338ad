//! Machines that the provider refuses to change for good: they are replaced, where the policy allows that.

use std::time::Duration;

use refit_api::policy::InPlacePolicy;

use super::Decision;
use super::pass::{New, Pass};
use super::wishes::Wishes;
use crate::machine_deployment::{Coverage, MachineView};

/// The coverage of the old MachineSets, where extensions cover a change and the provider does not take it.
///
/// A MachineSet chooses by itself which of its machines goes. So it is not covered only when all that it has left are refused for
/// good, have been for as long as the user says (`refit.dev/replace-after`), and would be taken as new ones: [`Refusal::is_for_good`](crate::machine_set::refusal::Refusal::is_for_good).
pub(super) fn judge(
    pass: &Pass<'_>,
    wishes: &Wishes,
    machines: &[MachineView<'_>],
    coverages: &mut [Coverage],
    decision: &mut Decision,
) {
    let (New::Existing(new), InPlacePolicy::Prefer) = (&pass.new, wishes.view.in_place) else { return };
    let new = new.metadata.name.as_deref().unwrap_or_default();
    for (old, coverage) in pass.old.iter().zip(coverages).filter(|(_, coverage)| **coverage == Coverage::Covered) {
        let name = old.set.metadata.name.as_deref().unwrap_or_default();
        let of_set: Vec<_> = machines.iter().filter(|it| it.machine_set == name && !it.deleting).collect();
        let waits = of_set.iter().map(|machine| left(pass, wishes, machine, new)).collect::<Option<Vec<_>>>();
        let Some(longest) = waits.and_then(|waits| waits.into_iter().max()) else { continue };
        if longest > Duration::ZERO {
            decision.requeue(longest);
        } else if let Some(refusal) = of_set.first().and_then(|machine| machine.refused.as_ref()) {
            *coverage = Coverage::Uncovered { why: refusal.words.clone() };
        }
    }
}

/// How long the refusal of a machine has to last before it counts. Nothing where it is not refused for good. It is tried
/// again every 15 seconds meanwhile.
fn left(pass: &Pass<'_>, wishes: &Wishes, machine: &MachineView<'_>, new: &str) -> Option<Duration> {
    let refusal = machine.refused.as_ref().filter(|_| machine.is_refused_by(new)).filter(|refusal| refusal.for_good)?;
    let lasted = pass.observed.now.duration_since(refusal.since()?);
    Some(wishes.replace_after.saturating_sub(Duration::try_from(lasted).unwrap_or_default()))
}
