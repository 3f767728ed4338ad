//! Why nothing more is done at the moment, as a value. Its words are the same in conditions, events and on the command
//! line, because they are made here.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::conditions::{NewCondition, get, refit};
use refit_api::vocabulary::refit::events::ROLLOUT_BLOCKED;

use crate::coverage::{MAX_WORDS, shortened};
use crate::effect::{Event, Target};

/// How many names a message lists before it counts the rest.
const NAMES_SHOWN: usize = 3;

/// Why a decision stops where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingOn {
    /// The object, or its Cluster, is paused.
    Paused,
    /// A change that no extension covers, under a policy that forbids replacing. Somebody must do something.
    Uncovered { paths: Vec<String>, answers: Vec<Answer> },
    /// An extension has not given an answer yet. Nothing is replaced meanwhile.
    Undecided { answers: Vec<Answer> },
    /// The machines of this MachineSet must not be replaced, and they cannot be updated in place. Somebody must do
    /// something.
    MustStay { machine_set: String, why: String },
    /// Nobody knows yet whether the machines of this MachineSet can be updated in place. They are left alone.
    CoverageUnknown { machine_set: String, why: String },
    /// No more machines may become unavailable.
    Availability { available: i64, minimum: i64 },
    /// What is asked for makes no sense, so nothing is changed. Somebody must do something.
    InvalidSpec { what: String },
    /// These MachineSets may still carry out orders that are to be taken back.
    Standstill { machine_sets: Vec<String> },
    /// The user deletes machines of these MachineSets.
    OnDelete { machine_sets: Vec<String> },
    /// As many machines as may be are unavailable.
    Budget { unavailable: Vec<String>, limit: i32 },
    /// Machines must be healthy before others are touched.
    Unhealthy { machines: Vec<String> },
    /// Machines whose update failed for good use up the budget. Somebody must do something.
    FailedUpdates { machines: Vec<String> },
    /// Machines that changed their owner and are not yet counted there.
    Acknowledgement { machines: Vec<String> },
    /// Machines that are being updated in place.
    Updates { machines: Vec<String> },
    /// Machines that are being deleted.
    Deletions { machines: Vec<String> },
    /// Machines that are being created, or have no Node yet.
    Provisioning { machines: Vec<String> },
    /// Something must be so before machines are made or taken away.
    Preflight { problems: Vec<String> },
    /// Somebody else's turn: a controller or a user has to do what the words say.
    Other { what: String },
}

/// What an extension said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The handler, as `handler.extensionconfig`.
    pub extension: String,
    /// Its own words, or why there are none.
    pub words: String,
}

impl WaitingOn {
    /// Whether nothing moves until a person does something.
    pub fn is_blocked(&self) -> bool {
        match self {
            Self::Uncovered { .. } | Self::MustStay { .. } | Self::InvalidSpec { .. } | Self::FailedUpdates { .. } => {
                true
            }
            Self::Paused
            | Self::Undecided { .. }
            | Self::CoverageUnknown { .. }
            | Self::Availability { .. }
            | Self::Standstill { .. }
            | Self::OnDelete { .. }
            | Self::Budget { .. }
            | Self::Unhealthy { .. }
            | Self::Acknowledgement { .. }
            | Self::Updates { .. }
            | Self::Deletions { .. }
            | Self::Provisioning { .. }
            | Self::Preflight { .. }
            | Self::Other { .. } => false,
        }
    }
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused => f.write_str("paused"),
            Self::Uncovered { paths, answers } => {
                write!(f, "no extension covers {}{}", listed(paths), said(answers))
            }
            Self::Undecided { answers } => write!(f, "waiting for an answer{}", said(answers)),
            Self::MustStay { machine_set, why } => {
                write!(f, "{machine_set} cannot be updated in place and must not be replaced: {why}")
            }
            Self::CoverageUnknown { machine_set, why } => {
                write!(f, "it is not known yet whether {machine_set} can be updated in place: {why}")
            }
            Self::Availability { available, minimum } => {
                write!(f, "no more machines may be unavailable: {available} available, {minimum} required")
            }
            Self::Standstill { machine_sets } => {
                write!(f, "waiting for {} to stand still, as what is wanted has changed", listed(machine_sets))
            }
            Self::OnDelete { machine_sets } => {
                write!(f, "machines of {} change when they are deleted", listed(machine_sets))
            }
            Self::Budget { unavailable, limit } => {
                let machines = machines(unavailable);
                write!(f, "waiting for {machines} to become available: at most {limit} may be unavailable")
            }
            Self::Unhealthy { machines: names } => write!(f, "waiting for {} to become healthy", machines(names)),
            Self::FailedUpdates { machines: names } => {
                write!(f, "the update of {} failed for good and uses up the budget", machines(names))
            }
            Self::Acknowledgement { machines: names } => {
                write!(f, "waiting for {} to be counted by the new owner", machines(names))
            }
            Self::Updates { machines: names } => write!(f, "waiting for the update of {}", machines(names)),
            Self::Deletions { machines: names } => write!(f, "waiting for the deletion of {}", machines(names)),
            Self::Provisioning { machines: names } => write!(f, "waiting for {} to get a node", machines(names)),
            Self::Preflight { problems } => f.write_str(&problems.join("; ")),
            Self::InvalidSpec { what } | Self::Other { what } => f.write_str(what),
        }
    }
}

/// The condition that says whether somebody must do something before a rollout goes on, from all that it waits for.
pub fn blocked(waiting_on: &[WaitingOn]) -> NewCondition {
    let blocking: Vec<&WaitingOn> = waiting_on.iter().filter(|reason| reason.is_blocked()).collect();
    let words: Vec<String> = blocking.iter().map(ToString::to_string).collect();
    let message = shortened(words.join("; "), MAX_WORDS);
    match blocking.first() {
        None => refit::rollout_not_blocked(),
        Some(WaitingOn::FailedUpdates { .. }) => refit::updates_failed(message),
        Some(WaitingOn::InvalidSpec { .. }) => refit::invalid_spec(message),
        Some(_) => refit::change_not_covered(message),
    }
}

/// Tells people that a rollout is blocked, when it becomes so or for another reason than before.
pub fn blocked_event(about: Target, condition: &NewCondition, before: &[Condition]) -> Option<Event> {
    let is_said = get(before, &condition.type_)
        .is_some_and(|said| said.reason == condition.reason && said.message == condition.message);
    let is_blocked = condition.status == refit_api::conditions::Status::True;
    (is_blocked && !is_said).then(|| Event::warning(about, ROLLOUT_BLOCKED, condition.message.clone()))
}

/// `machine a`, `machines a, b and c`, `machines a, b, c and 4 more`.
fn machines(names: &[String]) -> String {
    match names {
        [only] => format!("machine {only}"),
        several => format!("machines {}", listed(several)),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "(none)".to_owned(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= NAMES_SHOWN => format!("{} and {last}", first.join(", ")),
        several => format!("{} and {} more", several[..NAMES_SHOWN].join(", "), several.len() - NAMES_SHOWN),
    }
}

/// The extensions' own words, in brackets.
fn said(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let each: Vec<String> = answers.iter().map(|answer| format!("{}: {}", answer.extension, answer.words)).collect();
    format!(" ({})", each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn check(waiting: &WaitingOn, expected: &str) {
        assert_eq!(waiting.to_string(), expected);
    }

    #[test]
    fn an_uncovered_change_is_told_with_the_extensions_own_words() {
        let answers = vec![Answer { extension: "can.memory".to_owned(), words: "disks are not mine".to_owned() }];
        let waiting = WaitingOn::Uncovered { paths: names(&["spec.disk"]), answers };
        check(&waiting, "no extension covers spec.disk (can.memory: disks are not mine)");
        assert!(waiting.is_blocked());
    }

    /// One value, three places: the words are the same in all of them.
    #[test]
    fn condition_event_and_text_have_the_same_words() {
        let reasons = [
            WaitingOn::MustStay { machine_set: "ms1".to_owned(), why: "a file changes".to_owned() },
            WaitingOn::Updates { machines: names(&["a"]) },
            WaitingOn::FailedUpdates { machines: names(&["b"]) },
        ];
        let condition = blocked(&reasons);
        assert_eq!(condition.message, format!("{}; {}", reasons[0], reasons[2]));
        let about = || Target::of_value(&serde_json::Value::Null);
        let event = blocked_event(about(), &condition, &[]).expect("it must be told");
        assert_eq!((event.reason, event.message.as_str()), ("RolloutBlocked", &*condition.message));
        let mut told = Vec::new();
        refit_api::conditions::set(&mut told, condition.clone(), None, crate::testing::at(0));
        assert_eq!(blocked_event(about(), &condition, &told), None, "once is enough");
        let free = blocked(&reasons[1..2]);
        assert_eq!((&*free.reason, blocked_event(about(), &free, &[])), ("NotBlocked", None));
        assert_eq!(blocked(&[WaitingOn::InvalidSpec { what: "-1".to_owned() }]).reason, "InvalidSpec");
    }

    #[test]
    fn long_lists_are_counted() {
        check(&WaitingOn::Updates { machines: names(&["a"]) }, "waiting for the update of machine a");
        check(
            &WaitingOn::Updates { machines: names(&["a", "b", "c"]) },
            "waiting for the update of machines a, b and c",
        );
        let many = WaitingOn::Updates { machines: names(&["a", "b", "c", "d", "e"]) };
        check(&many, "waiting for the update of machines a, b, c and 2 more");
    }
}
