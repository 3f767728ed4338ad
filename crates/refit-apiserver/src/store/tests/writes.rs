use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
};

use tempfile::TempDir;

use super::*;

fn conflict(result: Result<Vec<Record>, WriteError>) -> Option<Revision> {
    match result {
        Err(WriteError::Conflict { actual, .. }) => actual,
        other => panic!("expected a conflict, got {other:?}"),
    }
}

#[tokio::test]
async fn a_write_with_a_wrong_expectation_changes_nothing() {
    let store = Store::in_memory();
    let a = create(&store, "a", 1).await;
    let before = store.revision();
    let stale = Revision(a.revision().0 - 1);
    for (write, actual) in [
        (Write::create(key("a"), object("a", 2)), Some(a.revision())),
        (Write::replace(key("a"), stale, object("a", 2)), Some(a.revision())),
        (Write::delete(key("a"), stale), Some(a.revision())),
        (Write::replace(key("b"), a.revision(), object("b", 2)), None),
        (Write::delete(key("b"), a.revision()), None),
        (Write::require(key("a"), None), Some(a.revision())),
        (Write::require(key("b"), Some(a.revision())), None),
    ] {
        let commit = vec![Write::create(key("c"), object("c", 1)), write];
        assert_eq!(conflict(store.commit(commit).await), actual);
    }
    assert_eq!(store.revision(), before);
    assert_eq!(names(&store.list(&scope(), None, None).unwrap()), ["a"]);
}

#[tokio::test]
async fn a_required_object_is_left_alone() {
    let store = Store::in_memory();
    let a = create(&store, "a", 1).await;
    let commit = vec![
        Write::require(key("a"), Some(a.revision())),
        Write::require(key("c"), None),
        Write::create(key("b"), object("b", 1)),
    ];
    assert_eq!(store.commit(commit).await.unwrap().len(), 1);
    assert_eq!(store.get(&key("a")), Some(a));
}

#[tokio::test]
async fn the_writes_of_one_commit_build_on_each_other() {
    let store = Store::in_memory();
    let twice = vec![Write::create(key("a"), object("a", 1)), Write::create(key("a"), object("a", 2))];
    assert!(conflict(store.commit(twice).await).is_some());
    assert_eq!(store.get(&key("a")), None);
    let a = create(&store, "a", 1).await;
    let anew = vec![Write::delete(key("a"), a.revision()), Write::create(key("a"), object("a", 2))];
    let records = store.commit(anew).await.unwrap();
    assert_eq!(store.get(&key("a")).as_ref(), records.last());
}

#[tokio::test]
async fn a_deletion_returns_the_last_object_at_a_new_version() {
    let store = Store::in_memory();
    let a = create(&store, "a", 7).await;
    let gone = delete(&store, &a).await;
    assert!(gone.revision() > a.revision());
    assert_eq!(number(&gone), 7);
    assert_eq!(gone.value()["metadata"]["resourceVersion"], gone.revision().to_string());
    assert_eq!(store.get(&key("a")), None);
}

#[tokio::test]
async fn what_could_not_be_read_back_is_refused() {
    let store = Store::in_memory();
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let result = store.commit(vec![Write::create(key("a"), deep)]).await;
    assert!(matches!(result, Err(WriteError::TooDeep { .. })), "{result:?}");
}

#[test]
fn writes_in_memory_never_wait() {
    let store = Store::in_memory();
    let commit = pin!(store.commit(vec![Write::create(key("a"), object("a", 1))]));
    assert!(commit.poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[tokio::test]
async fn a_write_whose_caller_went_away_is_still_made() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut watch = store.watch(scope(), store.revision()).unwrap();
    {
        let commit = pin!(store.commit(vec![Write::create(key("a"), object("a", 1))]));
        let _ = commit.poll(&mut Context::from_waker(Waker::noop()));
    }
    assert_eq!(watch.next().await.unwrap().record.key(), &key("a"));
}

#[tokio::test]
async fn of_two_writes_in_flight_the_second_meets_the_first() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let write = |number| store.commit(vec![Write::create(key("a"), object("a", number))]);
    let (first, second) = tokio::join!(write(1), write(2));
    let first = first.unwrap().remove(0);
    assert_eq!(conflict(second), Some(first.revision()));
    assert_eq!(store.get(&key("a")), Some(first));
}

#[test]
fn writes_of_one_commit_are_seen_together() {
    const ROUNDS: u64 = 2_000;
    let store = Store::in_memory();
    let pair = ["g/a", "g/b"].map(|resource| Key::new(CLUSTER, resource, "", "x"));
    let read = |key: &Key| store.get(key).map_or(0, |record| number(&record));
    std::thread::scope(|threads| {
        threads.spawn(|| (1..=ROUNDS).for_each(|round| write_pair(&store, &pair, round)));
        while read(&pair[1]) < ROUNDS {
            for (one, other) in [(0, 1), (1, 0)] {
                let seen = read(&pair[one]);
                assert!(read(&pair[other]) >= seen, "half of a commit was seen");
            }
            let list = store.list(&Scope::resource(CLUSTER, "g/a"), None, None).unwrap();
            let again = store.list(&Scope::resource(CLUSTER, "g/a"), Some(list.revision), None);
            assert_eq!(again, Ok(list), "a version shows one state");
        }
    });
}

fn write_pair(store: &Store, pair: &[Key], round: u64) {
    let write = |key: &Key| match store.get(key) {
        None => Write::create(key.clone(), object("x", round)),
        Some(old) => Write::replace(key.clone(), old.revision(), object("x", round)),
    };
    let commit = pin!(store.commit(pair.iter().map(write).collect()));
    assert!(commit.poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

/// Everybody adds one to a shared counter, in an optimistic loop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_increment_of_concurrent_writers_is_lost() {
    const WRITERS: u64 = 8;
    const ROUNDS: u64 = 25;
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let start = create(&store, "counter", 0).await.revision();
    let mut watch = store.watch(scope(), start).unwrap();
    let writers: Vec<_> = (0..WRITERS).map(|_| tokio::spawn(increment(store.clone(), ROUNDS))).collect();
    for expected in 1..=WRITERS * ROUNDS {
        assert_eq!(number(&watch.next().await.unwrap().record), expected);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(number(&store.get(&key("counter")).unwrap()), WRITERS * ROUNDS);
}

async fn increment(store: Store, rounds: u64) {
    for _ in 0..rounds {
        loop {
            let old = store.get(&key("counter")).unwrap();
            let new = object("counter", number(&old) + 1);
            match store.commit(vec![Write::replace(key("counter"), old.revision(), new)]).await {
                Ok(_) => break,
                Err(WriteError::Conflict { actual, .. }) => {
                    // Whoever was first can be read: the next try starts from there.
                    assert!(store.get(&key("counter")).unwrap().revision() >= actual.unwrap());
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[tokio::test]
async fn a_dropped_cluster_is_empty_and_can_begin_anew() {
    let store = Store::in_memory();
    create(&store, "a", 1).await;
    let other = Key::new("other", RESOURCE, "default", "a");
    store.commit(vec![Write::create(other.clone(), object("a", 1))]).await.unwrap();
    let dropped = store.drop_cluster(CLUSTER).await.unwrap();
    assert_eq!(store.get(&key("a")), None);
    assert_eq!(store.list(&scope(), None, None), Ok(Snapshot { revision: dropped, records: vec![] }));
    assert!(store.get(&other).is_some());
    assert_eq!(store.clusters(), ["other".into()]);
    assert!(create(&store, "a", 2).await.revision() > dropped);
}
