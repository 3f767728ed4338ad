//! Decides the next step of a MachineSet: which updates begin, and which machines come, move and go.
//!
//! [`reconcile::decide`] is the decision of a controller: from whole objects to writes, and what is told. What it does
//! about numbers is decided by [`decide`], which counts, over light views; the simulator uses it, too. The other public
//! modules are the parts of the whole: the Machines and what belongs to them, and the status.

mod acknowledge;
pub mod clone;
pub mod complete_move;
pub mod create;
pub mod delete;
pub mod objects;
pub mod orphans;
pub mod ownership;
pub mod preflight;
mod priority;
pub mod reconcile;
pub mod refusal;
pub mod remediation;
mod replicas;
pub mod start_move;
pub mod status;
pub mod sync;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use refit_api::cluster::MachineSetDeletionOrder;
use refit_api::name_set::NameSet;

use crate::handover::Handover;

pub use priority::priority;

/// Everything that a pass of a MachineSet may look at.
#[derive(Debug, Clone)]
pub struct Observed {
    pub name: String,
    pub now: Timestamp,
    pub spec_replicas: i32,
    pub handover: Handover,
    /// Machines are not created, however few there are.
    pub disable_machine_create: bool,
    pub order: MachineSetDeletionOrder,
    /// Machines that were there first stay: none in the middle of an update goes as surplus, and of the others only
    /// those that the order of the MachineDeployment lets go.
    pub keeps_originals: bool,
    /// No machine is replaced for a rollout.
    pub is_required: bool,
    /// The MachineSet that machines are to move to, if there is one and it exists.
    pub target: Option<MoveTarget>,
    /// All of its machines, in the order of their names. A list that failed is no list: there is no pass then.
    pub machines: Vec<MachineView>,
}

/// The MachineSet that machines are to move to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveTarget {
    pub name: String,
    /// The MachineSets that it takes machines from.
    pub receive_from: NameSet,
}

/// A machine of the MachineSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineView {
    pub name: String,
    /// When it was created; nothing if that is not known.
    pub created: Option<Timestamp>,
    /// It was moved here and carries the mark of that.
    pub pending_acknowledge: bool,
    /// The MachineDeployment has counted it, after it was moved here.
    pub acknowledged: bool,
    /// It carries the mark of a machine that a rollout has made beyond those wanted.
    pub scaffolding: bool,
    /// An update in place is going on, from the move to its end.
    pub updating: bool,
    /// The update has failed for good.
    pub update_failed: bool,
    /// No extension is at work on it although its update is not done: it may become something else.
    pub update_over: bool,
    /// A try of its update has failed, and the next one is under way.
    pub update_retried: bool,
    pub deleting: bool,
    /// The user wants it to go first.
    pub delete_requested: bool,
    /// It has a Node.
    pub has_node: bool,
    /// Its Node or a health check says that something is wrong. Not knowing is not wrong.
    pub unhealthy: bool,
    /// A health check wants its owner to replace it.
    pub to_be_remediated: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an unread decision is not acted on"]
pub struct Decision {
    /// Machines that lose the mark of their move and whose update begins.
    pub start_updates: Vec<String>,
    pub replicas: Replicas,
}

/// How the number of machines changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replicas {
    /// There are as many as there should be, or those that are too many are on their way already.
    Settled,
    /// So many are missing. Some of them, the last, get the mark of scaffolding.
    Create { missing: usize, scaffolding: usize },
    /// So many are missing, and creating is off.
    CreateDisabled(usize),
    /// These go. Those that are being deleted already are not named again.
    Delete(Vec<String>),
    /// So many are too many, and nothing says that one of them may go.
    Keep(usize),
    /// These change their owner. The unhealthy among the surplus go instead. `next` can move, too, where one of them cannot.
    Move { to: String, machines: Vec<String>, delete: Vec<String>, next: Vec<String> },
    /// Machines are to move, but the target is not there or does not take them from here.
    Refused { target: String, accepts: NameSet },
}

/// Decides one pass.
///
/// # Guarantees
/// - A machine that was moved here and that nobody has counted yet is not deleted.
/// - A machine that is being updated is not moved, unless its update has failed and no extension is at work on it.
/// - On hold, no machine comes, moves or goes.
/// - Where machines that were there first are to stay, none in the middle of an update is deleted as surplus, and none that
///   does not carry the mark of scaffolding, save as many as the order says.
pub fn decide(observed: &Observed) -> Decision {
    let start_updates = acknowledge::released(observed);
    let replicas = replicas::decide(observed, &start_updates);
    Decision { start_updates, replicas }
}
