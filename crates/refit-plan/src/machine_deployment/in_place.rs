//! Step D: old MachineSets shrink by giving machines away, where extensions cover the change.
//!
//! How far they shrink is decided before. A machine that is updated counts as unavailable, so the limits are the same.

use refit_api::name_set::NameSet;

use super::rollout::{Rollout, Set};

/// How many machines change hands at the same time at most. The MachineSet that takes them lists their names in an annotation, and
/// all annotations of an object have 256 KiB: 500 names of up to 253 characters and a comma are less than half of that.
pub const MAX_MOVING: i64 = 500;

/// Upstream's step: moves are on until the new MachineSet is full, and surge gives way to them.
pub fn intent(rollout: &mut Rollout<'_>) {
    if rollout.new.spec >= rollout.wanted() {
        return;
    }
    agree_on_moves(rollout, |set| set.replicas > 0);
    if rollout.new.handover.receives() {
        revisit_surge(rollout);
    }
}

/// Tells covered MachineSets to give machines away, and the new one to take them.
pub fn agree_on_moves(rollout: &mut Rollout<'_>, has_machines: impl Fn(&Set<'_>) -> bool) {
    let new = &rollout.new;
    let mut sources = NameSet::default();
    for set in rollout.old.iter_mut().filter(|set| set.is_covered() && has_machines(set)) {
        set.handover.move_to = Some(new.name().to_owned());
        if set.intent.is_some() {
            set.note(format!("its machines move to {}", new.name()));
        }
        sources.insert(set.name());
    }
    rollout.new.handover.receive_from = sources;
}

/// Lets no more machines change hands than have room in the list of those that are acknowledged. The next follow when these are
/// counted. An order of before stays as it is.
pub fn in_batches(rollout: &mut Rollout<'_>) {
    let pending = rollout.machines.iter().filter(|machine| machine.pending_acknowledge).count();
    let mut room = (MAX_MOVING - i64::try_from(pending).unwrap_or(i64::MAX)).max(0);
    for set in rollout.old.iter_mut().filter(|set| set.handover.move_to.is_some()) {
        let target = set.target().max((set.present() - room).min(set.view.spec_replicas.into()));
        if target > set.target() {
            set.scale_to(target, format!("no more than {MAX_MOVING} machines change hands at the same time"));
        }
        room = (room - (set.present() - target).max(0)).max(0);
    }
}

/// Machines are created for surge only where nothing moves without, and then one.
fn revisit_surge(rollout: &mut Rollout<'_>) {
    let up = rollout.new.target() - rollout.new.spec;
    let total = rollout.sum(|set| set.target().max(set.replicas));
    let surge = up.min((total - rollout.wanted()).max(0));
    if up <= 0 || surge <= 0 {
        return;
    }
    let without_surge = up - surge;
    if without_surge == 0 && is_quiet(rollout) {
        rollout.new.scale_to(rollout.new.spec + 1, "one machine of surge, so that others can be updated".to_owned());
        return;
    }
    rollout.new.intent = (without_surge > 0).then_some(rollout.new.spec + without_surge);
    rollout.new.note(format!("a surge of {surge} is not needed, machines are updated in place"));
}

/// Whether nothing is on its way: no scaling, no update, and all machines of the new MachineSet are available.
pub fn is_quiet(rollout: &Rollout<'_>) -> bool {
    let new = &rollout.new;
    let settled = |set: &Set<'_>| set.spec >= set.replicas && set.target() >= set.spec;
    [new.replicas, new.up_to_date, new.available].iter().all(|&count| count == new.spec)
        && rollout.old.iter().all(settled)
        && !rollout.machines.iter().any(|machine| machine.updating)
}
