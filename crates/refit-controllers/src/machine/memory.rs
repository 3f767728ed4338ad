//! What this process has found out about Machines, and nobody else can know.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use refit_plan::machine::{Answer, Drain, Quiet, Volumes};

use crate::cache::ObjectKey;

/// What is remembered of one Machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Whose it is: another Machine of the same name begins with nothing.
    pub uid: Option<String>,
    pub drain: Option<Drain>,
    pub volumes: Option<Volumes>,
    pub node_deletion_error: Option<String>,
    pub answer: Option<Answer>,
    /// What the status does not say, because it will pass by itself.
    pub quiet: Option<Quiet>,
}

/// What is remembered of all Machines that are there.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<BTreeMap<ObjectKey, Memory>>);

impl Memories {
    /// What is remembered of this Machine.
    pub fn of(&self, key: &ObjectKey, uid: Option<&String>) -> Memory {
        let known = self.all().get(key).filter(|memory| memory.uid.as_ref() == uid).cloned();
        known.unwrap_or_else(|| Memory { uid: uid.cloned(), ..Memory::default() })
    }

    /// Remembers something.
    pub fn note(&self, key: &ObjectKey, uid: Option<&String>, change: impl FnOnce(&mut Memory)) {
        let mut memory = self.of(key, uid);
        change(&mut memory);
        self.all().insert(key.clone(), memory);
    }

    /// The Machine is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
