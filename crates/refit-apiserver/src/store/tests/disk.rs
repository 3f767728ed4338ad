use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicBool, Ordering},
};

use redb::{Builder, Database, ReadableTable, StorageBackend, TableDefinition, backends::FileBackend};
use tempfile::TempDir;

use super::*;

fn reopen(store: Store, folder: &TempDir) -> Store {
    drop(store);
    Store::open(folder.path()).unwrap()
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (a, b) = (create(&store, "a", 1).await, create(&store, "b", 1).await);
    let a = replace(&store, &a, 2).await;
    let gone = delete(&store, &b).await;
    let store = reopen(store, &folder);
    assert_eq!(store.revision(), gone.revision(), "a deletion counts although nothing is left of it");
    assert_eq!(store.list(&scope(), None, None).unwrap().records, std::slice::from_ref(&a));
    assert_eq!(store.get(&key("a")).unwrap().value(), a.value());
    assert_eq!(store.watch(scope(), a.revision()).err(), Some(WatchEnd::TooOld { oldest: gone.revision() }));
    let mut watch = store.watch(scope(), gone.revision()).unwrap();
    let c = create(&store, "c", 1).await;
    assert!(c.revision() > gone.revision());
    assert_eq!(watch.next().await.unwrap().record, c);
}

#[tokio::test]
async fn a_dropped_cluster_stays_dropped() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    create(&store, "a", 1).await;
    let dropped = store.drop_cluster(CLUSTER).await.unwrap();
    let store = reopen(store, &folder);
    assert_eq!(store.list(&scope(), None, None), Ok(Snapshot { revision: dropped, records: vec![] }));
}

#[tokio::test]
async fn a_folder_serves_one_process_at_a_time() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let message = Store::open(folder.path()).err().unwrap().to_string();
    assert_eq!(message, format!("folder {} is in use by process {}", folder.path().display(), std::process::id()));
    reopen(store, &folder);
}

#[test]
fn a_lock_left_behind_locks_nothing() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("LOCK"), "12345678901234567890").unwrap();
    drop(Store::open(folder.path()).unwrap());
    assert_eq!(fs::read_to_string(folder.path().join("LOCK")).unwrap(), format!("{}\n", std::process::id()));
}

#[test]
fn nobody_else_can_read_the_folder() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("deep/data");
    drop(Store::open(&folder).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("store.redb")), 0o600);
    assert_eq!(mode(&folder.join("LOCK")), 0o600);
    fs::set_permissions(folder.join("store.redb"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(Store::open(&folder).unwrap());
    assert_eq!(mode(&folder.join("store.redb")), 0o600);
}

#[test]
fn a_folder_of_a_newer_program_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let database = Database::open(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TableDefinition::<&str, u64>::new("meta")).unwrap().insert("format", 3).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let message = Store::open(folder.path()).err().unwrap().to_string();
    assert_eq!(message, format!("folder {} has format 3, this program knows 2", folder.path().display()));
}

#[test]
fn a_database_of_another_program_is_refused() {
    let folder = TempDir::new().unwrap();
    let database = Database::create(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TableDefinition::<&str, u64>::new("theirs")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(matches!(Store::open(folder.path()), Err(OpenError::Format { found: 0, .. })));
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("store.redb"), "something else entirely, and long enough for a header ".repeat(100))
        .unwrap();
    assert!(matches!(Store::open(folder.path()), Err(OpenError::Disk { .. })));
}

#[tokio::test]
async fn a_damaged_object_is_named() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    create(&store, "a", 1).await;
    drop(store);
    let database = Database::open(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let objects = TableDefinition::<(&str, &str, &str, &str), &[u8]>::new("objects");
    let place = (CLUSTER, RESOURCE, "default", "a");
    transaction.open_table(objects).unwrap().insert(place, b"rubbish".as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);
    match Store::open(folder.path()).err() {
        Some(OpenError::Damaged { problem, .. }) => assert_eq!(problem, format!("{} cannot be read", key("a"))),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn deleted_data_leaves_the_file() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    };
    let text: String = (0..64_000).map(|_| noise()).collect();
    let writes = (0..12).map(|n| Write::create(key(&n.to_string()), json!(text[n..])));
    let records = store.commit(writes.collect()).await.unwrap();
    let writes = records.iter().map(|record| Write::delete(record.key().clone(), record.revision()));
    store.commit(writes.collect()).await.unwrap();
    let size = || fs::metadata(folder.path().join("store.redb")).unwrap().len();
    let full = size();
    reopen(store, &folder);
    assert!(size() < full / 4, "{} of {full} bytes are left", size());
}

/// A disk that can be told to fail.
#[derive(Debug)]
struct Faulty(FileBackend, Arc<AtomicBool>);

impl Faulty {
    fn fail(&self) -> io::Result<()> {
        if self.1.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for Faulty {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.fail()?;
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.fail()?;
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.fail()?;
        self.0.write(offset, data)
    }
}

#[tokio::test]
async fn a_full_disk_fails_the_write_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let full = Arc::new(AtomicBool::new(false));
    let switch = full.clone();
    let connect = move |folder: &Folder| {
        let backend = Faulty(FileBackend::new(folder.database().map_err(DiskError::Reopen)?)?, switch.clone());
        Ok(Builder::new().create_with_backend(backend)?)
    };
    let store = Store::open_by(folder.path(), Limits::default(), Box::new(connect), Duration::ZERO).unwrap();
    let a = create(&store, "a", 1).await;
    let mut watch = store.watch(scope(), a.revision()).unwrap();

    full.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let writes = vec![Write::delete(key("a"), a.revision()), Write::create(key("b"), object("b", 1))];
        assert!(matches!(store.commit(writes).await, Err(WriteError::Disk(_))));
        assert!(matches!(store.drop_cluster(CLUSTER).await, Err(WriteError::Disk(_))));
    }
    assert_eq!(store.list(&scope(), None, None).unwrap().records, std::slice::from_ref(&a));
    assert_eq!(watch.try_next(), Ok(None));
    assert_eq!(store.condition(), Condition::Failing);
    assert!(store.commit(vec![]).await.is_err(), "nothing has mended the disk");
    assert_eq!(store.condition(), Condition::Failing);

    full.store(false, Ordering::SeqCst);
    assert!(store.commit(vec![]).await.is_ok(), "a commit of nothing must mend the store");
    assert_eq!(store.condition(), Condition::Working);
    let c = create(&store, "c", 1).await;
    assert_eq!(watch.next().await.unwrap().record, c);
    drop((watch, store));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.list(&scope(), None, None).unwrap().records, [a, c]);
}

#[test]
fn an_empty_or_missing_file_is_not_taken_for_a_new_one() {
    let folder = TempDir::new().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let file = folder.path().join("store.redb");
    let problem = || match Store::open(folder.path()) {
        Err(OpenError::Damaged { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    fs::write(&file, "").unwrap();
    assert_eq!(problem(), "store.redb is empty");
    fs::remove_file(&file).unwrap();
    assert_eq!(problem(), "store.redb is missing");
    assert!(!file.exists(), "a refusal must not begin a store");
}

#[tokio::test]
async fn an_older_file_put_into_the_folder_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.redb");
    let store = Store::open(folder.path()).unwrap();
    create(&store, "a", 1).await;
    drop(store);
    let older = fs::read(&file).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let b = create(&store, "b", 1).await;
    drop(store);
    fs::write(&file, older).unwrap();
    let message = Store::open(folder.path()).err().unwrap().to_string();
    assert!(message.contains(&format!("version {} was acknowledged", b.revision())), "{message}");
    fs::remove_file(folder.path().join("store.version")).unwrap();
    assert!(Store::open(folder.path()).is_ok(), "whoever removes the witness knows what they do");
}

#[tokio::test]
async fn the_first_format_is_brought_up_to_the_current_one() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (a, b) = (create(&store, "a", 1).await, create(&store, "b", 1).await);
    drop(store);
    let file = folder.path().join("store.redb");
    let database = Database::open(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    let objects = TableDefinition::<(&str, &str, &str, &str), &[u8]>::new("objects");
    for name in ["a", "b"] {
        // The checksum as it was: of what is stored, without the key.
        let place = (CLUSTER, RESOURCE, "default", name);
        let mut table = transaction.open_table(objects).unwrap();
        let mut packed = table.get(place).unwrap().unwrap().value().to_vec();
        let sum = packed::checksum_of(&packed[8..]);
        packed[..8].copy_from_slice(&sum.to_le_bytes());
        table.insert(place, packed.as_slice()).unwrap();
    }
    transaction.open_table(TableDefinition::<&str, u64>::new("meta")).unwrap().insert("format", 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    for _ in 0..2 {
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.list(&scope(), None, None).unwrap().records, [a.clone(), b.clone()]);
    }
}

/// A disk whose next write ends the thread that makes it.
#[derive(Debug)]
struct Deadly(FileBackend, Arc<AtomicBool>);

impl StorageBackend for Deadly {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        assert!(!self.1.load(Ordering::SeqCst), "this ends the thread");
        self.0.write(offset, data)
    }
}

#[tokio::test]
async fn a_store_whose_writer_has_ended_says_so() {
    let folder = TempDir::new().unwrap();
    let deadly = Arc::new(AtomicBool::new(false));
    let switch = deadly.clone();
    let connect = move |folder: &Folder| {
        let backend = Deadly(FileBackend::new(folder.database().map_err(DiskError::Reopen)?)?, switch.clone());
        Ok(Builder::new().create_with_backend(backend)?)
    };
    let store = Store::open_by(folder.path(), Limits::default(), Box::new(connect), Duration::ZERO).unwrap();
    let a = create(&store, "a", 1).await;
    assert_eq!(store.condition(), Condition::Working);
    deadly.store(true, Ordering::SeqCst);
    let write = || store.commit(vec![Write::create(key("b"), object("b", 1))]);
    assert!(matches!(write().await, Err(WriteError::Stopped)));
    assert_eq!(store.condition(), Condition::Stopped);
    assert!(matches!(write().await, Err(WriteError::Stopped)));
    assert_eq!(store.get(&key("a")), Some(a), "reads go on");
    deadly.store(false, Ordering::SeqCst);
}

/// A disk that has room for a little, and not for more: the state in which a server was ready and full in turns.
#[tokio::test]
async fn a_disk_that_only_has_room_for_little_is_not_ready() {
    let folder = TempDir::new().unwrap();
    let room = Arc::new(std::sync::atomic::AtomicU64::new(u64::MAX));
    let bound = room.clone();
    let connect = move |folder: &Folder| {
        let backend = Small(FileBackend::new(folder.database().map_err(DiskError::Reopen)?)?, bound.clone());
        Ok(Builder::new().create_with_backend(backend)?)
    };
    let store = Store::open_by(folder.path(), Limits::default(), Box::new(connect), Duration::ZERO).unwrap();
    create(&store, "a", 1).await;
    room.store(fs::metadata(folder.path().join("store.redb")).unwrap().len() + 64 * 1024, Ordering::SeqCst);
    let noise: String = (0..2_000_000_u64).map(|number| char::from(b'a' + (number * number % 23) as u8)).collect();
    let mut state = 7_u64;
    let mut text = noise;
    while store.commit(vec![Write::create(key(&format!("big{state}")), json!(text))]).await.is_ok() {
        state += 1;
        text.push('x');
        assert!(state < 1_000, "the disk must become full");
    }
    for _ in 0..5 {
        assert!(store.commit(vec![]).await.is_err(), "it must not say that it works");
        assert_eq!(store.condition(), Condition::Failing);
    }
    room.store(u64::MAX, Ordering::SeqCst);
    assert!(store.commit(vec![]).await.is_ok());
    assert_eq!(store.condition(), Condition::Working);
}

/// A disk of a size.
#[derive(Debug)]
struct Small(FileBackend, Arc<std::sync::atomic::AtomicU64>);

impl StorageBackend for Small {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > self.1.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Flips bytes all over a file that a crash left: it is refused, or nothing of it is lost.
#[tokio::test]
async fn a_flipped_byte_loses_nothing_silently() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for number in 0..20 {
        create(&store, &format!("n{number}"), number).await;
    }
    // As a crash leaves it: the file is copied while the store has it open.
    let (file, witness) = (folder.path().join("store.redb"), folder.path().join("store.version"));
    let (whole, noted) = (fs::read(&file).unwrap(), fs::read(&witness).unwrap());
    let expected = store.list(&scope(), None, None).unwrap();
    drop(store);
    let mut refused = 0;
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    for case in 0..120_usize {
        let mut damaged = whole.clone();
        // The header with its two commit slots, and then everywhere.
        let at = if case < 40 { case * 8 % 320 } else { case.wrapping_mul(2_654_435_761) % used };
        damaged[at] ^= 1 << (case % 8);
        fs::write(&file, &damaged).unwrap();
        fs::write(&witness, &noted).unwrap();
        match Store::open(folder.path()) {
            Ok(store) => assert_eq!(store.list(&scope(), None, None).unwrap(), expected, "byte {at}"),
            Err(OpenError::Damaged { .. } | OpenError::Disk { .. } | OpenError::Format { .. }) => refused += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(refused > 5, "{refused} were refused");
}
