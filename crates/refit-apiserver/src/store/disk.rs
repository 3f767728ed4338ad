//! The state on disk: one redb file, every transaction synced before it counts.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::{
    EventKind, Key, OpenError, Record, Revision,
    folder::Folder,
    group::Staged,
    index::Index,
    packed::{pack, unpack, upgraded},
    witness::Witness,
};

/// Cluster, resource, namespace, name.
type Place<'a> = (&'a str, &'a str, &'a str, &'a str);

const OBJECTS: TableDefinition<Place<'static>, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const REVISION: &str = "revision";

/// Where a disk that failed is tried before it counts as mended.
const PROBE: TableDefinition<u64, &[u8]> = TableDefinition::new("probe");

/// The layout that this code writes. Older ones are brought up to it when they are opened, newer ones are refused.
///
/// 1: the checksum of an object covers what is stored. 2: and its key.
const CURRENT_FORMAT: u64 = 2;
/// What a mended disk must have room for: an object of 3 MiB, and the pages around it. One that only has room for a few
/// bytes would be ready and full in turns.
const PROBE_BYTES: usize = 4 << 20;
/// How often a disk that failed is tried again, whoever asks.
pub(super) const RETRY_EVERY: Duration = Duration::from_secs(1);
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
    /// The file is not what was written.
    #[error("the store's file is damaged: {0}")]
    Damaged(String),
    /// It failed a moment ago, and is not tried again yet.
    #[error("the store's file could not be written a moment ago: {0}")]
    StillFailing(String),
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
    witness: Witness,
    failure: Option<Failure>,
    retry_every: Duration,
}

/// Why the disk is not used at present.
struct Failure {
    why: String,
    tried_at: Instant,
}

impl Disk {
    /// Opens the file, or begins a new one where there never was any.
    pub(super) fn open(folder: Folder, connect: Connect, retry_every: Duration) -> Result<Self, OpenError> {
        let path = folder.path().to_owned();
        let failed = |source| OpenError::of(&path, source);
        let held = folder.holds_database().map_err(|source| OpenError::Folder { path: path.clone(), source })?;
        let mut database = connect(&folder).map_err(failed)?;
        match format(&database).map_err(failed)? {
            Some(CURRENT_FORMAT) => check(&mut database).map_err(failed)?,
            Some(1) => {
                check(&mut database).map_err(failed)?;
                upgrade_from_1(&database).map_err(failed)?;
            }
            None if held == Some(true) => return Err(failed(DiskError::Damaged("it holds no tables".to_owned()))),
            None => begin(&database).map_err(failed)?,
            Some(found) => return Err(OpenError::Format { path, found, known: CURRENT_FORMAT }),
        }
        let witness = folder.witness().map_err(|source| OpenError::Folder { path, source })?;
        let (witness, doubtful) = (Witness::new(witness), Vec::new());
        Ok(Self { folder, connect, database: Some(database), doubtful, witness, failure: None, retry_every })
    }

    /// Reads everything, then gives free space back to the file system where there is much of it.
    pub(super) fn load(&mut self, limits: super::Limits) -> Result<Index, OpenError> {
        let path = self.folder.path().to_owned();
        let (index, live_bytes) = match self.read_all(limits) {
            Ok(read) => read?,
            Err(source) => return Err(OpenError::of(&path, source)),
        };
        self.hear_witness(index.revision()).map_err(|source| OpenError::of(&path, source))?;
        self.compact(live_bytes).map_err(|source| OpenError::of(&path, source))?;
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
                let problem = format!("{key} cannot be read");
                return Ok(Err(OpenError::Damaged { path: self.folder.path().to_owned(), problem }));
            };
            live_bytes += packed.value().len() as u64;
            index.load(record);
        }
        Ok(Ok((index, live_bytes)))
    }

    /// Refuses a file that lacks what was acknowledged: redb goes back one transaction where the last one is damaged.
    fn hear_witness(&mut self, found: Revision) -> Result<(), DiskError> {
        if let Some(acknowledged) = self.witness.read()
            && acknowledged > found
        {
            return Err(DiskError::Damaged(format!(
                "it is at version {found}, and version {acknowledged} was acknowledged; if this is a copy that you put \
                 here on purpose, remove store.version"
            )));
        }
        self.witness.note(found).and_then(|()| self.witness.sync()).map_err(DiskError::Reopen)
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
    /// reached the disk. Counts as mended only when there is room for more than that.
    pub(super) fn repair(&mut self, index: &Index, revision: Revision) -> Result<(), Arc<DiskError>> {
        let Some(failure) = &self.failure else { return Ok(()) };
        if failure.tried_at.elapsed() < self.retry_every {
            return Err(Arc::new(DiskError::StillFailing(failure.why.clone())));
        }
        let doubtful = std::mem::take(&mut self.doubtful);
        let mended = self.reopen(&doubtful, index, revision).and_then(|()| self.probe(revision));
        match mended {
            Ok(()) => {
                self.failure = None;
                tracing::warn!("the store's file can be written again");
                Ok(())
            }
            Err(error) => Err(self.doubt(doubtful.iter(), error)),
        }
    }

    fn reopen(&mut self, doubtful: &[Key], index: &Index, revision: Revision) -> Result<(), DiskError> {
        // Two databases must not have the same file open.
        self.database = None;
        self.database = Some((self.connect)(&self.folder)?);
        self.transact(revision, |transaction| {
            let mut objects = transaction.open_table(OBJECTS)?;
            for key in doubtful {
                match index.get(key) {
                    Some(record) => drop(objects.insert(place(key), repack(&record).as_slice())?),
                    None => drop(objects.remove(place(key))?),
                }
            }
            Ok(())
        })
    }

    /// Writes as much as a large object takes, and takes it back.
    fn probe(&mut self, revision: Revision) -> Result<(), DiskError> {
        self.transact(revision, |transaction| {
            drop(transaction.open_table(PROBE)?.insert(0, vec![0; PROBE_BYTES].as_slice())?);
            Ok(())
        })?;
        self.transact(revision, |transaction| {
            transaction.delete_table(PROBE)?;
            Ok(())
        })
    }

    fn doubt<'a>(&mut self, keys: impl Iterator<Item = &'a Key>, error: DiskError) -> Arc<DiskError> {
        self.doubtful = keys.cloned().collect();
        self.database = None;
        let why = chain(&error);
        if self.failure.is_none() {
            tracing::error!(error = why, "the store's file cannot be written: writes fail until it can");
        }
        self.failure = Some(Failure { why, tried_at: Instant::now() });
        Arc::new(error)
    }

    fn transact(
        &mut self,
        revision: Revision,
        change: impl FnOnce(&WriteTransaction) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let transaction = self.database()?.begin_write()?;
        change(&transaction)?;
        transaction.open_table(META)?.insert(REVISION, revision.0)?;
        transaction.commit()?;
        if let Err(error) = self.witness.note(revision) {
            tracing::warn!(%error, "store.version cannot be written");
        }
        Ok(())
    }

    fn database(&self) -> Result<&Database, DiskError> {
        self.database.as_ref().ok_or_else(|| DiskError::from(redb::Error::PreviousIo))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Err(error) = self.witness.sync() {
            tracing::warn!(%error, "store.version cannot be written");
        }
    }
}

/// Opens the file in the folder. After a crash this is where redb goes back to the last transaction that was whole.
pub(super) fn connect(folder: &Folder) -> Result<Database, DiskError> {
    match folder.holds_database().map_err(DiskError::Reopen)? {
        Some(true) => {}
        Some(false) => return Err(DiskError::Damaged("store.redb is empty".to_owned())),
        None if folder.has_witness() => return Err(DiskError::Damaged("store.redb is missing".to_owned())),
        None => create(folder, begin)?,
    }
    open_file(folder.database().map_err(DiskError::Reopen)?)
}

/// Makes a database that is there as a whole or not at all.
pub(super) fn create(folder: &Folder, fill: impl FnOnce(&Database) -> Result<(), DiskError>) -> Result<(), DiskError> {
    let database = open_file(folder.new_database().map_err(DiskError::Reopen)?)?;
    fill(&database)?;
    drop(database);
    folder.adopt_new_database().map_err(DiskError::Reopen)
}

fn open_file(file: std::fs::File) -> Result<Database, DiskError> {
    Ok(Builder::new().set_cache_size(CACHE_BYTES).create_file(file)?)
}

/// Compares every page with its checksum.
fn check(database: &mut Database) -> Result<(), DiskError> {
    match database.check_integrity() {
        Ok(_) => Ok(()),
        Err(error) => Err(DiskError::Damaged(chain(&error))),
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string);
    let mut said: Vec<String> = Vec::new();
    for text in [error.to_string()].into_iter().chain(causes) {
        if !said.iter().any(|known| known.contains(&text)) {
            said.push(text);
        }
    }
    said.join(": ")
}

/// From checksums without the key to those with it, in one transaction.
fn upgrade_from_1(database: &Database) -> Result<(), DiskError> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        let mut records = Vec::new();
        for entry in objects.range::<Place<'_>>(..)? {
            let (place, packed) = entry?;
            let (cluster, resource, namespace, name) = place.value();
            let key = Key::new(cluster, resource, namespace, name);
            let Some(packed) = upgraded(&key, packed.value()) else {
                return Err(DiskError::Damaged(format!("{key} cannot be read")));
            };
            records.push((key, packed));
        }
        for (key, packed) in &records {
            objects.insert(place(key), packed.as_slice())?;
        }
    }
    transaction.open_table(META)?.insert(FORMAT, CURRENT_FORMAT)?;
    Ok(transaction.commit()?)
}

/// Fills a database with objects that come one after the other, so many in a transaction.
pub(super) fn fill(
    database: &Database,
    mut next: impl FnMut() -> Result<Option<Record>, super::RestoreError>,
    revision: Revision,
) -> Result<(), super::RestoreError> {
    const BATCH: usize = 1_000;
    let write = |records: &[Record]| -> Result<(), DiskError> {
        let transaction = database.begin_write()?;
        for record in records {
            transaction.open_table(OBJECTS)?.insert(place(record.key()), repack(record).as_slice())?;
        }
        transaction.open_table(META)?.insert(REVISION, revision.0)?;
        Ok(transaction.commit()?)
    };
    begin(database)?;
    let mut records = Vec::with_capacity(BATCH);
    while let Some(record) = next()? {
        records.push(record);
        if records.len() == BATCH {
            write(&records)?;
            records.clear();
        }
    }
    Ok(write(&records)?)
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
