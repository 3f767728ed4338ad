//! One kind, known to the whole process.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use kube::Resource;
use refit_plan::reading::Unreadable;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::ObjectKey;
use super::event::{Event, Undecodable};
use super::feed::Feed;
use super::index::Index;
use super::store::{Change, Progress, Store};
use crate::chance::Chance;
use crate::heart::Heart;

/// Who is told of every change. It must not block, and must not subscribe.
pub type Subscriber<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// One kind, known to the whole process. Clones are the same; the watch ends with the last of them.
pub struct Informer<K> {
    shared: Arc<Shared<K>>,
    task: Arc<Task>,
}

struct Shared<K> {
    store: RwLock<Store<K>>,
    /// Locked for as long as a change is told, so that all subscribers are told of all changes in their order.
    audience: Mutex<Audience<K>>,
    /// What the store has seen, after each event was told; nothing before the first list is complete.
    progress: watch::Sender<Option<Progress>>,
    /// Somebody wants a new list.
    renew: Notify,
    /// Of the loop that takes events in and tells subscribers.
    heart: Heart,
}

/// Who is told, and by which watch. One that was ended may have an event in its hands still; it is not told.
struct Audience<K> {
    watch: u64,
    subscribers: Vec<(&'static str, Subscriber<K>)>,
}

/// The watch that goes on, if one does. Ends with its last handle.
#[derive(Default)]
struct Task(Mutex<Option<JoinHandle<()>>>);

impl Task {
    fn replace(&self, task: Option<JoinHandle<()>>) {
        let old = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), task);
        old.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.replace(None);
    }
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), task: Arc::clone(&self.task) }
    }
}

impl<K: Resource + Clone + Debug + Send + Sync + 'static> Informer<K> {
    /// Begins to list and to watch. Must be called inside a tokio runtime.
    pub fn start(feed: Feed<K>, indexes: Vec<Index<K>>, chance: Chance) -> Self {
        let informer = Self::idle(indexes);
        informer.resume(feed, chance);
        informer
    }

    /// Knows nothing, and watches nothing yet.
    pub(super) fn idle(indexes: Vec<Index<K>>) -> Self {
        let shared = Shared {
            store: RwLock::new(Store::new(indexes)),
            audience: Mutex::new(Audience { watch: 0, subscribers: Vec::new() }),
            progress: watch::Sender::new(None),
            renew: Notify::new(),
            heart: Heart::default(),
        };
        Self { shared: Arc::new(shared), task: Arc::default() }
    }

    /// Ends the watch, as the kind is not there any more. All objects are told to be gone. Subscribers stay.
    pub(super) fn pause(&self) {
        self.task.replace(None);
        self.shared.clear();
    }

    /// Begins to list and to watch after [`pause`](Self::pause).
    pub(super) fn resume(&self, feed: Feed<K>, chance: Chance) {
        let (target, watch) = (Arc::clone(&self.shared), self.shared.audience().watch);
        let task = tokio::spawn(async move {
            let (beating, resource) = (target.heart.start(), feed.resource().to_owned());
            feed.run(&chance, beating, &target.renew, |event| target.take(watch, &resource, event)).await;
        });
        self.task.replace(Some(task));
    }

    /// The object of this name.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.store().get(key).cloned()
    }

    /// The object of this name, or why nobody knows what it says now.
    pub fn read(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Unreadable> {
        let store = self.store();
        let problem = store.undecodable_of(key).map(|undecodable| undecodable.unreadable("an object"));
        problem.map_or_else(|| Ok(store.get(key).cloned()), Err)
    }

    /// An object that may be meant and cannot be decoded. `is_meant` is shown what is known of it, and what was known
    /// of it before.
    pub fn doubt(&self, is_meant: impl Fn(&Undecodable, Option<&K>) -> bool) -> Option<Undecodable> {
        let store = self.store();
        let mut all = store.undecodable();
        all.find(|(one, before)| is_meant(one, before.map(|it| &**it))).map(|(one, _)| one.clone())
    }

    /// How many objects cannot be decoded.
    pub fn undecodable(&self) -> usize {
        self.store().undecodable().count()
    }

    /// All objects, in the order of their names.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.store().all().cloned().collect()
    }

    /// The objects that have the value in one of the indexes that the informer was started with.
    pub fn by(&self, index: &'static str, value: &str) -> Vec<Arc<K>> {
        self.store().by(index, value)
    }

    /// Tells the subscriber of every object that there is, and from then on of every change. A second subscriber of the
    /// same name is not taken: whoever comes across a kind again and again subscribes each time.
    pub fn subscribe(&self, name: &'static str, subscriber: Subscriber<K>) {
        let subscribers = &mut self.shared.audience().subscribers;
        if subscribers.iter().any(|(known, _)| *known == name) {
            return;
        }
        let objects = self.all();
        for object in objects {
            subscriber(&Change { old: None, new: Some(object) });
        }
        subscribers.push((name, subscriber));
    }

    /// Whether anybody watches: not while the kind is not there.
    pub(super) fn is_watching(&self) -> bool {
        self.task.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether the first list is complete.
    pub fn is_ready(&self) -> bool {
        self.shared.progress.borrow().is_some()
    }

    /// Waits until the first list is complete, at most for `limit`. Whether it is.
    pub async fn wait_ready(&self, limit: Duration) -> bool {
        self.wait(limit, |_, version| version.is_some()).await
    }

    /// Waits until a write that got this version has been seen, at most for `limit`. Whether it has.
    pub async fn wait_seen(&self, version: u64, limit: Duration) -> bool {
        self.wait(limit, |_, seen| seen.is_some_and(|seen| seen.is_live && seen.version >= version)).await
    }

    /// The same for a write that was answered at a time: a list that was asked for after that has seen it, too, whatever
    /// became of the object and of the versions of the server.
    pub(super) async fn wait_written(&self, version: u64, at: Instant, limit: Duration) -> bool {
        let has_seen = |seen: Progress| (seen.is_live && seen.version >= version) || seen.asked > at;
        self.wait(limit, |_, seen| seen.is_some_and(has_seen)).await
    }

    /// Waits for a list that was asked for after this time, at most for `limit`, and asks for one. Whether there is one.
    pub async fn wait_as_new_as(&self, time: Instant, limit: Duration) -> bool {
        let is_new = |seen: Option<Progress>| seen.is_some_and(|seen| seen.asked > time);
        if !is_new(*self.shared.progress.borrow()) {
            self.shared.renew.notify_one();
        }
        self.wait(limit, |_, seen| is_new(seen)).await
    }

    /// For how long the loop that takes events in has been stuck, if it is.
    pub fn stuck_for(&self) -> Option<Duration> {
        self.shared.heart.stuck_for()
    }

    /// Waits until no object with this uid has the name, at most for `limit`. Whether that is so.
    pub async fn wait_gone(&self, key: &ObjectKey, uid: &str, limit: Duration) -> bool {
        let is_gone = |store: &Store<K>| store.get(key).is_none_or(|known| known.meta().uid.as_deref() != Some(uid));
        self.wait(limit, |store, version| version.is_some() && is_gone(store)).await
    }

    async fn wait(&self, limit: Duration, is_so: impl Fn(&Store<K>, Option<Progress>) -> bool) -> bool {
        let mut progress = self.shared.progress.subscribe();
        let seen = progress.wait_for(|seen| is_so(&self.store(), *seen));
        matches!(timeout(limit, seen).await, Ok(Ok(_)))
    }

    fn store(&self) -> RwLockReadGuard<'_, Store<K>> {
        self.shared.store.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Shared<K> {
    fn audience(&self) -> MutexGuard<'_, Audience<K>> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Resource> Shared<K> {
    fn take(&self, watch: u64, resource: &str, event: Event<K>) {
        let audience = self.audience();
        if audience.watch != watch {
            return;
        }
        let (changes, progress) = {
            let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
            complain(&store, resource, &event);
            let is_listing = matches!(event, Event::Init { .. } | Event::InitApply(_));
            let changes = store.take(event);
            (changes, store.progress().filter(|_| !is_listing))
        };
        audience.tell(&changes);
        if progress.is_some() {
            self.progress.send_replace(progress);
        }
    }

    fn clear(&self) {
        let mut audience = self.audience();
        audience.watch += 1;
        self.progress.send_replace(None);
        let changes = self.store.write().unwrap_or_else(PoisonError::into_inner).clear();
        audience.tell(&changes);
    }
}

impl<K> Audience<K> {
    fn tell(&self, changes: &[Change<K>]) {
        for change in changes {
            self.subscribers.iter().for_each(|(name, subscriber)| tell(name, subscriber, change));
        }
    }
}

/// Says once of each state of an object that it cannot be decoded.
fn complain<K: Resource>(store: &Store<K>, resource: &str, event: &Event<K>) {
    let (Event::Apply(Err(one)) | Event::InitApply(Err(one))) = event else { return };
    if store.undecodable_of(&one.key).is_none_or(|known| known.version != one.version) {
        let (namespace, name, version) = (&one.key.namespace, &one.key.name, &one.version);
        tracing::error!(
            resource,
            namespace,
            name,
            version,
            problem = one.why,
            "the object cannot be decoded: nothing is decided about it, nor about its owners, until it is mended"
        );
    }
}

/// Tells one subscriber. One that panics must not end the watch: everybody else would go on with what they last knew.
fn tell<K>(name: &str, subscriber: &Subscriber<K>, change: &Change<K>) {
    if catch_unwind(AssertUnwindSafe(|| subscriber(change))).is_err() {
        tracing::error!(subscriber = name, "a subscriber panicked, and has missed a change");
    }
}
