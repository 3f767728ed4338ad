//! Reasons of conditions that refit adds.

// RolloutBlocked.

/// No extension covers every change, and replacing is not allowed.
pub const CHANGE_NOT_COVERED: &str = "ChangeNotCovered";
/// The machines whose update failed use up the budget.
pub const UPDATES_FAILED: &str = "UpdatesFailed";
/// What is asked for makes no sense, so nothing is changed.
pub const INVALID_SPEC: &str = "InvalidSpec";
/// Nothing is in the way.
pub const NOT_BLOCKED: &str = "NotBlocked";

// UpdateFailed.

/// The last of the tries failed.
pub const RETRIES_EXHAUSTED: &str = "RetriesExhausted";
/// The update took longer than it may.
pub const TIMED_OUT: &str = "TimedOut";
/// The update was stopped before its end.
pub const ABORTED: &str = "Aborted";
/// No update failed for good.
pub const NOT_FAILED: &str = "NotFailed";

// Held.

/// The MachineDeployment has asked for it.
pub const ON_HOLD: &str = "OnHold";
