//! The strategy OnDelete: a machine changes when the user deletes it.

use refit_api::policy::InPlacePolicy;

use super::keep_originals::scaffold;
use super::rollout::{Rollout, Set};
use super::{DeploymentView, acknowledge, scale_up};

/// Machines that were on their way when the strategy was switched are counted where they are; upstream forgets them, and
/// they are deleted as surplus.
pub fn plan(rollout: &mut Rollout<'_>) {
    acknowledge::everywhere(rollout);
    scaffold::carry_over(rollout);
    let was_moving = rollout.old.iter().any(|set| set.view.handover.move_to.is_some());
    if was_moving {
        rollout.drop_empty_replicas();
    }
    if rollout.keeps_originals() {
        rollout.restore_new();
    }
    let is_stable = rollout.surplus() == scaffold::counted(rollout);
    if is_stable && (was_moving || scaffold::is_up(rollout)) {
        rollout.hold_movers();
        scaffold::take_down(rollout);
    } else {
        rollout.restore_movers(rollout.wanted());
        scale_up::new_machine_set(rollout);
        shrink_old(rollout);
    }
    acknowledge::close(rollout);
}

/// Old MachineSets give up replicas that have no machine any more, and as many others as the user does not want.
fn shrink_old(rollout: &mut Rollout<'_>) {
    let keeps = rollout.keeps_originals();
    let mut surplus = rollout.sum(Set::target) - rollout.wanted();
    rollout.old.sort_by(|a, b| (a.view.created, a.name()).cmp(&(b.view.created, b.name())));
    for set in &mut rollout.old {
        // Counters lag behind. Where machines stay, one that has just arrived is there.
        let there = if keeps { set.replicas.max(set.present()) } else { set.replicas.max(0) };
        let without_machine = set.target() - there;
        if without_machine > 0 && set.target() > 0 {
            set.scale_to(set.target() - without_machine, "replicas without a machine go".to_owned());
            surplus -= without_machine;
        }
    }
    let from_spec = loses_the_first_part(rollout.deployment);
    for set in &mut rollout.old {
        let down = set.target().min(surplus);
        if down > 0 {
            let from = if from_spec { set.spec } else { set.target() };
            set.scale_to(from - down, "fewer replicas are wanted".to_owned());
            surplus -= down;
        }
    }
}

/// Upstream counts from `spec.replicas` again after it has taken off the replicas without a machine, so that these come
/// back until the next pass. That is harmless, and part of the sequence where upstream's was asked for.
fn loses_the_first_part(deployment: &DeploymentView) -> bool {
    deployment.in_place == InPlacePolicy::Prefer && !deployment.keep_originals
}
