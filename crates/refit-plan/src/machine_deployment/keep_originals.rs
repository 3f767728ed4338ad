//! The rolling update that keeps the machines that were there first, and never replaces one under `Require`.
//!
//! It uses steps of upstream's sequence and differs in what they are for. Upstream fills the new MachineSet with the
//! surge machine, so that the last of the old machines finds no place and is deleted. Here the surge machine is
//! *scaffolding*: it is created when nothing can move without it, all machines are updated, and then it goes. While
//! machines can be updated in place, none is replaced; when those are done, MachineSets that are not covered follow in
//! upstream's sequence.

pub mod scaffold;

use super::rollout::{Rollout, Set};
use super::scale_down::{self, scale_down};
use super::{acknowledge, deadlock, in_place, replace_old};

pub fn plan(rollout: &mut Rollout<'_>) {
    acknowledge::everywhere(rollout);
    rollout.all_mut().for_each(Set::look_at_machines);
    scaffold::carry_over(rollout);
    rollout.drop_empty_replicas();
    rollout.restore_frozen(rollout.wanted() + scaffold::counted(rollout));
    rollout.restore_new();
    if can_move(rollout) || (scaffold::is_up(rollout) && !can_replace(rollout)) {
        start_over(rollout);
        rollout.all_mut().for_each(Set::write_off_surplus);
        grow(rollout);
        update(rollout);
    } else {
        rollout.all_mut().for_each(Set::write_off_surplus);
        scaffold::forget(rollout);
        let replaces = can_replace(rollout);
        replace_old(rollout);
        if replaces {
            scaffold::mark_surge(rollout);
        }
    }
    acknowledge::close(rollout);
}

/// Whether a machine is left that can be updated in place.
fn can_move(rollout: &Rollout<'_>) -> bool {
    rollout.old.iter().any(can_give)
}

fn can_give(set: &Set<'_>) -> bool {
    set.is_covered() && has_machines(set)
}

/// Whether a machine is left that has to be replaced.
fn can_replace(rollout: &Rollout<'_>) -> bool {
    rollout.old.iter().any(|set| !set.is_covered() && !set.frozen && has_machines(set))
}

/// Whether it has, or is to have, machines other than the scaffolding.
fn has_machines(set: &Set<'_>) -> bool {
    set.target().max(set.present()) > set.extras()
}

/// Whether one of them can move. Those that the API server refuses wait for a person, and nobody stands in for them.
fn has_movable(set: &Set<'_>) -> bool {
    set.target().max(set.present()) > set.extras() + set.refused
}

/// What covered MachineSets were to give up and still have is decided anew, as the user may have changed his mind. If not,
/// the decision is the same.
fn start_over(rollout: &mut Rollout<'_>) {
    for set in rollout.old.iter_mut().filter(|set| set.is_covered()) {
        set.spec = set.spec.max(set.present());
    }
}

/// The machines that the user wants and nobody has are created by the new MachineSet.
fn grow(rollout: &mut Rollout<'_>) {
    let (missing, wanted) = (-rollout.surplus(), rollout.wanted());
    if missing > 0 {
        rollout.new.scale_to(rollout.new.spec + missing, format!("{wanted} replicas are wanted"));
    }
    if missing >= 0 {
        scaffold::forget(rollout);
    }
}

fn update(rollout: &mut Rollout<'_>) {
    if rollout.surplus() > scaffold::counted(rollout) {
        trim(rollout);
    } else if can_move(rollout) && rollout.is_stopped() {
        rollout.hold_movers();
    } else if can_move(rollout) {
        in_place::agree_on_moves(rollout, has_machines);
        if rollout.old.iter().any(|set| can_give(set) && has_movable(set)) {
            try_failed_again(rollout);
            scale_down(rollout, i64::MAX, can_give);
            scaffold::put_up_if_needed(rollout);
            deadlock::break_unless_updating(rollout, can_give);
        } else {
            scaffold::take_down(rollout);
        }
    } else {
        scaffold::take_down(rollout);
    }
}

/// Machines whose update failed move first, for good or until the next try: what they were to become is not wanted any more,
/// so that the update is over. They are unavailable already, and cost nothing.
fn try_failed_again(rollout: &mut Rollout<'_>) {
    for set in rollout.old.iter_mut().filter(|set| can_give(set)) {
        let failed = set.machines.iter().filter(|machine| machine.update_over && !machine.deleting).count();
        let failed = i64::try_from(failed).unwrap_or(i64::MAX).min(set.target() - set.staying());
        if failed > 0 {
            set.scale_to(
                set.target() - failed,
                "machines whose update failed are updated to something else".to_owned(),
            );
        }
    }
}

/// What was asked for and is not there is not made any more, before a machine goes.
fn give_up_empty(rollout: &mut Rollout<'_>, scaffold: i64) {
    let mut surplus = rollout.sum(Set::target) - rollout.wanted() - scaffold;
    for set in rollout.all_mut() {
        let staying = set.machines.iter().filter(|machine| !machine.deleting).count();
        let empty = (set.target() - i64::try_from(staying).unwrap_or(i64::MAX) - set.awaited).min(surplus);
        if empty > 0 {
            set.scale_to(set.target() - empty, "replicas without a machine go first".to_owned());
            surplus -= empty;
        }
    }
}

/// The user wants fewer machines. Those of the old template go first, without an update that would be for nothing.
fn trim(rollout: &mut Rollout<'_>) {
    let (wanted, scaffold) = (rollout.wanted(), scaffold::counted(rollout));
    // A machine that cannot move can go.
    rollout.old.iter_mut().for_each(|set| set.refused = 0);
    if rollout.new.target() - rollout.new.reserved() > wanted {
        rollout.new.scale_to(wanted, format!("{wanted} replicas are wanted"));
    }
    give_up_empty(rollout, scaffold);
    let surplus = rollout.sum(Set::target) - wanted - scaffold;
    let surplus = scale_down::failed(rollout, surplus);
    scale_down(rollout, surplus, |_| true);
    if surplus > 0 {
        deadlock::break_unless_updating(rollout, |_| true);
    }
}
