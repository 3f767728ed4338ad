//! The memory that answers take up until their clients have read them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::pump::CHUNK_BYTES;

/// Room for answers, counted in chunks.
pub(super) struct Memory {
    chunks: Arc<Semaphore>,
    all: u32,
}

/// No room is left until clients have read what they asked for.
#[derive(Debug)]
pub(super) struct Full;

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes / CHUNK_BYTES).unwrap_or(u32::MAX).max(1);
        Self { chunks: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Room for an answer. One that is larger than all the room there is has to have it for itself.
    pub(super) fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Full> {
        let chunks = u32::try_from(bytes.div_ceil(CHUNK_BYTES)).unwrap_or(u32::MAX).min(self.all);
        self.chunks.clone().try_acquire_many_owned(chunks).map_err(|_| Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_waits_for_others_and_nothing_waits_for_ever() {
        let memory = Memory::new(4 * CHUNK_BYTES);
        let first = memory.take(3 * CHUNK_BYTES).expect("there must be room");
        assert!(memory.take(CHUNK_BYTES + 1).is_err());
        let second = memory.take(CHUNK_BYTES).expect("there must be room");
        drop((first, second));
        let huge = memory.take(100 * CHUNK_BYTES).expect("it must have all the room");
        assert!(memory.take(1).is_err());
        drop(huge);
    }
}
