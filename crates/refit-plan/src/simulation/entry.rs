//! What can happen in a simulation.

use std::fmt;
use std::str::FromStr;

use refit_api::policy::InPlacePolicy;
use serde::{Deserialize, Deserializer, de};

use super::number::{MachineNumber, SetNumber};
use super::scenario::{MAX_REPLICAS, Strategy};

const STRATEGIES: [Strategy; 2] = [Strategy::RollingUpdate, Strategy::OnDelete];
const POLICIES: [InPlacePolicy; 3] = [InPlacePolicy::Prefer, InPlacePolicy::Require, InPlacePolicy::Never];
const ANSWERS: [Answer; 3] = [Answer::Covered, Answer::Uncovered, Answer::Undecided];

/// One thing that happens: a reconcile, or something that the user or the world does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The MachineDeployment is reconciled.
    Deployment,
    MachineSet(SetNumber),
    /// The machine is reconciled: it goes, if it is being deleted.
    Machine(MachineNumber),
    /// The user deletes a machine. It is there until its own reconcile.
    Delete(MachineNumber),
    /// The user wants another number of machines.
    Replicas(i32),
    /// The user wants another template.
    Template(String),
    /// The user pauses the rollout, or lets it go on.
    Paused(bool),
    /// The user wants changes to reach machines in another way.
    Strategy(Strategy),
    /// The user wants another policy.
    Policy(InPlacePolicy),
    /// The user wants machines that were there first to stay, or not to.
    KeepOriginals(bool),
    /// Extensions cover every change from now on, or not, or nobody knows.
    Extensions(Answer),
    /// The machine stops being available.
    Unavailable(MachineNumber),
    /// The machine is available again.
    Available(MachineNumber),
    /// Updates of the machine fail for good from now on.
    Fail(MachineNumber),
    /// Every try to update the machine fails from now on, and there will be another one.
    Trouble(MachineNumber),
    /// The next try to update the machine begins.
    Try(MachineNumber),
    /// The user has mended what made updates of the machine fail, and has it updated anew.
    Retry(MachineNumber),
    /// The provider refuses to change the machine from now on: for the moment, or for good.
    Refuse {
        machine: MachineNumber,
        for_good: bool,
    },
    /// The provider takes changes of the machine again.
    Accept(MachineNumber),
}

/// What extensions say to a change of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// They cover it.
    Covered,
    /// All have answered, and they do not.
    Uncovered,
    /// Nobody knows: one of them is away, or a template is gone.
    Undecided,
}

/// A text that is no [`Entry`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error(
        "{0:?} is none of: md, ms1, m1, \"delete m1\", \"replicas 3\", \"template v2\", pause, resume, \"strategy OnDelete\", \"policy Require\", \"keepOriginals false\", \"extensions undecided\", \"unavailable m1\", \"available m1\", \"fail m1\", \"trouble m1\", \"try m1\", \"retry m1\", \"refuse m1\", \"refuse m1 for good\", \"accept m1\""
    )]
    Unknown(String),
    #[error("{0:?} must be a number from 0 to {MAX_REPLICAS}")]
    Replicas(String),
}

impl Entry {
    /// Whether a controller does it, and not the user or the world.
    pub fn is_reconcile(&self) -> bool {
        match self {
            Self::Deployment | Self::MachineSet(_) | Self::Machine(_) => true,
            Self::Delete(_)
            | Self::Replicas(_)
            | Self::Template(_)
            | Self::Paused(_)
            | Self::Strategy(_)
            | Self::Policy(_)
            | Self::KeepOriginals(_)
            | Self::Extensions(_)
            | Self::Unavailable(_)
            | Self::Available(_)
            | Self::Fail(_)
            | Self::Trouble(_)
            | Self::Try(_)
            | Self::Retry(_)
            | Self::Refuse { .. }
            | Self::Accept(_) => false,
        }
    }
}

impl Entry {
    fn refuse(name: &str, for_good: bool) -> Option<Self> {
        MachineNumber::parse(name).map(|machine| Self::Refuse { machine, for_good })
    }
}

impl Answer {
    fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Uncovered => "uncovered",
            Self::Undecided => "undecided",
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployment => f.write_str("md"),
            Self::MachineSet(set) => set.fmt(f),
            Self::Machine(machine) => machine.fmt(f),
            Self::Delete(machine) => write!(f, "delete {machine}"),
            Self::Replicas(replicas) => write!(f, "replicas {replicas}"),
            Self::Template(template) => write!(f, "template {template}"),
            Self::Paused(true) => f.write_str("pause"),
            Self::Paused(false) => f.write_str("resume"),
            Self::Strategy(strategy) => write!(f, "strategy {strategy:?}"),
            Self::Policy(policy) => write!(f, "policy {policy:?}"),
            Self::KeepOriginals(keep) => write!(f, "keepOriginals {keep}"),
            Self::Extensions(answer) => write!(f, "extensions {}", answer.word()),
            Self::Unavailable(machine) => write!(f, "unavailable {machine}"),
            Self::Available(machine) => write!(f, "available {machine}"),
            Self::Fail(machine) => write!(f, "fail {machine}"),
            Self::Trouble(machine) => write!(f, "trouble {machine}"),
            Self::Try(machine) => write!(f, "try {machine}"),
            Self::Retry(machine) => write!(f, "retry {machine}"),
            Self::Refuse { machine, for_good: false } => write!(f, "refuse {machine}"),
            Self::Refuse { machine, for_good: true } => write!(f, "refuse {machine} for good"),
            Self::Accept(machine) => write!(f, "accept {machine}"),
        }
    }
}

impl FromStr for Entry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let entry = match words.as_slice() {
            ["md"] => Some(Self::Deployment),
            ["delete", name] => MachineNumber::parse(name).map(Self::Delete),
            ["unavailable", name] => MachineNumber::parse(name).map(Self::Unavailable),
            ["available", name] => MachineNumber::parse(name).map(Self::Available),
            ["fail", name] => MachineNumber::parse(name).map(Self::Fail),
            ["trouble", name] => MachineNumber::parse(name).map(Self::Trouble),
            ["try", name] => MachineNumber::parse(name).map(Self::Try),
            ["retry", name] => MachineNumber::parse(name).map(Self::Retry),
            ["accept", name] => MachineNumber::parse(name).map(Self::Accept),
            ["refuse", name] => Self::refuse(name, false),
            ["refuse", name, "for", "good"] => Self::refuse(name, true),
            ["template", name] => Some(Self::Template((*name).to_owned())),
            ["pause"] => Some(Self::Paused(true)),
            ["resume"] => Some(Self::Paused(false)),
            ["strategy", name] => STRATEGIES.into_iter().find(|it| format!("{it:?}") == *name).map(Self::Strategy),
            ["policy", name] => POLICIES.into_iter().find(|it| format!("{it:?}") == *name).map(Self::Policy),
            ["keepOriginals", keep] => keep.parse().ok().map(Self::KeepOriginals),
            ["extensions", word] => ANSWERS.into_iter().find(|it| it.word() == *word).map(Self::Extensions),
            ["replicas", number] => {
                let replicas = number.parse().ok().filter(|replicas| (0..=MAX_REPLICAS).contains(replicas));
                Some(Self::Replicas(replicas.ok_or_else(|| EntryError::Replicas((*number).to_owned()))?))
            }
            [name] => {
                SetNumber::parse(name).map(Self::MachineSet).or_else(|| MachineNumber::parse(name).map(Self::Machine))
            }
            _ => None,
        };
        entry.ok_or_else(|| EntryError::Unknown(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_printed_alike() {
        let of_machines = ["m5", "delete m5", "unavailable m5", "available m5", "fail m5", "retry m5"];
        let of_users = ["pause", "resume", "strategy OnDelete", "policy Never", "keepOriginals false", "template v3"];
        let others = ["md", "ms12", "replicas 0", "extensions undecided", "extensions covered"];
        let of_providers = ["trouble m5", "try m5", "refuse m5", "refuse m5 for good", "accept m5"];
        for text in others.into_iter().chain(of_users).chain(of_machines).chain(of_providers) {
            assert_eq!(text.parse::<Entry>().expect("must be an entry").to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "foo",
            "delete",
            "delete ms1",
            "md md",
            "template",
            "template a b",
            "replicas",
            "m01",
            "policy require",
            "refuse m1 for ever",
        ] {
            assert_eq!(text.parse::<Entry>(), Err(EntryError::Unknown(text.to_owned())), "{text:?}");
        }
        for number in ["-1", "x", "1.5", "99999999999", "10001"] {
            let error = EntryError::Replicas(number.to_owned());
            assert_eq!(format!("replicas {number}").parse::<Entry>(), Err(error));
        }
    }
}
