//! How a MachineDeployment and its MachineSets talk about machines that change their owner.

use std::collections::BTreeMap;

use refit_api::name_set::NameSet;
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS,
};
use refit_api::vocabulary::refit::annotations::{HOLD, SCAFFOLDING};

/// What the MachineDeployment has written on one MachineSet about machines that move.
///
/// All of it is decided anew in every pass: what a pass does not set is gone after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handover {
    /// The MachineSet that surplus machines go to. Nothing: they are deleted.
    pub move_to: Option<String>,
    /// The MachineSets that machines are taken from.
    pub receive_from: NameSet,
    /// The machines that were moved here and that `spec.replicas` counts by now.
    pub acknowledged: NameSet,
    /// The surge machine that is there only until the others are updated.
    pub scaffolding: Option<Scaffolding>,
    /// No machine is created, moved or deleted until the next order. The MachineSet repeats the value when it has taken note
    /// of that and nothing is under way any more.
    pub hold: Option<String>,
}

/// A surge machine that stands in while others are updated, and goes when they are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scaffolding {
    /// `spec.replicas` asks for it, and it is not there yet.
    Requested,
    /// It is there, under this name.
    Machine(String),
}

impl Handover {
    /// Reads the annotations of a MachineSet.
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        let move_to = annotations.get(MOVE_MACHINES_TO_MACHINESET).filter(|name| !name.is_empty());
        Self {
            move_to: move_to.cloned(),
            receive_from: NameSet::from_annotation(annotations, RECEIVE_MACHINES_FROM_MACHINESETS),
            acknowledged: NameSet::from_annotation(annotations, ACKNOWLEDGED_MOVE),
            scaffolding: annotations.get(SCAFFOLDING).map(|name| Scaffolding::read(name)),
            hold: annotations.get(HOLD).cloned(),
        }
    }

    /// Writes all of it into the annotations of a MachineSet, and takes off what is not set.
    pub fn write_to(&self, annotations: &mut BTreeMap<String, String>) {
        self.receive_from.write_to(annotations, RECEIVE_MACHINES_FROM_MACHINESETS);
        self.acknowledged.write_to(annotations, ACKNOWLEDGED_MOVE);
        write(annotations, MOVE_MACHINES_TO_MACHINESET, self.move_to.as_deref());
        write(annotations, HOLD, self.hold.as_deref());
        write(annotations, SCAFFOLDING, self.scaffolding.as_ref().map(Scaffolding::as_str));
    }

    /// Whether machines are taken from anybody.
    pub fn receives(&self) -> bool {
        !self.receive_from.is_empty()
    }

    /// Whether this machine is the scaffolding.
    pub fn is_scaffolding(&self, machine: &str) -> bool {
        matches!(&self.scaffolding, Some(Scaffolding::Machine(name)) if name == machine)
    }
}

impl Scaffolding {
    fn read(text: &str) -> Self {
        if text.is_empty() { Self::Requested } else { Self::Machine(text.to_owned()) }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Requested => "",
            Self::Machine(name) => name,
        }
    }
}

fn write(annotations: &mut BTreeMap<String, String>, key: &str, value: Option<&str>) {
    match value {
        Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
        None => annotations.remove(key),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let handover = Handover {
            move_to: Some("ms2".to_owned()),
            receive_from: NameSet::parse("ms1"),
            acknowledged: NameSet::parse("m1,m2"),
            scaffolding: Some(Scaffolding::Requested),
            hold: Some("17".to_owned()),
        };
        let mut annotations = BTreeMap::from([("kept".to_owned(), "yes".to_owned())]);
        handover.write_to(&mut annotations);
        assert_eq!(Handover::read(&annotations), handover);
        assert_eq!(annotations.len(), 6);
        Handover::default().write_to(&mut annotations);
        assert_eq!(annotations.keys().collect::<Vec<_>>(), ["kept"]);
    }

    #[test]
    fn an_empty_target_is_no_target() {
        let annotations = BTreeMap::from([(MOVE_MACHINES_TO_MACHINESET.to_owned(), String::new())]);
        assert_eq!(Handover::read(&annotations).move_to, None);
    }
}
