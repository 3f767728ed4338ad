//! Random histories against a store so simple that it is plainly right: it keeps every state there ever was.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const CLUSTERS: [&str; 2] = ["c1", "c2"];
const RESOURCES: [&str; 2] = ["g/a", "g/b"];
const NAMESPACES: [&str; 3] = ["", "n1", "n2"];
const NAMES: [&str; 3] = ["x", "y", "z"];

#[derive(Clone, Debug)]
enum Step {
    /// Each write with the right expectation, or with a wrong one.
    Commit(Vec<(Key, Intent, bool)>),
    DropCluster(&'static str),
    Restart,
}

#[derive(Clone, Copy, Debug)]
enum Intent {
    Put(u64),
    Delete,
    Require,
}

fn keys() -> impl Strategy<Value = Key> {
    let parts = (
        prop::sample::select(&CLUSTERS[..]),
        prop::sample::select(&RESOURCES[..]),
        prop::sample::select(&NAMESPACES[..]),
    );
    (parts, prop::sample::select(&NAMES[..])).prop_map(|((c, r, ns), n)| Key::new(c, r, ns, n))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let intent =
        prop_oneof![5 => any::<u64>().prop_map(Intent::Put), 3 => Just(Intent::Delete), 1 => Just(Intent::Require)];
    let write = (keys(), intent, prop::bool::weighted(0.9));
    let step = prop_oneof![
        40 => prop::collection::vec(write, 1..4).prop_map(Step::Commit),
        1 => prop::sample::select(&CLUSTERS[..]).prop_map(Step::DropCluster),
        2 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..60)
}

type State = BTreeMap<Key, (Revision, Value)>;

/// Every state, and every change that led from one to the next.
struct Model {
    states: Vec<(Revision, State)>,
    changes: Vec<(Revision, EventKind, Key, Option<Revision>)>,
    /// Before this version nobody is promised anything.
    promised_from: Revision,
}

impl Model {
    fn latest(&self) -> &(Revision, State) {
        self.states.last().unwrap()
    }

    fn push(&mut self, state: State) -> Revision {
        let revision = Revision(self.latest().0.0 + 1);
        self.states.push((revision, state));
        revision
    }

    /// The versions that a commit makes, or that it must fail.
    fn commit(&mut self, writes: &[(Key, Intent, Option<Revision>)]) -> Option<Vec<Revision>> {
        let (states, changes) = (self.states.len(), self.changes.len());
        let mut made = Vec::new();
        for (key, intent, expected) in writes {
            if self.latest().1.get(key).map(|(revision, _)| *revision) != *expected {
                self.states.truncate(states);
                self.changes.truncate(changes);
                return None;
            }
            made.extend(self.write(key, *intent));
        }
        Some(made)
    }

    fn write(&mut self, key: &Key, intent: Intent) -> Option<Revision> {
        let mut state = self.latest().1.clone();
        let revision = Revision(self.latest().0.0 + 1);
        let previous = state.get(key).map(|(revision, _)| *revision);
        let kind = match intent {
            Intent::Require => return None,
            Intent::Delete => {
                state.remove(key);
                EventKind::Deleted
            }
            Intent::Put(number) => {
                let mut value = object(key.name(), number);
                value["metadata"]["resourceVersion"] = revision.to_string().into();
                state.insert(key.clone(), (revision, value));
                if previous.is_some() { EventKind::Modified } else { EventKind::Added }
            }
        };
        self.changes.push((revision, kind, key.clone(), previous));
        Some(self.push(state))
    }

    fn drop_cluster(&mut self, cluster: &str) -> Revision {
        let mut state = self.latest().1.clone();
        state.retain(|key, _| key.cluster() != cluster);
        self.promised_from = self.push(state);
        self.promised_from
    }

    fn listed(&self, at: usize, scope: &Scope) -> Vec<(Key, Revision, Value)> {
        let inside = self.states[at].1.iter().filter(|(key, _)| belongs(scope, key));
        inside.map(|(key, (revision, value))| (key.clone(), *revision, value.clone())).collect()
    }

    fn watched(&self, from: Revision, scope: &Scope) -> Vec<(Revision, EventKind, Key, Option<Revision>)> {
        self.changes.iter().filter(|(at, _, key, _)| *at > from && belongs(scope, key)).cloned().collect()
    }

    /// Whether a version is recent enough for the bounds, so that lists and watches from it must work.
    fn must_remember(&self, from: Revision, scope: &Scope, limits: &Limits) -> bool {
        let whole = Scope { namespace: None, ..scope.clone() };
        let all = self.changes.iter().filter(|(at, ..)| *at > from).count();
        let own = self.watched(from, &whole).len();
        from >= self.promised_from && own <= limits.resource_events && all <= limits.total_events
    }
}

fn belongs(scope: &Scope, key: &Key) -> bool {
    (key.cluster(), key.resource()) == (&*scope.cluster, &*scope.resource)
        && scope.namespace.as_deref().is_none_or(|namespace| namespace == key.namespace())
}

fn scopes() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for (cluster, resource) in CLUSTERS.iter().flat_map(|c| RESOURCES.map(|r| (*c, r))) {
        scopes.push(Scope::resource(cluster, resource));
        scopes.extend(NAMESPACES.map(|namespace| Scope::resource(cluster, resource).in_namespace(namespace)));
    }
    scopes
}

fn check_lists(store: &Store, model: &Model, limits: &Limits) {
    for (position, (revision, _)) in model.states.iter().enumerate() {
        for scope in scopes() {
            let Ok(snapshot) = store.list(&scope, Some(*revision), None) else {
                assert!(!model.must_remember(*revision, &scope, limits), "no list of {scope:?} at {revision}");
                continue;
            };
            let found = snapshot.records.iter();
            let found: Vec<_> = found.map(|it| (it.key().clone(), it.revision(), (*it.value()).clone())).collect();
            assert_eq!(found, model.listed(position, &scope), "{scope:?} at {revision}");
        }
    }
}

fn check_watches(store: &Store, model: &Model, limits: &Limits) {
    for (revision, _) in &model.states {
        for scope in scopes() {
            let Ok(mut watch) = store.watch(scope.clone(), *revision) else {
                assert!(!model.must_remember(*revision, &scope, limits), "no watch of {scope:?} from {revision}");
                continue;
            };
            let mut found = Vec::new();
            while let Some(event) = watch.try_next().unwrap() {
                let previous = event.previous.as_ref().map(Record::revision);
                found.push((event.revision(), event.kind, event.record.key().clone(), previous));
            }
            assert_eq!(found, model.watched(*revision, &scope), "{scope:?} from {revision}");
            assert_eq!(watch.position(), model.latest().0);
        }
    }
}

/// A version that no store here gets to.
const NEVER: Revision = Revision(999_999);

fn expect(store: &Store, (key, intent, right): (Key, Intent, bool)) -> (Key, Intent, Option<Revision>) {
    let actual = store.get(&key).map(|record| record.revision());
    let expected = if right { actual } else { actual.xor(Some(NEVER)) };
    match intent {
        Intent::Delete => (key, intent, expected.or(Some(NEVER))),
        Intent::Put(_) | Intent::Require => (key, intent, expected),
    }
}

fn write((key, intent, expected): &(Key, Intent, Option<Revision>)) -> Write {
    match (intent, expected) {
        (Intent::Require, expected) => Write::require(key.clone(), *expected),
        (Intent::Delete, at) => Write::delete(key.clone(), at.unwrap_or(NEVER)),
        (Intent::Put(number), None) => Write::create(key.clone(), object(key.name(), *number)),
        (Intent::Put(number), Some(at)) => Write::replace(key.clone(), *at, object(key.name(), *number)),
    }
}

async fn play(steps: Vec<Step>, limits: Limits, folder: Option<&TempDir>) {
    let open =
        || folder.map_or_else(|| Store::in_memory_with(limits), |it| Store::open_with(it.path(), limits).unwrap());
    let mut store = open();
    let first = (Revision::FIRST, State::new());
    let mut model = Model { states: vec![first], changes: Vec::new(), promised_from: Revision::FIRST };
    for step in steps {
        match step {
            Step::Commit(writes) => {
                let writes: Vec<_> = writes.into_iter().map(|it| expect(&store, it)).collect();
                let result = store.commit(writes.iter().map(write).collect()).await;
                let revisions = result.ok().map(|records| records.iter().map(Record::revision).collect::<Vec<_>>());
                assert_eq!(revisions, model.commit(&writes));
            }
            Step::DropCluster(cluster) => {
                assert_eq!(store.drop_cluster(cluster).await.unwrap(), model.drop_cluster(cluster));
            }
            Step::Restart if folder.is_some() => {
                drop(store);
                store = open();
                model.promised_from = model.latest().0;
            }
            Step::Restart => {}
        }
        assert_eq!(store.revision(), model.latest().0);
    }
    check_lists(&store, &model, &limits);
    check_watches(&store, &model, &limits);
}

fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn in_memory_it_behaves_like_the_simple_store(steps in steps()) {
        run(play(steps, Limits::default(), None));
    }

    #[test]
    fn what_the_bounds_allow_to_forget_is_all_that_is_forgotten(
        steps in steps(),
        resource_events in 0_usize..12,
        total_events in 0_usize..30,
    ) {
        run(play(steps, Limits { resource_events, total_events, ..Limits::default() }, None));
    }
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn on_disk_it_behaves_like_the_simple_store(steps in steps()) {
        run(play(steps, Limits::default(), Some(&TempDir::new().unwrap())));
    }
}
