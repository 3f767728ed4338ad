//! Why nothing more is done at the moment, as a value. Its words are the same in conditions, events and on the command
//! line, because they are made here.

use std::fmt;

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
            Self::Uncovered { .. } | Self::FailedUpdates { .. } => true,
            Self::Paused
            | Self::Undecided { .. }
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
            Self::Other { what } => f.write_str(what),
        }
    }
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
