//! Losing power: what the disk was not told to keep may be kept, or not, in any mixture. And disks that fail now and then.

use std::{collections::BTreeSet, sync::Mutex};

use proptest::prelude::*;
use redb::{Builder, StorageBackend};
use tempfile::TempDir;

use super::*;
use crate::store::decoded::lock;

/// A disk with a cache that a power loss empties.
#[derive(Clone, Debug, Default)]
struct Cached(Arc<Mutex<Image>>);

#[derive(Debug, Default)]
struct Image {
    safe: Vec<u8>,
    cached: Vec<Operation>,
    seen: Vec<u8>,
    /// Operations that fail, counted from now on.
    faults: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
enum Operation {
    Resize(usize),
    Write(usize, Vec<u8>),
}

impl Operation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Resize(length) => bytes.resize(*length, 0),
            Self::Write(offset, data) => {
                let end = offset + data.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }
}

impl Cached {
    fn cache(&self, operation: Operation) -> io::Result<()> {
        let mut image = lock(&self.0);
        image.fault()?;
        operation.apply(&mut image.seen);
        image.cached.push(operation);
        Ok(())
    }

    /// The disk as it may be found: of what was not synced, what `kept` says.
    fn after_power_loss(&self, kept: &[bool]) -> Self {
        let image = lock(&self.0);
        let mut safe = image.safe.clone();
        let survivors = image.cached.iter().zip(kept.iter().cycle()).filter(|(_, kept)| **kept);
        survivors.for_each(|(operation, _)| operation.apply(&mut safe));
        Self(Arc::new(Mutex::new(Image { seen: safe.clone(), safe, ..Image::default() })))
    }
}

impl Image {
    fn fault(&mut self) -> io::Result<()> {
        let faulty = self.faults.remove(&0);
        self.faults = self.faults.iter().map(|it| it - 1).collect();
        if faulty { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) {
        for operation in std::mem::take(&mut self.cached) {
            operation.apply(&mut self.safe);
        }
    }
}

impl StorageBackend for Cached {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).seen.len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let image = lock(&self.0);
        let from = offset as usize;
        let bytes = image.seen.get(from..from + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.cache(Operation::Resize(len as usize))
    }
    fn sync_data(&self) -> io::Result<()> {
        let mut image = lock(&self.0);
        let outcome = image.fault();
        // A failed sync may have done its work all the same.
        if outcome.is_ok() || image.cached.len().is_multiple_of(2) {
            image.sync();
        }
        outcome
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.cache(Operation::Write(offset as usize, data.to_vec()))
    }
}

fn open(folder: &TempDir, disk: &Cached) -> Store {
    let disk = disk.clone();
    let connect = move |_: &Folder| Ok(Builder::new().create_with_backend(disk.clone())?);
    Store::open_by(folder.path(), Limits::default(), Box::new(connect), Duration::ZERO).unwrap()
}

/// Makes, changes or deletes one of a few objects.
async fn change(store: &Store, number: u64) -> Result<Vec<Record>, WriteError> {
    let name = (number % 7).to_string();
    let value = object(&name, number);
    let write = match store.get(&key(&name)).map(|record| record.revision()) {
        None => Write::create(key(&name), value),
        Some(at) if number.is_multiple_of(3) => Write::delete(key(&name), at),
        Some(at) => Write::replace(key(&name), at, value),
    };
    store.commit(vec![write]).await
}

/// Writes, and pulls the plug at the moment each write is acknowledged.
async fn play(numbers: Vec<u64>, kept: Vec<bool>) {
    let (folder, disk) = (TempDir::new().unwrap(), Cached::default());
    let store = open(&folder, &disk);
    let mut found = Vec::new();
    for number in numbers {
        change(&store, number).await.unwrap();
        // What says which version was acknowledged is as new as it can be.
        let witness = std::fs::read(folder.path().join("store.version")).unwrap();
        found.push((store.list(&scope(), None, None).unwrap(), disk.after_power_loss(&kept), witness));
    }
    drop(store);
    for (acknowledged, disk, witness) in found {
        std::fs::write(folder.path().join("store.version"), witness).unwrap();
        let store = open(&folder, &disk);
        assert_eq!(store.list(&scope(), None, None).unwrap(), acknowledged);
    }
}

/// Writes to a disk that fails at times, then to one that is well again, and then pulls the plug.
async fn play_with_faults(numbers: Vec<u64>, faults: BTreeSet<u32>, kept: Vec<bool>) {
    let (folder, disk) = (TempDir::new().unwrap(), Cached::default());
    let store = open(&folder, &disk);
    let mut watch = store.watch(scope(), store.revision()).unwrap();
    lock(&disk.0).faults = faults;
    for number in numbers {
        let before = store.list(&scope(), None, None).unwrap();
        match change(&store, number).await {
            Ok(records) => assert_eq!(watch.try_next().unwrap().map(|event| event.record), records.first().cloned()),
            Err(WriteError::Disk(_)) => assert_eq!(store.list(&scope(), None, None).unwrap(), before),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(watch.try_next(), Ok(None));
    }
    lock(&disk.0).faults.clear();
    change(&store, 1_000).await.unwrap();
    let acknowledged = store.list(&scope(), None, None).unwrap();
    let disk = disk.after_power_loss(&kept);
    drop((store, watch));
    assert_eq!(open(&folder, &disk).list(&scope(), None, None).unwrap(), acknowledged);
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn a_power_loss_takes_nothing_that_was_acknowledged(
        numbers in prop::collection::vec(0_u64..1000, 1..12),
        kept in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(play(numbers, kept));
    }

    #[test]
    fn a_write_that_failed_is_never_seen(
        numbers in prop::collection::vec(0_u64..1000, 1..12),
        faults in prop::collection::btree_set(0_u32..150, 0..8),
        kept in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play_with_faults(numbers, faults, kept));
    }
}
