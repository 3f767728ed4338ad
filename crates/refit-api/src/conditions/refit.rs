//! The conditions that refit adds to upstream's.

use std::borrow::Cow;

use super::{NewCondition, Status};
use crate::vocabulary::refit::{condition_types as types, reasons};

/// On a MachineDeployment, KubeadmControlPlane or MachineRollout: nothing is in the way of its rollout.
pub fn rollout_not_blocked() -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::False, reasons::NOT_BLOCKED)
}

/// On the same: nobody has to act, and this is what it waits for.
pub fn rollout_waiting(message: impl Into<Cow<'static, str>>) -> NewCondition {
    rollout_not_blocked().with_message(message)
}

/// On the same: the API server refuses what has to be written. The message has its words.
pub fn write_refused(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::WRITE_REFUSED).with_message(message)
}

/// On the same: no extension covers every change, and replacing is not allowed. The message says which changes.
pub fn change_not_covered(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::CHANGE_NOT_COVERED).with_message(message)
}

/// On the same: the API server refuses what machines would become. The message names them, with its words.
pub fn change_refused(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::CHANGE_REFUSED).with_message(message)
}

/// On the same: the machines whose update failed use up the budget. The message names them.
pub fn updates_failed(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::UPDATES_FAILED).with_message(message)
}

/// On the same: what is asked for makes no sense, so nothing is changed. The message says what to change.
pub fn invalid_spec(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::INVALID_SPEC).with_message(message)
}

/// On the same: updates wait for an extension that is not registered any more. The message says which, and what to do.
pub fn extension_gone(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::EXTENSION_GONE).with_message(message)
}

/// On the same: a template that machines are to be made from does not exist. The message says which, and what to do.
pub fn template_missing(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::TEMPLATE_MISSING).with_message(message)
}

/// On the same: an extension has not answered for a while. The message says which and why, and what to do.
pub fn extension_not_answering(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::EXTENSION_NOT_ANSWERING).with_message(message)
}

/// On the same: there are more machines than wanted, and nothing says which of them may go. The message says what to do.
pub fn too_many_machines(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::ROLLOUT_BLOCKED, Status::True, reasons::TOO_MANY_MACHINES).with_message(message)
}

/// On a MachineSet: nothing is done to the number of its Machines, as was asked for. The message is the value of the annotation
/// that asked for it.
pub fn held(hold: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::HELD, Status::True, reasons::ON_HOLD).with_message(hold)
}

/// On a Machine: no update of it failed for good.
pub fn update_not_failed() -> NewCondition {
    NewCondition::new(types::UPDATE_FAILED, Status::False, reasons::NOT_FAILED)
}

/// On a Machine: the last of the tries failed. The message has the extension's own words.
pub fn update_retries_exhausted(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::UPDATE_FAILED, Status::True, reasons::RETRIES_EXHAUSTED).with_message(message)
}

/// On a Machine: its update took longer than it may. The message says how long, and what it was at.
pub fn update_timed_out(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::UPDATE_FAILED, Status::True, reasons::TIMED_OUT).with_message(message)
}

/// On a Machine: its update was stopped before its end. The message says by whom or what.
pub fn update_aborted(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::UPDATE_FAILED, Status::True, reasons::ABORTED).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_that_refit_adds_are_marked_as_its_own() {
        check(&[
            (rollout_not_blocked(), "refit.dev/RolloutBlocked=False NotBlocked"),
            (change_not_covered("spec.memory"), "refit.dev/RolloutBlocked=True ChangeNotCovered: spec.memory"),
            (change_refused("no such hosts"), "refit.dev/RolloutBlocked=True ChangeRefused: no such hosts"),
            (updates_failed("Machine a"), "refit.dev/RolloutBlocked=True UpdatesFailed: Machine a"),
            (invalid_spec("-1"), "refit.dev/RolloutBlocked=True InvalidSpec: -1"),
            (rollout_waiting("an update"), "refit.dev/RolloutBlocked=False NotBlocked: an update"),
            (write_refused("forbidden"), "refit.dev/RolloutBlocked=True WriteRefused: forbidden"),
            (extension_gone("memory"), "refit.dev/RolloutBlocked=True ExtensionGone: memory"),
            (template_missing("Host a"), "refit.dev/RolloutBlocked=True TemplateMissing: Host a"),
            (extension_not_answering("a"), "refit.dev/RolloutBlocked=True ExtensionNotAnswering: a"),
            (too_many_machines("4"), "refit.dev/RolloutBlocked=True TooManyMachines: 4"),
            (held("17"), "refit.dev/Held=True OnHold: 17"),
            (update_not_failed(), "refit.dev/UpdateFailed=False NotFailed"),
            (update_retries_exhausted("no disk"), "refit.dev/UpdateFailed=True RetriesExhausted: no disk"),
            (update_timed_out("after 10m"), "refit.dev/UpdateFailed=True TimedOut: after 10m"),
            (update_aborted("by a user"), "refit.dev/UpdateFailed=True Aborted: by a user"),
        ]);
    }
}
