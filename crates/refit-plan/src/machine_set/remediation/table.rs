//! What is remediated when: by the policy, by what happens to the machine, and by who asks.
//!
//! | the machine | `cluster.x-k8s.io/remediate-machine` | a check of `Updating` or `refit.dev/UpdateFailed` | any other check |
//! |---|---|---|---|
//! | is not being updated | replaced | replaced; `Require`: stays | replaced |
//! | the same, and the rollout is about to replace it | replaced | left to the rollout | left to the rollout |
//! | is being updated, `Require` | replaced | stays | stays |
//! | is being updated, `Prefer` or `Never` | replaced | replaced | stays until its update is over |
//! | its update failed for good, `Require` | replaced | stays | stays |
//! | its update failed for good, `Prefer` or `Never` | replaced | replaced | replaced |
//!
//! A machine whose update takes longer than `refit.dev/update-timeout` counts as one whose update failed.

use refit_api::cluster::Machine;
use refit_api::conditions::machine::health;
use refit_api::conditions::{self, NewCondition};
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::REMEDIATE_MACHINE;
use refit_api::vocabulary::condition_types as types;

use crate::fleet;

/// Who wants a machine to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The user, by an annotation on the Machine itself.
    User,
    /// A health check of what is said of the update: the user says by it for how long an update may take, or fail.
    CheckOfUpdate,
    /// Any other health check.
    Check,
}

/// What happens to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Idle,
    /// An update in place is going on and has time left.
    Updating,
    /// Its update failed for good, or takes too long.
    UpdateFailed,
}

/// Whether the rollout is about to replace the machines of the MachineSet, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    Yes,
    No,
}

/// What becomes of a machine that somebody wants to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Replace,
    /// The rollout removes it anyway.
    LeftToTheRollout,
    /// Not before its update is over.
    WaitForUpdate,
    /// Its update is over, and the health check has not looked since.
    WaitForCheck,
    /// Not at all, unless the user asks for it by name.
    Keep,
}

impl Decision {
    pub fn of(policy: InPlacePolicy, state: State, leaving: Leaving, asker: Asker) -> Self {
        let must_stay = policy == InPlacePolicy::Require;
        match (state, asker) {
            (_, Asker::User) => Self::Replace,
            (State::Updating, Asker::CheckOfUpdate | Asker::Check) if must_stay => Self::WaitForUpdate,
            (State::Updating, Asker::Check) => Self::WaitForUpdate,
            // What was said of an update ends with it.
            (State::Idle, Asker::CheckOfUpdate) if must_stay => Self::WaitForCheck,
            (State::UpdateFailed, Asker::CheckOfUpdate | Asker::Check) if must_stay => Self::Keep,
            (State::Idle | State::Updating | State::UpdateFailed, Asker::CheckOfUpdate | Asker::Check) => match leaving
            {
                Leaving::Yes => Self::LeftToTheRollout,
                Leaving::No => Self::Replace,
            },
        }
    }

    /// What is said of a machine that is not replaced.
    pub fn words(self) -> Option<NewCondition> {
        match self {
            Self::Replace => None,
            Self::LeftToTheRollout => Some(health::pending_removal()),
            Self::WaitForUpdate => Some(health::waiting_for_the_update()),
            Self::WaitForCheck => Some(health::waiting_for_the_check()),
            Self::Keep => Some(health::kept_after_a_failed_update()),
        }
    }
}

impl Asker {
    /// Who wants this machine to be replaced, if anybody does.
    pub fn of(machine: &Machine) -> Self {
        let check = conditions::get(&machine.status.conditions, types::HEALTH_CHECK_SUCCEEDED);
        if fleet::has_annotation(machine, REMEDIATE_MACHINE) {
            Self::User
        } else if check.is_some_and(|check| health::is_about_the_update(&check.message)) {
            Self::CheckOfUpdate
        } else {
            Self::Check
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cell of the table, as `user, check of the update, other check`.
    #[test]
    fn what_is_remediated_when() {
        use Decision::{Keep, LeftToTheRollout, Replace, WaitForCheck, WaitForUpdate};
        use InPlacePolicy::{Never, Prefer, Require};
        let check = |policies: &[InPlacePolicy], state: State, leaving: Leaving, expected: [Decision; 3]| {
            for policy in policies {
                let decided = [Asker::User, Asker::CheckOfUpdate, Asker::Check]
                    .map(|asker| Decision::of(*policy, state, leaving, asker));
                assert_eq!(decided, expected, "{policy} {state:?} {leaving:?}");
            }
        };
        let others = [Prefer, Never];
        let left = [Replace, LeftToTheRollout, LeftToTheRollout];
        check(&others, State::Idle, Leaving::No, [Replace, Replace, Replace]);
        check(&others, State::Idle, Leaving::Yes, left);
        check(&[Require], State::Idle, Leaving::No, [Replace, WaitForCheck, Replace]);
        for leaving in [Leaving::Yes, Leaving::No] {
            check(&[Require], State::Updating, leaving, [Replace, WaitForUpdate, WaitForUpdate]);
            check(&[Require], State::UpdateFailed, leaving, [Replace, Keep, Keep]);
        }
        check(&others, State::Updating, Leaving::No, [Replace, Replace, WaitForUpdate]);
        check(&others, State::Updating, Leaving::Yes, [Replace, LeftToTheRollout, WaitForUpdate]);
        check(&others, State::UpdateFailed, Leaving::No, [Replace, Replace, Replace]);
        check(&others, State::UpdateFailed, Leaving::Yes, left);
    }

    #[test]
    fn a_check_is_known_by_what_it_says() {
        let asker = |messages: &[&str], annotated: bool| {
            let mut machine = crate::testing::machine("m");
            let problems: Vec<String> =
                messages.iter().map(|type_| format!("Condition {type_} on Machine is reporting status True")).collect();
            let condition = health::unhealthy_machine(&problems);
            conditions::set(&mut machine.status.conditions, condition, None, crate::testing::at(0));
            if annotated {
                machine
                    .metadata
                    .annotations
                    .get_or_insert_default()
                    .insert(REMEDIATE_MACHINE.to_owned(), String::new());
            }
            Asker::of(&machine)
        };
        assert_eq!(asker(&["Bad"], false), Asker::Check);
        assert_eq!(asker(&["Bad", "Updating"], false), Asker::CheckOfUpdate);
        assert_eq!(asker(&["refit.dev/UpdateFailed"], false), Asker::CheckOfUpdate);
        assert_eq!(asker(&["Updating"], true), Asker::User);
    }
}
