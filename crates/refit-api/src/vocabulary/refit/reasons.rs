//! Reasons of conditions that refit adds.

// RolloutBlocked.

/// No extension covers every change, and replacing is not allowed.
pub const CHANGE_NOT_COVERED: &str = "ChangeNotCovered";
/// The machines whose update failed use up the budget.
pub const UPDATES_FAILED: &str = "UpdatesFailed";
/// The API server refuses what machines would become.
pub const CHANGE_REFUSED: &str = "ChangeRefused";
/// What is asked for makes no sense, so nothing is changed.
pub const INVALID_SPEC: &str = "InvalidSpec";
/// The API server refuses what has to be written, and will until somebody changes something.
pub const WRITE_REFUSED: &str = "WriteRefused";
/// Updates wait for an extension that is not registered any more.
pub const EXTENSION_GONE: &str = "ExtensionGone";
/// A template that machines are to be made from does not exist.
pub const TEMPLATE_MISSING: &str = "TemplateMissing";
/// It cannot be decided how machines change, as an extension has not answered for a while.
pub const EXTENSION_NOT_ANSWERING: &str = "ExtensionNotAnswering";
/// There are more machines than wanted, and nothing says which of them may go.
pub const TOO_MANY_MACHINES: &str = "TooManyMachines";
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
