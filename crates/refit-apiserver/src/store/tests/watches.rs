use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
};

use super::*;

fn seen(watch: &mut Watch) -> Vec<(EventKind, String, Revision)> {
    let mut events = Vec::new();
    while let Some(event) = watch.try_next().unwrap() {
        events.push((event.kind, event.record.key().name().to_owned(), event.revision()));
    }
    events
}

#[tokio::test]
async fn a_watch_tells_what_happened_in_order() {
    let store = Store::in_memory();
    let mut watch = store.watch(scope(), store.revision()).unwrap();
    let a = create(&store, "a", 1).await;
    let newer = replace(&store, &a, 2).await;
    let gone = delete(&store, &newer).await;
    let expected = [
        Event { kind: EventKind::Added, record: a.clone(), previous: None },
        Event { kind: EventKind::Modified, record: newer.clone(), previous: Some(a) },
        Event { kind: EventKind::Deleted, record: gone, previous: Some(newer) },
    ];
    for event in expected {
        assert_eq!(watch.next().await, Ok(event));
    }
    assert_eq!(watch.try_next(), Ok(None));
}

#[tokio::test]
async fn a_watch_goes_on_where_another_stopped() {
    let store = Store::in_memory();
    let mut first = store.watch(scope(), store.revision()).unwrap();
    create(&store, "a", 1).await;
    let b = create(&store, "b", 1).await;
    first.next().await.unwrap();
    let mut second = store.watch(scope(), first.position()).unwrap();
    assert_eq!(seen(&mut second), [(EventKind::Added, "b".to_owned(), b.revision())]);
}

#[tokio::test]
async fn a_quiet_watch_moves_on_with_the_store() {
    let store = Store::in_memory();
    let mut watch = store.watch(scope().in_namespace("elsewhere"), store.revision()).unwrap();
    create(&store, "a", 1).await;
    store.commit(vec![Write::create(Key::new(CLUSTER, "other", "", "x"), json!({}))]).await.unwrap();
    assert_eq!(watch.try_next(), Ok(None));
    assert_eq!(watch.position(), store.revision());
}

#[tokio::test]
async fn a_waiting_watch_is_woken_by_its_own_resource_only() {
    let store = Store::in_memory();
    let mut watch = store.watch(scope(), store.revision()).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut next = pin!(watch.next());
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    store.commit(vec![Write::create(Key::new(CLUSTER, "other", "", "x"), json!({}))]).await.unwrap();
    assert_eq!(woken.times(), 0);
    create(&store, "a", 1).await;
    assert_eq!(woken.times(), 1);
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicUsize);

impl Woken {
    fn times(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_slow_watch_ends_instead_of_holding_memory() {
    let store = Store::in_memory_with(few(3));
    let start = store.revision();
    let mut slow = store.watch(scope(), start).unwrap();
    for name in ["a", "b", "c"] {
        create(&store, name, 1).await;
    }
    slow.next().await.unwrap();
    create(&store, "d", 1).await;
    assert_eq!(seen(&mut slow).len(), 3, "what it still needs is still there");
    let mut late = store.watch(scope(), Revision(start.0 + 1)).unwrap();
    create(&store, "e", 1).await;
    let oldest = Revision(start.0 + 2);
    assert_eq!(late.next().await, Err(WatchEnd::TooOld { oldest }));
    assert_eq!(store.watch(scope(), start).err(), Some(WatchEnd::TooOld { oldest }));
}

#[tokio::test]
async fn history_is_bounded_in_bytes() {
    let store = Store::in_memory_with(Limits { resource_bytes: 10_000, ..Limits::default() });
    let start = store.revision();
    for name in ["a", "b", "c"] {
        store.commit(vec![Write::create(key(name), json!("x".repeat(4_000)))]).await.unwrap();
    }
    let oldest = Revision(start.0 + 1);
    assert_eq!(store.watch(scope(), start).err(), Some(WatchEnd::TooOld { oldest }));
    assert!(store.watch(scope(), oldest).is_ok());
}

#[tokio::test]
async fn all_resources_share_one_bound() {
    let store = Store::in_memory_with(Limits { total_events: 2, ..Limits::default() });
    let start = store.revision();
    create(&store, "a", 1).await;
    for resource in ["x", "y"] {
        store.commit(vec![Write::create(Key::new(CLUSTER, resource, "", "n"), json!({}))]).await.unwrap();
    }
    assert!(matches!(store.watch(scope(), start), Err(WatchEnd::TooOld { .. })));
    assert!(store.watch(Scope::resource(CLUSTER, "x"), start).is_ok());
}

#[tokio::test]
async fn a_watch_of_a_dropped_cluster_ends() {
    let store = Store::in_memory();
    let start = store.revision();
    create(&store, "a", 1).await;
    let mut watch = store.watch(scope(), start).unwrap();
    let dropped = store.drop_cluster(CLUSTER).await.unwrap();
    assert_eq!(watch.next().await, Err(WatchEnd::Dropped));
    assert_eq!(store.watch(scope(), start).err(), Some(WatchEnd::TooOld { oldest: dropped }));
    assert!(store.watch(scope(), dropped).is_ok());
}

#[tokio::test]
async fn a_watch_from_the_future_is_silent_until_then() {
    let store = Store::in_memory();
    let future = Revision(store.revision().0 + 1);
    let mut watch = store.watch(scope(), future).unwrap();
    create(&store, "a", 1).await;
    assert_eq!(watch.try_next(), Ok(None));
    create(&store, "b", 1).await;
    assert_eq!(watch.next().await.unwrap().record.key(), &key("b"));
}
