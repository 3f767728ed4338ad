//! What a pass of a MachineDeployment has decided.

use crate::handover::Handover;
use crate::waiting::WaitingOn;

/// What every MachineSet is to be, and what is being waited for.
///
/// The new MachineSet comes first: it must agree to take machines before an old one gives them away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "an unread plan is not acted on"]
pub struct Plan {
    pub machine_sets: Vec<MachineSetPlan>,
    /// Machines that a rollout has made beyond those wanted, and that are among those wanted by now: they lose the mark.
    pub wanted: Vec<String>,
    /// Why the rollout does not go on by itself in this pass. Empty when something moves or nothing is to move.
    pub waiting_on: Vec<WaitingOn>,
}

/// What one MachineSet is to be. All of it is written in one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetPlan {
    pub name: String,
    pub replicas: i32,
    pub handover: Handover,
    /// Whether it must not create machines, however few it has.
    pub disable_machine_create: bool,
    /// Why, in words.
    pub notes: Vec<String>,
}
