//! What callers ask the store to change, and on which condition.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Key, Revision,
    disk::DiskError,
    encoded::{Encoded, MAX_DEPTH, deeper_than},
};

/// One change with its precondition. A version inside the value is ignored.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    key: Key,
    expected: Option<Revision>,
    change: Change<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change<T> {
    Put(T),
    Delete,
    /// Changes nothing; the others of the same commit depend on it.
    Keep,
    /// The same, for an object at another version as well, if this holds of it.
    KeepIf(Holds),
}

/// What must hold of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds(pub(super) fn(&Value) -> bool);

impl PartialEq for Holds {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Write {
    /// Makes an object that must not be there yet.
    pub fn create(key: Key, value: Value) -> Self {
        Self { key, expected: None, change: Change::Put(value) }
    }

    /// Replaces an object that must still be at a version.
    pub fn replace(key: Key, at: Revision, value: Value) -> Self {
        Self { key, expected: Some(at), change: Change::Put(value) }
    }

    /// Deletes an object that must still be at a version.
    pub fn delete(key: Key, at: Revision) -> Self {
        Self { key, expected: Some(at), change: Change::Delete }
    }

    /// Leaves an object alone that must still be at a version, or absent, for the rest of the commit to happen.
    pub fn require(key: Key, at: Option<Revision>) -> Self {
        Self { key, expected: at, change: Change::Keep }
    }

    /// The same for an object that may have changed meanwhile, as long as it is there and this holds of it.
    pub fn require_or(key: Key, at: Revision, holds: fn(&Value) -> bool) -> Self {
        Self { key, expected: Some(at), change: Change::KeepIf(Holds(holds)) }
    }

    /// The object that it is about.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Whether the object goes.
    pub fn is_delete(&self) -> bool {
        matches!(self.change, Change::Delete)
    }

    /// Encodes the value in the caller, so that the one writer has little left to do.
    pub(super) fn prepare(self, durable: bool) -> Result<Prepared, WriteError> {
        let Self { key, expected, change } = self;
        let change = match change {
            Change::Put(value) if deeper_than(&value, MAX_DEPTH) => return Err(WriteError::TooDeep { key }),
            Change::Put(value) => Change::Put(Object::new(value, durable)),
            Change::Delete => Change::Delete,
            Change::Keep => Change::Keep,
            Change::KeepIf(holds) => Change::KeepIf(holds),
        };
        Ok(Prepared { key, expected, change })
    }
}

/// A write that only lacks its version.
pub(super) struct Prepared {
    pub(super) key: Key,
    pub(super) expected: Option<Revision>,
    pub(super) change: Change<Object>,
}

/// A value in all the forms in which it is needed.
pub(super) struct Object {
    pub(super) value: Value,
    pub(super) encoded: Encoded,
    /// For the disk; empty where there is none.
    pub(super) packed: Vec<u8>,
}

impl Object {
    fn new(value: Value, durable: bool) -> Self {
        let encoded = Encoded::new(&value);
        let packed = if durable { lz4_flex::compress_prepend_size(&encoded.text) } else { Vec::new() };
        Self { value, encoded, packed }
    }
}

/// Why nothing of a commit happened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody else was first. What they wrote can be read already.
    #[error("{key} is not at the expected version")]
    Conflict {
        /// The object that is not as expected.
        key: Key,
        /// Its version, or that it is absent.
        actual: Option<Revision>,
    },
    /// The value nests too deeply to be read back.
    #[error("{key} nests more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// The object.
        key: Key,
    },
    /// The disk is full or broken. Nobody sees the write. Reads go on, and every later write first tries to repair the
    /// file; only if the process ends before that succeeded may the write turn up after a restart.
    #[error("the write could not be made durable")]
    Disk(#[source] Arc<DiskError>),
    /// The thread that writes has ended.
    #[error("the store has stopped")]
    Stopped,
}
