//! Remembers beside the database which version was acknowledged last.
//!
//! After a crash redb goes back to the transaction before the last one where the last is not whole. That is right for a
//! transaction that never was acknowledged, and wrong for one whose page was damaged since. Only something outside of the
//! database can tell them apart.
//!
//! It is written after each commit without a sync of its own, so it survives whatever ends the process, and after a loss
//! of power it is at most [`SYNC_EVERY`] behind. It is never ahead of what is on disk.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use super::{Revision, packed::checksum_of};

/// How far it may be behind after a loss of power. One sync in a second is not felt.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// The version and its checksum.
const BYTES: usize = 16;

/// The file that says which version was acknowledged last.
pub(super) struct Witness {
    file: File,
    synced_at: Instant,
}

impl Witness {
    pub(super) fn new(file: File) -> Self {
        Self { file, synced_at: Instant::now() }
    }

    /// What it says; `None` where it says nothing that can be believed.
    pub(super) fn read(&self) -> Option<Revision> {
        let mut bytes = [0; BYTES];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        let (revision, sum) = bytes.split_first_chunk::<8>()?;
        (sum == checksum_of(revision).to_le_bytes()).then_some(Revision(u64::from_le_bytes(*revision)))
    }

    /// Notes that a version is on disk.
    pub(super) fn note(&mut self, revision: Revision) -> io::Result<()> {
        let version = revision.0.to_le_bytes();
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&version);
        bytes[8..].copy_from_slice(&checksum_of(&version).to_le_bytes());
        self.file.write_all_at(&bytes, 0)?;
        if self.synced_at.elapsed() >= SYNC_EVERY {
            self.file.sync_data()?;
            self.synced_at = Instant::now();
        }
        Ok(())
    }

    /// Makes what it says survive a loss of power.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_noted_last_and_nothing_when_damaged() {
        let file = tempfile::tempfile().unwrap();
        let mut witness = Witness::new(file.try_clone().unwrap());
        assert_eq!(witness.read(), None);
        for revision in [Revision(7), Revision(u64::MAX), Revision(8)] {
            witness.note(revision).unwrap();
            assert_eq!(witness.read(), Some(revision));
        }
        for bit in 0..BYTES * 8 {
            let mut bytes = [0; BYTES];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            file.write_all_at(&bytes, 0).unwrap();
            assert_eq!(witness.read(), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
            file.write_all_at(&bytes, 0).unwrap();
        }
        assert_eq!(witness.read(), Some(Revision(8)));
    }
}
