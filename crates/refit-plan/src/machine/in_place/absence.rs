//! Extensions of a plan that are not registered any more.
//!
//! One that is installed anew is back within seconds, and goes on. One that stays away would keep the machine for ever: so after a
//! while the machine may take another target, for which extensions are asked that exist. Nothing else follows from it, and
//! no machine is deleted for it.

use jiff::SignedDuration;
use refit_api::hooks::CanonicalName;
use refit_api::vocabulary::refit::annotations::UPDATE_PROGRESS;

use super::stage::is_registered;
use crate::coverage::FrozenPlan;
use crate::machine::draft::Draft;
use crate::machine::observed::Updaters;
use crate::machine::phase::whole_seconds;
use crate::machine::progress::Progress;

/// For how long the extension whose turn it is may not be registered before an operator must act. To install one anew takes
/// seconds, and people hear within a minute why nothing moves.
pub(super) const GONE_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Writes down which extensions of the plan are not registered, and since when the next one is not. While it is not known which
/// are, nothing changes.
///
/// Returns what to say where the next extension is back after it was gone: that is written before it is asked, as somebody
/// may be about to give the machine another target.
pub(super) fn note(draft: &mut Draft<'_>, plan: Option<&FrozenPlan>, progress: &mut Progress) -> Option<String> {
    let (Some(plan), Updaters::Registered(registered)) = (plan, &draft.seen.updaters) else { return None };
    let missing = plan.remaining().iter().filter(|name| !is_registered(registered, name));
    let missing: Vec<CanonicalName> = missing.cloned().collect();
    let next = plan.next_extension().filter(|next| missing.contains(next));
    let before = progress.clone();
    let known = before.missing_since.filter(|_| next.is_some_and(|next| before.missing.contains(next)));
    let since = next.map(|_| known.unwrap_or_else(|| whole_seconds(draft.seen.now)));
    let gone_at = since.and_then(|since| since.checked_add(GONE_AFTER).ok());
    progress.is_gone = gone_at.is_some_and(|at| draft.seen.now >= at);
    if let Some(at) = gone_at.filter(|_| !progress.is_gone) {
        draft.requeue_at(at);
    }
    (progress.missing, progress.missing_since) = (missing, since);
    if *progress != before {
        draft.annotate(UPDATE_PROGRESS, progress.encode());
    }
    let is_back = before.is_gone && !progress.is_gone;
    is_back.then(|| {
        format!("extension {} is registered again", plan.next_extension().map_or("", |it| it.extension_config()))
    })
}
