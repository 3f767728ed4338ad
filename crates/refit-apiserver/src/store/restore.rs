//! Making a store from a backup, and looking whether a store is whole.

use std::{
    io::BufRead,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use super::{
    DiskError, Key, OpenError, Record, Revision, Store,
    backup::{BackupError, Entry, Reader},
    decoded::Decoded,
    disk,
    encoded::Encoded,
    folder::Folder,
};

/// How far versions jump at a restore. Clients have seen versions that were given out after the backup was made, and none
/// of them may be given out again. At ten thousand writes a second this is more than a day of them.
const VERSIONS_SKIPPED: u64 = 1_000_000_000;

/// Why a backup was not restored. The folder then holds no store.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("there is a store in folder {folder} already; restore into another folder, or move that one away")]
    Exists { folder: String },
    #[error(transparent)]
    Folder(#[from] OpenError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("the store cannot be written")]
    Disk(#[from] DiskError),
}

/// What a store or a backup was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    pub objects: u64,
    pub version: Revision,
}

impl Store {
    /// Makes the store of a folder from a backup. Files that came with the backup are handed to `file`.
    ///
    /// # Guarantees
    /// The store is there as a whole or not at all. An existing one is not touched.
    pub fn restore<E: Into<RestoreError>>(
        folder: &Path,
        backup: impl BufRead,
        mut file: impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<Verified, RestoreError> {
        let folder = Folder::claim(folder)?;
        let held = folder.holds_database().map_err(DiskError::Reopen)?;
        if held.is_some() || folder.has_witness() {
            return Err(RestoreError::Exists { folder: folder.path().display().to_string() });
        }
        let mut backup = Reader::new(backup)?;
        let version = Revision(backup.version().0 + VERSIONS_SKIPPED);
        let decoded = Arc::default();
        let mut next = || loop {
            match backup.next_entry()? {
                None => return Ok(None),
                Some(Entry::File { name, content }) => file(&name, &content).map_err(Into::into)?,
                Some(Entry::Object { key, revision, value }) => {
                    let encoded = Encoded::new(&value);
                    return Ok(Some(record(key, revision, &encoded, &decoded)));
                }
            }
        };
        let mut outcome = Ok(());
        let created = disk::create(&folder, |database| {
            outcome = disk::fill(database, &mut next, version);
            // The name that counts is given to a whole database only.
            if outcome.is_err() {
                Err(DiskError::Damaged("the backup could not be restored".to_owned()))
            } else {
                Ok(())
            }
        });
        outcome?;
        created?;
        Ok(Verified { objects: backup.objects(), version })
    }

    /// Reads everything that a folder holds and compares it with its checksums. The folder must not be in use.
    pub fn verify(folder: &Path) -> Result<Verified, OpenError> {
        if !folder.join("store.redb").exists() {
            let (path, problem) = (folder.to_owned(), "there is no store.redb".to_owned());
            return Err(OpenError::Damaged { path, problem });
        }
        let store = Self::open(folder)?;
        let objects = store.index.all_records().len() as u64;
        Ok(Verified { objects, version: store.revision() })
    }
}

fn record(key: Key, revision: Revision, encoded: &Encoded, decoded: &Arc<Decoded>) -> Record {
    Record::new(key, revision, (encoded.at(revision), encoded.gap), decoded, None)
}

/// Opens a store. Where the database itself gives up over a damaged page, that is an answer and not the end.
pub(super) fn guarded<T>(folder: &Path, open: impl FnOnce() -> Result<T, OpenError>) -> Result<T, OpenError> {
    catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|cause| {
        let said = cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied());
        let problem = format!("store.redb cannot be read ({})", said.unwrap_or("for no known reason"));
        Err(OpenError::Damaged { path: folder.to_owned(), problem })
    })
}
