//! What people hear of a rollout beside its start and its end: how machines change, and whether it stands still.
//!
//! That it is blocked is told by the MachineDeployment's own decision, also where there is no MachineRollout.

use refit_api::cluster::MachineDeployment;
use refit_api::rollout::{MachineRolloutStatus, RolloutDecision, RolloutState};
use refit_api::vocabulary::refit::events::{ROLLOUT_DECIDED, ROLLOUT_PAUSED, ROLLOUT_RESUMED};

use super::words;
use crate::effect::{Event, Target};

/// What is worth an event, from one status to the next.
pub(super) fn events(
    deployment: &MachineDeployment,
    old: &MachineRolloutStatus,
    new: &MachineRolloutStatus,
) -> Vec<Event> {
    let told = moved(old, new).into_iter();
    told.map(|(reason, words)| Event::normal(Target::of(deployment), reason, words)).collect()
}

/// What is told when it is decided how machines change. That a rollout is blocked is told as such.
pub(crate) fn decided(
    deployment: &MachineDeployment,
    old: &MachineRolloutStatus,
    new: &MachineRolloutStatus,
) -> Option<Event> {
    let decision = new.decision.filter(|decision| old.decision != Some(*decision))?;
    let words = match decision {
        RolloutDecision::InPlace => format!("machines are updated in place: {}", words::change(new)),
        RolloutDecision::Replace => {
            format!("machines are replaced: {}", new.reason.clone().unwrap_or_else(|| words::change(new)))
        }
        RolloutDecision::Blocked => return None,
    };
    Some(Event::normal(Target::of(deployment), ROLLOUT_DECIDED, words))
}

/// Whether it stands still now, or goes on.
fn moved(old: &MachineRolloutStatus, new: &MachineRolloutStatus) -> Option<(&'static str, String)> {
    let (stood, stands) = (old.state.and_then(moves) == Some(false), new.state.and_then(moves) == Some(false));
    if new.state == Some(RolloutState::Paused) && old.state != new.state {
        return Some((ROLLOUT_PAUSED, new.message.clone().unwrap_or_default()));
    }
    let is_decided_anew = old.state == Some(RolloutState::Blocked) && new.state == Some(RolloutState::Deciding);
    let goes_on = stood && !stands && !is_decided_anew && new.completion_time.is_none();
    goes_on.then(|| (ROLLOUT_RESUMED, "machines change again".to_owned()))
}

/// Whether it goes on by itself. Nothing: it is over.
fn moves(state: RolloutState) -> Option<bool> {
    match state {
        RolloutState::Deciding | RolloutState::Progressing => Some(true),
        RolloutState::Paused | RolloutState::Blocked | RolloutState::OnDelete => Some(false),
        RolloutState::Completed | RolloutState::Overtaken => None,
    }
}
