//! How a MachineDeployment and its MachineSets talk about machines that change their owner.

use std::collections::BTreeMap;

use refit_api::name_set::NameSet;
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS,
};
use refit_api::vocabulary::refit::annotations::{HOLD, KEEP_AT_LEAST, REPLACED, SCAFFOLDING, SCALED_DOWN, SURGE};

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
    /// There are more machines than the user wants, so what is created gets the mark of scaffolding.
    pub surge: bool,
    /// How many machines without that mark may be deleted because the user wants fewer.
    pub scaled_down: u32,
    /// How many may be deleted because they are replaced. Under `Require` none is.
    pub replaced: u32,
    /// How many machines without that mark are left when those are gone.
    pub keep_at_least: u32,
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
            surge: annotations.contains_key(SURGE),
            // What cannot be read allows nothing.
            scaled_down: annotations.get(SCALED_DOWN).and_then(|count| count.parse().ok()).unwrap_or_default(),
            replaced: annotations.get(REPLACED).and_then(|count| count.parse().ok()).unwrap_or_default(),
            keep_at_least: match annotations.get(KEEP_AT_LEAST) {
                None => 0,
                Some(count) => count.parse().unwrap_or(u32::MAX),
            },
        }
    }

    /// Writes all of it into the annotations of a MachineSet, and takes off what is not set.
    pub fn write_to(&self, annotations: &mut BTreeMap<String, String>) {
        self.receive_from.write_to(annotations, RECEIVE_MACHINES_FROM_MACHINESETS);
        self.acknowledged.write_to(annotations, ACKNOWLEDGED_MOVE);
        write(annotations, MOVE_MACHINES_TO_MACHINESET, self.move_to.as_deref());
        write(annotations, HOLD, self.hold.as_deref());
        write(annotations, SCAFFOLDING, self.scaffolding.as_ref().map(Scaffolding::as_str));
        write(annotations, SURGE, self.surge.then_some(""));
        for (key, count) in
            [(SCALED_DOWN, self.scaled_down), (REPLACED, self.replaced), (KEEP_AT_LEAST, self.keep_at_least)]
        {
            write(annotations, key, (count > 0).then(|| count.to_string()).as_deref());
        }
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
            surge: true,
            scaled_down: 2,
            replaced: 1,
            keep_at_least: 3,
        };
        let mut annotations = BTreeMap::from([("kept".to_owned(), "yes".to_owned())]);
        handover.write_to(&mut annotations);
        assert_eq!(Handover::read(&annotations), handover);
        assert_eq!(annotations.len(), 10);
        Handover::default().write_to(&mut annotations);
        assert_eq!(annotations.keys().collect::<Vec<_>>(), ["kept"]);
    }

    #[test]
    fn a_permission_to_delete_that_cannot_be_read_is_none() {
        for nonsense in ["", "-1", "many", "99999999999999999999"] {
            let annotations = BTreeMap::from([(SCALED_DOWN, nonsense), (REPLACED, nonsense)]);
            let annotations = annotations.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            assert_eq!(Handover::read(&annotations), Handover::default());
        }
    }

    #[test]
    fn an_empty_target_is_no_target() {
        let annotations = BTreeMap::from([(MOVE_MACHINES_TO_MACHINESET.to_owned(), String::new())]);
        assert_eq!(Handover::read(&annotations).move_to, None);
    }
}
