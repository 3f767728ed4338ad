//! Reasons of events that refit adds. The start of an update has one of upstream's already:
//! [`SUCCESSFUL_START_IN_PLACE_UPDATE`](crate::vocabulary::events::SUCCESSFUL_START_IN_PLACE_UPDATE).

// On Machines.

/// One extension of the plan is done, and the next one's turn comes.
pub const SUCCESSFUL_IN_PLACE_UPDATE_STEP: &str = "SuccessfulInPlaceUpdateStep";
/// The update is done.
pub const SUCCESSFUL_IN_PLACE_UPDATE: &str = "SuccessfulInPlaceUpdate";
/// Warning: one try of the update failed, and there will be another.
pub const FAILED_IN_PLACE_UPDATE_ATTEMPT: &str = "FailedInPlaceUpdateAttempt";
/// Warning: the update failed for good.
pub const FAILED_IN_PLACE_UPDATE: &str = "FailedInPlaceUpdate";
/// Warning: the update was stopped before its end.
pub const ABORTED_IN_PLACE_UPDATE: &str = "AbortedInPlaceUpdate";

// On MachineDeployments and KubeadmControlPlanes.

/// Machines are to change.
pub const ROLLOUT_STARTED: &str = "RolloutStarted";
/// It is decided how they change: in place, or by others that take their place.
pub const ROLLOUT_DECIDED: &str = "RolloutDecided";
/// Somebody has paused it.
pub const ROLLOUT_PAUSED: &str = "RolloutPaused";
/// What was paused or blocked goes on.
pub const ROLLOUT_RESUMED: &str = "RolloutResumed";
/// All machines are as they should be.
pub const ROLLOUT_COMPLETED: &str = "RolloutCompleted";
/// Warning: machines are to change, and none will until somebody does something.
pub const ROLLOUT_BLOCKED: &str = "RolloutBlocked";
