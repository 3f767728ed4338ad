//! The state on disk: one redb file, every transaction synced before it counts.

use std::{io, sync::Arc};

use redb::{Builder, Database, ReadableDatabase, TableDefinition, WriteTransaction};

use super::{
    EventKind, Key, OpenError, Record, Revision,
    folder::Folder,
    group::Staged,
    index::Index,
    packed::{pack, unpack},
};

/// Cluster, resource, namespace, name.
type Place<'a> = (&'a str, &'a str, &'a str, &'a str);

const OBJECTS: TableDefinition<Place<'static>, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const REVISION: &str = "revision";

/// The layout that this code writes. Older ones are none yet; newer ones are refused.
const CURRENT_FORMAT: u64 = 1;
/// Pages that redb keeps in memory; objects are read from disk at the start only.
const CACHE_BYTES: usize = 16 << 20;
/// A file is compacted when it is larger than this and [`COMPACT_RATIO`] times what it holds.
const COMPACT_BYTES: u64 = 8 << 20;
/// Pages are rounded up, and redb keeps free ones for the next writes: up to twice the contents is normal.
const COMPACT_RATIO: u64 = 4;

/// Why the disk did not take a write.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The file cannot be opened again after an earlier failure.
    #[error("the store's file cannot be opened")]
    Reopen(#[source] io::Error),
    /// The database refused, most often because the disk is full.
    #[error("the store's file cannot be written")]
    Database(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for DiskError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

/// How the file is opened: at the start, and again after a failure.
pub(super) type Connect = Box<dyn Fn(&Folder) -> Result<Database, DiskError> + Send>;

/// The file, and what about it is in doubt.
pub(super) struct Disk {
    folder: Folder,
    connect: Connect,
    /// `None` after a failure, until it could be opened again.
    database: Option<Database>,
    /// What a failed transaction was about: it may have reached the disk or not.
    doubtful: Vec<Key>,
}

impl Disk {
    /// Opens the file, or begins a new one.
    pub(super) fn open(folder: Folder, connect: Connect) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Disk { path: folder.path().to_owned(), source };
        let database = connect(&folder).map_err(failed)?;
        match format(&database).map_err(failed)? {
            Some(CURRENT_FORMAT) => {}
            None => begin(&database).map_err(failed)?,
            Some(found) => {
                return Err(OpenError::Format { path: folder.path().to_owned(), found, known: CURRENT_FORMAT });
            }
        }
        Ok(Self { folder, connect, database: Some(database), doubtful: Vec::new() })
    }

    /// Reads everything, then gives free space back to the file system where there is much of it.
    pub(super) fn load(&mut self, limits: super::Limits) -> Result<Index, OpenError> {
        let path = self.folder.path().to_owned();
        let (index, live_bytes) = match self.read_all(limits) {
            Ok(read) => read?,
            Err(source) => return Err(OpenError::Disk { path, source }),
        };
        self.compact(live_bytes).map_err(|source| OpenError::Disk { path, source })?;
        Ok(index)
    }

    fn read_all(&self, limits: super::Limits) -> Result<Result<(Index, u64), OpenError>, DiskError> {
        let transaction = self.database()?.begin_read()?;
        let revision = transaction.open_table(META)?.get(REVISION)?.map_or(Revision::FIRST, |it| Revision(it.value()));
        let index = Index::new(revision, limits);
        let mut live_bytes = 0;
        for entry in transaction.open_table(OBJECTS)?.range::<Place<'_>>(..)? {
            let (place, packed) = entry?;
            let (cluster, resource, namespace, name) = place.value();
            let key = Key::new(cluster, resource, namespace, name);
            let Some(record) = unpack(&key, packed.value(), &index.decoded) else {
                return Ok(Err(OpenError::Damaged { path: self.folder.path().to_owned(), key }));
            };
            live_bytes += packed.value().len() as u64;
            index.load(record);
        }
        Ok(Ok((index, live_bytes)))
    }

    fn compact(&mut self, live_bytes: u64) -> Result<(), DiskError> {
        let bytes = self.folder.database().and_then(|file| file.metadata()).map_err(DiskError::Reopen)?.len();
        if bytes > COMPACT_BYTES.max(live_bytes.saturating_mul(COMPACT_RATIO))
            && let Some(database) = &mut self.database
        {
            database.compact()?;
        }
        Ok(())
    }

    /// Makes a group durable. After a failure the file is in doubt until [`Disk::repair`] succeeds.
    pub(super) fn save(&mut self, group: &[Staged], revision: Revision) -> Result<(), Arc<DiskError>> {
        let saved = self.transact(revision, |transaction| {
            let mut objects = transaction.open_table(OBJECTS)?;
            for Staged { event, packed } in group {
                let place = place(event.record.key());
                match event.kind {
                    EventKind::Added | EventKind::Modified => {
                        objects.insert(place, pack(&event.record, packed).as_slice())?;
                    }
                    EventKind::Deleted => {
                        objects.remove(place)?;
                    }
                }
            }
            Ok(())
        });
        saved.map_err(|error| self.doubt(group.iter().map(|change| change.event.record.key()), error))
    }

    /// Removes objects, all or none.
    pub(super) fn remove<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a Key> + Clone,
        revision: Revision,
    ) -> Result<(), Arc<DiskError>> {
        let removed = self.transact(revision, |transaction| {
            let mut objects = transaction.open_table(OBJECTS)?;
            for key in keys.clone() {
                objects.remove(place(key))?;
            }
            Ok(())
        });
        removed.map_err(|error| self.doubt(keys, error))
    }

    /// Opens the file again after a failure and puts back what the memory says, whether or not the failed transaction
    /// reached the disk.
    pub(super) fn repair(&mut self, index: &Index, revision: Revision) -> Result<(), Arc<DiskError>> {
        if self.database.is_some() {
            return Ok(());
        }
        self.database = Some((self.connect)(&self.folder)?);
        let doubtful = std::mem::take(&mut self.doubtful);
        let restored = self.transact(revision, |transaction| {
            let mut objects = transaction.open_table(OBJECTS)?;
            for key in &doubtful {
                match index.get(key) {
                    Some(record) => drop(objects.insert(place(key), repack(&record).as_slice())?),
                    None => drop(objects.remove(place(key))?),
                }
            }
            Ok(())
        });
        restored.map_err(|error| self.doubt(doubtful.iter(), error))
    }

    fn doubt<'a>(&mut self, keys: impl Iterator<Item = &'a Key>, error: DiskError) -> Arc<DiskError> {
        self.doubtful = keys.cloned().collect();
        self.database = None;
        Arc::new(error)
    }

    fn transact(
        &self,
        revision: Revision,
        change: impl FnOnce(&WriteTransaction) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let transaction = self.database()?.begin_write()?;
        change(&transaction)?;
        transaction.open_table(META)?.insert(REVISION, revision.0)?;
        Ok(transaction.commit()?)
    }

    fn database(&self) -> Result<&Database, DiskError> {
        self.database.as_ref().ok_or_else(|| DiskError::from(redb::Error::PreviousIo))
    }
}

/// Opens the file in the folder. After a crash this is where redb goes back to the last transaction that was whole.
pub(super) fn connect(folder: &Folder) -> Result<Database, DiskError> {
    let file = folder.database().map_err(DiskError::Reopen)?;
    Ok(Builder::new().set_cache_size(CACHE_BYTES).create_file(file)?)
}

/// The format of a file, or `None` for an empty one. 0 is for databases that are not ours.
fn format(database: &Database) -> Result<Option<u64>, DiskError> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(None);
    }
    match transaction.open_table(META) {
        Ok(meta) => Ok(Some(meta.get(FORMAT)?.map_or(0, |it| it.value()))),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

fn begin(database: &Database) -> Result<(), DiskError> {
    let transaction = database.begin_write()?;
    transaction.open_table(OBJECTS)?;
    transaction.open_table(META)?.insert(FORMAT, CURRENT_FORMAT)?;
    transaction.open_table(META)?.insert(REVISION, Revision::FIRST.0)?;
    Ok(transaction.commit()?)
}

fn place(key: &Key) -> Place<'_> {
    (key.cluster(), key.resource(), key.namespace(), key.name())
}

fn repack(record: &Record) -> Vec<u8> {
    pack(record, &lz4_flex::compress_prepend_size(&record.text_without_version()))
}
