//! Decides about a KubeadmControlPlane: which Machine is made, updated in place, replaced or removed next.
//!
//! Everything here is a function of [`Observed`]. The order is upstream's: deletions are finished first, then a
//! hand-over for an update in place that was cut short, then unhealthy machines are replaced, then updates under way
//! are waited for, then the rollout goes on, then machines come and go. Later steps wait for earlier ones, and at most
//! one machine is touched at a time.
//!
//! Where it differs from upstream, on purpose:
//!
//! - the policies `refit.dev/in-place` and `refit.dev/keep-originals`;
//! - what an update in place was accepted for is frozen with its mark;
//! - the leadership of etcd is moved away before its machine is updated, not only before it goes;
//! - the next machine waits for the kubelet of the last one, and an update that failed for good stops the rollout;
//! - a machine that is unhealthy while it is updated is not replaced for it;
//! - the only machine never goes before its successor is there;
//! - a creation that was cut short goes on under its name;
//! - ties are broken by name.
//!
//! Not here: certificates and kubeconfigs (the condition `CertificatesAvailable` is an input), talking to etcd and to
//! the workload cluster (inputs, and [`Step`]s), kube-proxy and CoreDNS (they follow once a decision
//! [is settled](Decision::is_settled)), whether a KubeadmConfig matches and whether extensions cover a change (inputs).
//!
//! Machines that nobody controls are [taken on](claim) before anything is decided.

mod adoption;
mod applied;
mod decided;
mod decision;
mod deletion;
mod desired;
mod etcd;
mod hand_over;
mod in_place;
pub mod inspection;
mod knowledge;
mod machine;
mod observed;
mod pre_terminate;
mod preflight;
mod quorum;
mod remediation;
mod rollout;
mod scale;
mod selection;
mod status;
mod sync;
#[cfg(test)]
mod tests;
mod up_to_date;
mod view;
pub mod workload;

use std::time::Duration;

use refit_api::cluster::Cluster;

pub use adoption::{Candidate, Claim, ClaimError, claim, is_controlled};
pub use decision::{Decision, Step};
pub use hand_over::{HandOver, HandOverError, Seen};
pub use observed::{Coverage, EtcdMember, EtcdMembers, Observed, ObservedMachine, Refused};
pub use status::unreadable;

use view::View;

use crate::machine::paused_by;
use crate::waiting::WaitingOn;

/// When to look again after labels or annotations were written: nobody watches the objects of Machines.
const SYNC_RETRY: Duration = Duration::from_secs(1);

/// Decides what to do about a control plane now.
///
/// # Guarantees
/// - Under `Require`, no Machine is deleted for a rollout.
/// - Under `Prefer`, one is deleted for a rollout only when the registered extensions leave its change uncovered and that
///   answer has been on record for `refit.dev/replace-after`, or when the user has said so.
/// - An update in place begins only while no Machine is being updated or deleted, and all are healthy.
/// - After a crash between any two steps, deciding again leads to the same end.
/// - Where nothing is left to do, there is no step and no report.
pub fn decide(read: &Observed) -> Decision {
    let observed = &read.with_what_was_seen();
    let view = View::of(observed, read);
    let mut decision = Decision::default();
    if let Some(by) = paused_by(&observed.cluster, &observed.control_plane.metadata) {
        decision.wait(WaitingOn::Paused);
        status::report_paused(&view, by, &mut decision);
        return decision;
    }
    if observed.control_plane.metadata.deletion_timestamp.is_some() {
        deletion::decide(&view, &mut decision);
    } else if !deletion::has_finalizer(&view) {
        deletion::set_finalizers(&view, &mut decision, true);
        return decision;
    } else {
        act(&view, &mut decision);
    }
    decision.waiting_on.extend(observed.problems.iter().cloned());
    status::report(&view, &mut decision);
    decision
}

/// Whether the decision depends on the workload cluster and on certificates: not while the control plane is paused, comes, or
/// goes.
pub fn is_at_work(observed: &Observed) -> bool {
    let metadata = &observed.control_plane.metadata;
    let is_going = metadata.deletion_timestamp.is_some();
    deletion::is_finalizer_set(metadata) && !is_going && paused_by(&observed.cluster, metadata).is_none()
}

/// One line per step, in their order. Each that has something to do, or to wait for, keeps the later ones back.
fn act(view: &View<'_>, decision: &mut Decision) {
    if !can_begin(view, decision) || makes_no_sense(view, decision) {
        return;
    }
    sync::decide(view, decision);
    if let Some(why) = &view.observed.not_inspected {
        // Whoever cannot look into the workload cluster does not know what its machines can do without.
        decision.wait_for(why.clone());
        return decision.requeue(preflight::RETRY);
    }
    let _ = etcd::remove_orphan(view, decision)
        || pre_terminate::decide(view, decision)
        || in_place::resume(view, decision)
        || remediation::decide(view, decision)
        || is_updating(view, decision)
        || has_written(decision)
        || rollout::decide(view, decision)
        || has_scaled(view, decision);
}

/// Machines need infrastructure around them and an address for the API.
fn can_begin(view: &View<'_>, decision: &mut Decision) -> bool {
    has_place_for_machines(&view.observed.cluster)
        .inspect_err(|what| decision.wait_for(format!("waiting for {what}")))
        .is_ok()
}

/// Fewer machines than one are no control plane. Admission refuses that; nothing is deleted for it here either.
fn makes_no_sense(view: &View<'_>, decision: &mut Decision) -> bool {
    let replicas = view.observed.control_plane.spec.replicas.filter(|replicas| *replicas < 1);
    if let Some(replicas) = replicas {
        decision.wait_for(format!("spec.replicas is {replicas}, so nothing is changed; set it to 1 or more"));
    }
    replicas.is_some()
}

/// What is missing before there can be Machines.
fn has_place_for_machines(cluster: &Cluster) -> Result<(), &'static str> {
    let endpoint = &cluster.spec.control_plane_endpoint;
    if cluster.status.initialization.infrastructure_provisioned != Some(true) {
        Err("the infrastructure of the Cluster")
    } else if endpoint.host.is_none() || endpoint.port.is_none() {
        Err("the control plane endpoint of the Cluster")
    } else {
        Ok(())
    }
}

/// Whether a Machine is being updated in place. The Machine controller is at work, or has given up.
fn is_updating(view: &View<'_>, decision: &mut Decision) -> bool {
    // One that failed has had its turn, with or without its mark, until something else is wanted of it.
    let has_failed = |machine: &&ObservedMachine| machine.has_failed_update() && view.is_up_to_date(machine);
    let is_busy = |machine: &&ObservedMachine| machine.is_updating() || has_failed(machine);
    let (failed, updating): (Vec<_>, Vec<_>) =
        view.machines().filter(is_busy).partition(|machine| machine.has_failed_update());
    let names = |machines: &[&ObservedMachine]| machines.iter().map(|machine| machine.name().to_owned()).collect();
    if !failed.is_empty() {
        decision.wait(WaitingOn::FailedUpdates { machines: names(&failed) });
    }
    if !updating.is_empty() {
        decision.wait(WaitingOn::Updates { machines: names(&updating) });
    }
    !failed.is_empty() || !updating.is_empty()
}

/// Whether Machines or their objects are written already. The next step carries the versions that they had before.
fn has_written(decision: &mut Decision) -> bool {
    let has_written = !decision.steps.is_empty();
    if has_written {
        decision.requeue(SYNC_RETRY);
    }
    has_written
}

fn has_scaled(view: &View<'_>, decision: &mut Decision) -> bool {
    scale::decide(view, decision);
    !decision.is_settled
}
