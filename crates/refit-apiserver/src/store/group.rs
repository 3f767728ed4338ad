//! Writes that become durable and visible together.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Event, EventKind, Key, Record, Revision, WriteError,
    encoded::set_version,
    index::Index,
    write::{Change, Object, Prepared},
};

/// Collects writes, each judged by the state that the ones before it leave.
pub(super) struct Group<'a> {
    index: &'a Index,
    revision: Revision,
    pending: BTreeMap<Key, Option<Record>>,
    pub(super) staged: Vec<Staged>,
}

/// A change that was accepted.
pub(super) struct Staged {
    pub(super) event: Event,
    /// The compressed object for the disk; empty for a deletion.
    pub(super) packed: Vec<u8>,
}

impl<'a> Group<'a> {
    /// `revision` is the last one that was given out.
    pub(super) fn new(index: &'a Index, revision: Revision) -> Self {
        Self { index, revision, pending: BTreeMap::new(), staged: Vec::new() }
    }

    /// The last version given out.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// Accepts all of a caller's writes or none.
    pub(super) fn stage(&mut self, writes: Vec<Prepared>) -> Result<Vec<Record>, WriteError> {
        let mut mine = BTreeMap::new();
        let (mut staged, mut revision) = (Vec::new(), self.revision);
        for Prepared { key, expected, change } in writes {
            let previous = mine.get(&key).cloned().unwrap_or_else(|| self.latest(&key));
            let actual = previous.as_ref().map(Record::revision);
            if actual != expected && !holds_all_the_same(&change, previous.as_ref()) {
                return Err(WriteError::Conflict { key, actual });
            }
            let Some(change) = self.change(&key, revision.next(), previous, change) else { continue };
            revision = revision.next();
            mine.insert(key, change.event.outcome().cloned());
            staged.push(change);
        }
        let records = staged.iter().map(|change| change.event.record.clone()).collect();
        self.revision = revision;
        self.pending.append(&mut mine);
        self.staged.append(&mut staged);
        Ok(records)
    }

    fn latest(&self, key: &Key) -> Option<Record> {
        self.pending.get(key).cloned().unwrap_or_else(|| self.index.get(key))
    }

    fn change(&self, key: &Key, at: Revision, previous: Option<Record>, change: Change<Object>) -> Option<Staged> {
        match change {
            Change::Keep | Change::KeepIf(_) => None,
            Change::Delete => {
                let record = previous.as_ref()?.at(at);
                Some(Staged { event: Event { kind: EventKind::Deleted, record, previous }, packed: Vec::new() })
            }
            Change::Put(Object { mut value, encoded, packed }) => {
                set_version(&mut value, at);
                let text = (encoded.at(at), encoded.gap);
                let record = Record::new(key.clone(), at, text, &self.index.decoded, Some(Arc::new(value)));
                let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
                Some(Staged { event: Event { kind, record, previous }, packed })
            }
        }
    }
}

/// Whether an object that has changed is still what the other writes need.
fn holds_all_the_same(change: &Change<Object>, record: Option<&Record>) -> bool {
    match (change, record) {
        (Change::KeepIf(holds), Some(record)) => (holds.0)(&record.value()),
        (Change::Put(_) | Change::Delete | Change::Keep | Change::KeepIf(_), _) => false,
    }
}
