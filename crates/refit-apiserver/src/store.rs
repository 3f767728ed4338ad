//! Where objects are kept: versions, lists, watches, and a folder that survives crashes.
//!
//! Knows keys, versions and JSON, and nothing else of Kubernetes. All reads and watches are served from memory. A write
//! is on disk before it is acknowledged and before anybody sees it; writes become visible in the order of their versions,
//! and all writes of one commit at once.
//!
//! Watches begin anew after a restart: changes are kept in memory only, for as long as [`Limits`] says.

pub mod backup;
mod decoded;
mod disk;
mod encoded;
mod engine;
mod folder;
mod group;
mod history;
mod index;
mod key;
mod packed;
mod record;
mod restore;
mod shard;
mod watch;
mod witness;
mod write;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use disk::DiskError;
pub(crate) use folder::Folder;
pub use history::{Event, EventKind, Limits};
pub use key::{Key, Revision, Scope};
pub use record::Record;
pub use restore::{RestoreError, Verified};
pub use watch::{Watch, WatchEnd};
pub use write::{Write, WriteError};

use disk::{Connect, Disk};
use engine::{Engine, Request};
use history::Forgotten;
use index::Index;
use writer::Writer;

/// All objects. Cloning shares the store; the last clone or watch to go closes its file.
#[derive(Clone)]
pub struct Store {
    index: Arc<Index>,
    writer: Arc<Writer>,
}

/// Objects as they were at one version, in the order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The version: later pages ask for it, and a watch begins behind it.
    pub revision: Revision,
    /// The objects.
    pub records: Vec<Record>,
}

/// Why there is no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The state at that version can no longer be rebuilt.
    #[error("states are kept from version {oldest} on only")]
    TooOld {
        /// The oldest version that can still be listed.
        oldest: Revision,
    },
    /// There is no such version yet.
    #[error("the latest version is {current}")]
    TooNew {
        /// The latest version.
        current: Revision,
    },
}

/// Why a folder cannot be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be made or read.
    #[error("folder {} cannot be used", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Only one process at a time may use a folder.
    #[error("folder {} is in use by {holder}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who uses it, as far as it is known.
        holder: String,
    },
    /// The folder was written by another version of the program.
    #[error("folder {} has format {found}, this program knows {known}", path.display())]
    Format {
        /// The folder.
        path: PathBuf,
        /// The format found.
        found: u64,
        /// The format that this program writes.
        known: u64,
    },
    /// The store is not what was once written.
    #[error("the store in folder {} is damaged: {problem}; `refit apiserver restore` makes a new one from a backup", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is damaged.
        problem: String,
    },
    /// The file cannot be read or written.
    #[error("the store in folder {} cannot be opened", path.display())]
    Disk {
        /// The folder.
        path: PathBuf,
        /// What the database says.
        source: DiskError,
    },
}

impl OpenError {
    fn of(path: &Path, source: DiskError) -> Self {
        let path = path.to_owned();
        match source {
            DiskError::Damaged(problem) => Self::Damaged { path, problem },
            source => Self::Disk { path, source },
        }
    }
}

/// How well the store takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Working,
    /// The disk did not take what was written last. It is tried again.
    Failing,
    /// The thread that writes has ended. Only starting anew helps.
    Stopped,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("revision", &self.revision()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in a folder, or begins one there.
    ///
    /// # Guarantees
    /// What was acknowledged is there, however the last process ended. No version is given out twice.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_with(folder, Limits::default())
    }

    /// Like [`Store::open`], with other bounds on memory.
    pub fn open_with(folder: &Path, limits: Limits) -> Result<Self, OpenError> {
        Self::open_by(folder, limits, Box::new(disk::connect), disk::RETRY_EVERY)
    }

    fn open_by(folder: &Path, limits: Limits, connect: Connect, retry_every: Duration) -> Result<Self, OpenError> {
        let (disk, index) = restore::guarded(folder, || {
            let mut disk = Disk::open(Folder::claim(folder)?, connect, retry_every)?;
            let index = Arc::new(disk.load(limits)?);
            Ok((disk, index))
        })?;
        let writer = Writer::thread(Engine::new(index.clone(), Some(disk)));
        let writer = writer.map_err(|source| OpenError::Folder { path: folder.to_owned(), source })?;
        Ok(Self { index, writer: Arc::new(writer) })
    }

    /// A store that ends with the process. Its writes never wait.
    pub fn in_memory() -> Self {
        Self::in_memory_with(Limits::default())
    }

    /// Like [`Store::in_memory`], with other bounds on memory.
    pub fn in_memory_with(limits: Limits) -> Self {
        let index = Arc::new(Index::new(Revision::FIRST, limits));
        let writer = Writer::inline(Engine::new(index.clone(), None));
        Self { index, writer: Arc::new(writer) }
    }

    /// The latest version that can be read.
    pub fn revision(&self) -> Revision {
        self.index.revision()
    }

    /// Whether writes succeed. Reads go on in any case; a commit, even of nothing, tries to mend a disk that fails.
    pub fn condition(&self) -> Condition {
        match (self.writer.has_stopped(), self.index.is_failing()) {
            (true, _) => Condition::Stopped,
            (false, true) => Condition::Failing,
            (false, false) => Condition::Working,
        }
    }

    /// Everything that is stored, at one version.
    pub async fn snapshot(&self) -> Result<Snapshot, WriteError> {
        self.writer.carry_out(|reply| Request::Snapshot { reply }).await
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<Record> {
        self.index.get(key)
    }

    /// The objects of a scope from behind `after` on, at the latest version or at an earlier one: all pages of a list
    /// show one state.
    pub fn list(&self, scope: &Scope, at: Option<Revision>, after: Option<&Key>) -> Result<Snapshot, ListError> {
        loop {
            let shard = self.index.scope(scope);
            let state = shard.read();
            if state.dropped {
                continue; // Meanwhile there is another shard, or none.
            }
            let current = self.revision();
            let revision = at.unwrap_or(current);
            if revision > current {
                return Err(ListError::TooNew { current });
            }
            let records = state.list(scope, revision, after);
            let records = records.map_err(|Forgotten(oldest)| ListError::TooOld { oldest })?;
            return Ok(Snapshot { revision, records });
        }
    }

    /// Follows the changes of a scope after a version.
    pub fn watch(&self, scope: Scope, from: Revision) -> Result<Watch, WatchEnd> {
        Watch::new(self.clone(), scope, from)
    }

    /// The logical clusters that hold at least one object.
    pub fn clusters(&self) -> Vec<Arc<str>> {
        self.index.clusters()
    }

    /// The resources of a logical cluster of which there is at least one object.
    pub fn resources(&self, cluster: &str) -> Vec<Arc<str>> {
        self.index.resources(cluster)
    }

    /// Makes all of the writes or none, each judged by what the ones before it leave. Returns the changed objects in the
    /// same order; for a deletion, the last object at the version of the deletion; nothing for what is only required.
    ///
    /// The answer comes when the writes are durable and can be read. A caller that stops waiting takes nothing back.
    pub async fn commit(&self, writes: Vec<Write>) -> Result<Vec<Record>, WriteError> {
        let durable = self.writer.is_durable();
        let writes = writes.into_iter().map(|write| write.prepare(durable)).collect::<Result<_, _>>()?;
        self.writer.carry_out(|reply| Request::Commit { writes, reply }).await
    }

    /// Deletes everything that a logical cluster holds, in one step, and ends its watches.
    pub async fn drop_cluster(&self, cluster: &str) -> Result<Revision, WriteError> {
        self.writer.carry_out(|reply| Request::DropCluster { cluster: cluster.into(), reply }).await
    }
}
