//! `spec.paused`: nothing rolls out, and scaling goes on in proportion.
//!
//! Upstream strips the annotations of moves under pause: machines on their way are then surplus of their new MachineSet,
//! and old MachineSets delete what they were to give away. Here orders to give machines
//! away stand still, nobody takes any, and what has been moved is counted where it is, also when it arrives after this.

use super::keep_originals::scaffold;
use super::rollout::{Rollout, Set, by_owner, old_sets};
use super::{Observed, Plan, Strategy, acknowledge};
use crate::waiting::WaitingOn;

pub fn plan(rollout: &mut Rollout<'_>) {
    acknowledge::everywhere(rollout);
    scaffold::carry_over(rollout);
    rollout.drop_empty_replicas();
    if rollout.keeps_originals() {
        rollout.restore_new();
    }
    let stays = if rollout.keeps_originals() {
        rollout.surplus() == scaffold::counted(rollout)
    } else {
        rollout.has_movers() && (0..=rollout.max_surge()).contains(&rollout.surplus())
    };
    if stays {
        rollout.hold_movers();
    } else if rollout.keeps_originals() && rollout.surplus() < 0 {
        let more = rollout.new.target() - rollout.surplus();
        rollout.hold_movers();
        set_to(&mut rollout.new, more);
    } else {
        scale_all(rollout);
        if !rollout.keeps_originals() {
            scaffold::mark_surge_everywhere(rollout);
        }
    }
    acknowledge::close(rollout);
}

/// The user has changed the number while the rollout stands still.
fn scale_all(rollout: &mut Rollout<'_>) {
    let scaffolding = scaffold::counted(rollout);
    if rollout.keeps_originals() {
        rollout.restore_all(rollout.wanted() + scaffolding);
    } else {
        rollout.restore_movers(rollout.wanted() + scaffolding);
    }
    let mut wanted = Wanted::of(rollout.deployment);
    if rollout.keeps_originals() {
        // A machine of surge would be one too many when the rollout goes on, and cost one that was there first.
        wanted.max_surge = scaffolding;
    }
    let available = rollout.new.available;
    let is_saturated = rollout.new.target() == wanted.replicas && available == wanted.replicas;
    let old = rollout.old.len();
    let sets = rollout.old.iter_mut().chain([&mut rollout.new]).collect();
    scale(wanted, sets, Some(old), is_saturated);
}

/// The same when there is no MachineSet of the wanted template and none can be made.
pub fn plan_without_new(observed: &Observed<'_>) -> Plan {
    let deployment = &observed.deployment;
    if deployment.keeps_originals() {
        return keep_without_new(observed);
    }
    let mut sets = old_sets(deployment, &observed.old, &mut by_owner(&observed.machines));
    for set in &mut sets {
        acknowledge::acknowledge(set);
        let back = (set.present() - set.target()).max(0);
        if set.view.handover.move_to.is_some() && back > 0 {
            set.give_back(back);
        }
        if !set.handover.acknowledged.is_empty() {
            set.handover.receive_from = set.view.handover.receive_from.clone();
        }
    }
    let newest = (0..sets.len()).max_by_key(|&at| sets[at].view.created);
    scale(Wanted::of(deployment), sets.iter_mut().collect(), newest, false);
    let surge = sets.iter().map(|set| set.target().max(set.present())).sum::<i64>() > i64::from(deployment.replicas);
    sets.iter_mut().for_each(|set| set.handover.surge = surge);
    let on_delete = deployment.strategy == Strategy::OnDelete;
    let waiting_on = if deployment.paused { vec![WaitingOn::Paused] } else { Vec::new() };
    let machine_sets = sets.into_iter().map(|set| set.into_plan(on_delete)).collect();
    Plan { machine_sets, waiting_on, ..Plan::default() }
}

/// Where machines that were there first stay, all marks stay, too, and no machine of surge is made meanwhile: there
/// would be one too many when the rollout goes on.
fn keep_without_new(observed: &Observed<'_>) -> Plan {
    let mut planned = Plan::default();
    if let Some(mut rollout) = Rollout::without_new(observed) {
        plan(&mut rollout);
        planned = rollout.into_plan();
    }
    if observed.deployment.paused && !planned.waiting_on.contains(&WaitingOn::Paused) {
        planned.waiting_on.push(WaitingOn::Paused);
    }
    planned
}

/// How many machines there are to be.
#[derive(Clone, Copy)]
struct Wanted {
    replicas: i64,
    max_surge: i64,
    is_rolling: bool,
}

impl Wanted {
    fn of(deployment: &super::DeploymentView) -> Self {
        Self {
            replicas: deployment.replicas.into(),
            max_surge: deployment.strategy.max_surge().into(),
            is_rolling: deployment.strategy.rolls(),
        }
    }

    /// The most machines that all MachineSets may have together.
    fn allowed(self) -> i64 {
        if self.replicas > 0 { self.replicas + self.max_surge } else { 0 }
    }
}

/// Scales the only active MachineSet, or the one at `idle` when none is active, or all in proportion.
///
/// When the new MachineSet, which is the last, has all that are wanted (`is_saturated`), the others go.
fn scale(wanted: Wanted, mut sets: Vec<&mut Set<'_>>, idle: Option<usize>, is_saturated: bool) {
    let active: Vec<usize> = (0..sets.len()).filter(|&at| sets[at].target() > 0).collect();
    match active.as_slice() {
        [] => idle.into_iter().for_each(|at| set_to(sets[at], wanted.replicas)),
        [only] => set_to(sets[*only], wanted.replicas),
        _ if is_saturated => sets.iter_mut().rev().skip(1).for_each(|set| set_to(set, 0)),
        _ if wanted.is_rolling => in_proportion(wanted, sets.into_iter().filter(|set| set.target() > 0).collect()),
        _ => {}
    }
}

fn set_to(set: &mut Set<'_>, replicas: i64) {
    if set.target() != replicas {
        set.scale_to(replicas, "scaled while the rollout stands still".to_owned());
    }
}

/// Shares what comes or goes out by size, the largest first; what rounding leaves goes to the largest.
fn in_proportion(wanted: Wanted, mut sets: Vec<&mut Set<'_>>) {
    let total: i64 = sets.iter().map(|set| set.target()).sum();
    let to_add = wanted.allowed() - total;
    // Of MachineSets of one size the newer grow first, and the older shrink first.
    sets.sort_by_key(|set| (-set.target(), set.view.created));
    if to_add > 0 {
        sets.sort_by_key(|set| (-set.target(), std::cmp::Reverse(set.view.created)));
    }
    let mut left = to_add;
    let mut sizes = Vec::new();
    for set in &sets {
        let share = share(wanted, set, total);
        let share = if to_add > 0 { share.min(left) } else { share.max(left) };
        let share = if left == 0 { 0 } else { share };
        sizes.push(set.target() + share);
        left -= share;
    }
    for (at, (set, size)) in sets.into_iter().zip(sizes).enumerate() {
        set_to(set, if at == 0 { (size + left).max(0) } else { size });
    }
}

/// What the size of a MachineSet becomes when all follow the MachineDeployment, less what it is.
fn share(wanted: Wanted, set: &Set<'_>, total: i64) -> i64 {
    let size = set.target();
    if wanted.replicas == 0 {
        return -size;
    }
    let before = i64::from(set.view.max_replicas.unwrap_or(0));
    let before = if before > 0 { before } else { total.max(1) };
    // Half goes up, as in upstream's rounding.
    let doubled = 2 * i128::from(size) * i128::from(wanted.allowed());
    let rounded = (doubled + i128::from(before)).div_euclid(2 * i128::from(before));
    i64::try_from(rounded).unwrap_or(i64::MAX) - size
}
