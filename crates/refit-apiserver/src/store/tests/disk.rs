use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicBool, Ordering},
};

use redb::{Builder, Database, StorageBackend, TableDefinition, backends::FileBackend};
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
    transaction.open_table(TableDefinition::<&str, u64>::new("meta")).unwrap().insert("format", 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let message = Store::open(folder.path()).err().unwrap().to_string();
    assert_eq!(message, format!("folder {} has format 2, this program knows 1", folder.path().display()));
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
        Some(OpenError::Damaged { key: named, .. }) => assert_eq!(named, key("a")),
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
    let store = Store::open_by(folder.path(), Limits::default(), Box::new(connect)).unwrap();
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
    assert!(store.is_failing());
    assert!(store.commit(vec![]).await.is_err() && store.is_failing(), "nothing has mended the disk");

    full.store(false, Ordering::SeqCst);
    assert!(store.commit(vec![]).await.is_ok() && !store.is_failing(), "a commit of nothing must mend the store");
    let c = create(&store, "c", 1).await;
    assert_eq!(watch.next().await.unwrap().record, c);
    drop((watch, store));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.list(&scope(), None, None).unwrap().records, [a, c]);
}
