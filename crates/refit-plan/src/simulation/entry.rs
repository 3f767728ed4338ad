//! What can happen in a simulation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use super::number::{MachineNumber, SetNumber};
use super::scenario::MAX_REPLICAS;

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
    /// The machine stops being available.
    Unavailable(MachineNumber),
    /// The machine is available again.
    Available(MachineNumber),
    /// Updates of the machine fail for good from now on.
    Fail(MachineNumber),
    /// The user has mended what made updates of the machine fail, and has it updated anew.
    Retry(MachineNumber),
}

/// A text that is no [`Entry`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error(
        "{0:?} is none of: md, ms1, m1, \"delete m1\", \"replicas 3\", \"template v2\", \"unavailable m1\", \"available m1\", \"fail m1\", \"retry m1\""
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
            | Self::Unavailable(_)
            | Self::Available(_)
            | Self::Fail(_)
            | Self::Retry(_) => false,
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
            Self::Unavailable(machine) => write!(f, "unavailable {machine}"),
            Self::Available(machine) => write!(f, "available {machine}"),
            Self::Fail(machine) => write!(f, "fail {machine}"),
            Self::Retry(machine) => write!(f, "retry {machine}"),
        }
    }
}

impl FromStr for Entry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let entry = match words.as_slice() {
            ["md"] => Some(Self::Deployment),
            [name] => {
                SetNumber::parse(name).map(Self::MachineSet).or_else(|| MachineNumber::parse(name).map(Self::Machine))
            }
            ["delete", name] => MachineNumber::parse(name).map(Self::Delete),
            ["unavailable", name] => MachineNumber::parse(name).map(Self::Unavailable),
            ["available", name] => MachineNumber::parse(name).map(Self::Available),
            ["fail", name] => MachineNumber::parse(name).map(Self::Fail),
            ["retry", name] => MachineNumber::parse(name).map(Self::Retry),
            ["template", name] => Some(Self::Template((*name).to_owned())),
            ["replicas", number] => {
                let replicas = number.parse().ok().filter(|replicas| (0..=MAX_REPLICAS).contains(replicas));
                Some(Self::Replicas(replicas.ok_or_else(|| EntryError::Replicas((*number).to_owned()))?))
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
        for text in ["md", "ms12", "replicas 0", "template v3"].into_iter().chain(of_machines) {
            assert_eq!(text.parse::<Entry>().expect("must be an entry").to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "foo", "delete", "delete ms1", "md md", "template", "template a b", "replicas", "m01"] {
            assert_eq!(text.parse::<Entry>(), Err(EntryError::Unknown(text.to_owned())), "{text:?}");
        }
        for number in ["-1", "x", "1.5", "99999999999", "10001"] {
            let error = EntryError::Replicas(number.to_owned());
            assert_eq!(format!("replicas {number}").parse::<Entry>(), Err(error));
        }
    }
}
