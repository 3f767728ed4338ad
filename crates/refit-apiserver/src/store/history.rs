//! The latest changes of one resource, from which watchers are served and earlier states are rebuilt.

use std::collections::{BTreeMap, VecDeque};

use super::{Key, Record, Revision};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was not there before.
    Added,
    /// It was there and is another one now.
    Modified,
    /// It is gone; the record is the last object, at the version of the deletion.
    Deleted,
}

/// One change, as watchers see it. Cloning shares the records.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The object after the change.
    pub record: Record,
    /// The object before the change: a watch with a selector must know whether it was selected then.
    pub previous: Option<Record>,
}

/// What an event takes up besides the text of its records.
const EVENT_BYTES: usize = 512;

impl Event {
    /// The version that the change made.
    pub fn revision(&self) -> Revision {
        self.record.revision()
    }

    /// What is there after the change.
    pub(super) fn outcome(&self) -> Option<&Record> {
        match self.kind {
            EventKind::Added | EventKind::Modified => Some(&self.record),
            EventKind::Deleted => None,
        }
    }

    /// An upper bound: text that two events share counts twice.
    pub(super) fn bytes(&self) -> usize {
        EVENT_BYTES + self.record.json().len() + self.previous.as_ref().map_or(0, |record| record.json().len())
    }
}

/// How far back changes are kept. Whoever asks for older ones has to list again.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Changes kept of one resource.
    pub resource_events: usize,
    /// Memory for the changes of one resource.
    pub resource_bytes: usize,
    /// Changes kept of all resources together.
    pub total_events: usize,
    /// Memory for the changes of all resources together: a thousand logical clusters share it.
    pub total_bytes: usize,
}

impl Default for Limits {
    /// A watcher that stalls for a second under the heaviest writing (10,000 writes of 2 KiB per second) is not lost.
    fn default() -> Self {
        Self { resource_events: 16_384, resource_bytes: 64 << 20, total_events: 262_144, total_bytes: 256 << 20 }
    }
}

/// The changes after `base`, oldest first, without a gap.
pub(super) struct History {
    events: VecDeque<Event>,
    bytes: usize,
    base: Revision,
}

/// The versions asked for are no longer kept; the oldest ones that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten(pub(super) Revision);

impl History {
    pub(super) fn since(base: Revision) -> Self {
        Self { events: VecDeque::new(), bytes: 0, base }
    }

    /// Adds the newest change and returns how much memory the history grew by and how much it gave back.
    pub(super) fn push(&mut self, event: Event, limits: &Limits) -> (usize, usize) {
        let (grown, mut freed) = (event.bytes(), 0);
        self.bytes += grown;
        self.events.push_back(event);
        while self.events.len() > limits.resource_events || self.bytes > limits.resource_bytes {
            freed += self.forget_oldest();
        }
        (grown, freed)
    }

    /// Forgets the changes up to a version, which is the oldest one kept from then on.
    pub(super) fn forget_until(&mut self, revision: Revision) -> usize {
        let mut freed = 0;
        while self.events.front().is_some_and(|event| event.revision() <= revision) {
            freed += self.forget_oldest();
        }
        freed
    }

    fn forget_oldest(&mut self) -> usize {
        let Some(event) = self.events.pop_front() else { return 0 };
        self.base = event.revision();
        self.bytes -= event.bytes();
        event.bytes()
    }

    /// The first change after a version.
    pub(super) fn after(&self, revision: Revision) -> Result<Option<&Event>, Forgotten> {
        self.reaches(revision)?;
        Ok(self.events.get(self.events.partition_point(|event| event.revision() <= revision)))
    }

    /// What has to be put back into the latest state to get the one at a version.
    pub(super) fn undo(&self, revision: Revision) -> Result<BTreeMap<&Key, Option<&Record>>, Forgotten> {
        self.reaches(revision)?;
        let newer = self.events.iter().rev().take_while(|event| event.revision() > revision);
        Ok(newer.map(|event| (event.record.key(), event.previous.as_ref())).collect())
    }

    /// Whether every change after the version is here.
    pub(super) fn reaches(&self, revision: Revision) -> Result<(), Forgotten> {
        if revision < self.base { Err(Forgotten(self.base)) } else { Ok(()) }
    }
}
