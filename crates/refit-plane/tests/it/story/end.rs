//! How a story ends: nothing is left over, nothing more is written, and nothing was wrong on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types::{AVAILABLE, ROLLING_OUT};
use refit_api::vocabulary::refit::annotations::{
    FAILED_UPDATES, HOLD, KEEP_AT_LEAST, MOVE_REFUSED, REPLACED, SCAFFOLDING, SCALED_DOWN, SURGE, UPDATE_FAILED,
    UPDATE_PLAN, UPDATE_PROGRESS,
};
use refit_provider_sim::kinds::{SimBootstrapConfig, SimCluster, SimMachine};
use tokio::time::{Instant, sleep};

use super::{EVERY, Kind, LIMIT, Story};
use crate::judge::{self, Case};

/// For how long nothing is written when all is done.
const QUIET: Duration = Duration::from_secs(2);
/// What a machine, or a MachineSet, carries only on its way.
const MARKS: [&str; 14] = [
    MOVE_REFUSED,
    UPDATE_IN_PROGRESS,
    PENDING_ACKNOWLEDGE_MOVE,
    PENDING_HOOKS,
    UPDATE_PLAN,
    UPDATE_PROGRESS,
    UPDATE_FAILED,
    FAILED_UPDATES,
    HOLD,
    SCAFFOLDING,
    SURGE,
    SCALED_DOWN,
    REPLACED,
    KEEP_AT_LEAST,
];

/// Kinds that the history does not have.
const UNWATCHED: [&str; 2] = ["Cluster/", "SimCluster/"];

impl Story {
    /// Nothing is left over, nothing more is written, and nothing was wrong.
    pub async fn end(&self) {
        let machines = self.names::<Machine>().await;
        self.until_equal::<SimMachine>(&machines).await;
        self.until_equal::<SimBootstrapConfig>(&machines).await;
        self.rest().await;
    }

    /// The same for machines that have no bootstrap objects.
    pub async fn rest(&self) {
        let machines = self.names::<Machine>().await;
        self.until_nodes(&machines).await;
        self.assert_quiet().await;
        self.until_all_seen().await;
        self.assert_no_marks().await;
        self.assert_told().await;
        self.assert_nothing_wrong();
    }

    /// All that the MachineDeployment made is gone.
    pub async fn until_all_gone(&self) {
        let nothing = BTreeSet::new();
        self.until_equal::<MachineDeployment>(&nothing).await;
        self.until_equal::<MachineSet>(&nothing).await;
        self.until_equal::<Machine>(&nothing).await;
    }

    /// Every write so far was in order.
    pub fn assert_nothing_wrong(&self) {
        let case =
            Case { rules: self.plot.rules(), settled_at: self.settled_at, deleted_by_user: self.record.deleted() };
        let mut wrong = judge::judge(&case, &self.history.entries());
        let exchanged = self.history.nodes().into_iter().filter(|(_, uids)| uids.len() > 1);
        wrong.extend(exchanged.map(|(name, uids)| format!("I5: node {name} was exchanged: {uids:?}")));
        // A server under load may end a watch, and states between are not seen. That alone is nobody's fault.
        let gaps = self.history.gaps();
        if !wrong.is_empty() {
            self.fail(&format!("{wrong:#?} {gaps:#?}"));
        }
        gaps.iter().for_each(|gap| println!("{}: not every state was judged: {gap}", self.name));
    }

    /// The objects of a kind have these names at last. Providers' objects have the names of their Machines.
    async fn until_equal<K: Kind>(&self, names: &BTreeSet<String>) {
        let began = Instant::now();
        while self.names::<K>().await != *names {
            if began.elapsed() > LIMIT {
                self.fail(&format!("{} {:?} are not {names:?}", K::kind(&()), self.names::<K>().await));
            }
            sleep(EVERY).await;
        }
    }

    async fn until_nodes(&self, machines: &BTreeSet<String>) {
        let (nodes, began) = (Api::<Node>::all(self.workload()), Instant::now());
        loop {
            let found = nodes.list(&ListParams::default()).await.expect("it must be listed");
            let found: BTreeSet<String> = found.iter().map(ResourceExt::name_any).collect();
            if found == *machines {
                return;
            }
            if began.elapsed() > LIMIT {
                self.fail(&format!("nodes {found:?} are not {machines:?}"));
            }
            sleep(EVERY).await;
        }
    }

    async fn names<K: Kind>(&self) -> BTreeSet<String> {
        let all = self.api::<K>().list(&ListParams::default()).await.expect("it must be listed");
        all.iter().map(ResourceExt::name_any).collect()
    }

    /// Once all is done, nobody writes. The last counters may still come in first.
    async fn assert_quiet(&self) {
        let began = Instant::now();
        loop {
            let before = self.versions().await;
            sleep(QUIET).await;
            let after = self.versions().await;
            if before == after {
                return;
            }
            if began.elapsed() > LIMIT {
                let news = after.iter().filter(|(key, version)| before.get(*key) != Some(*version));
                self.fail(&format!("it is written on and on: {:?}", news.collect::<Vec<_>>()));
            }
        }
    }

    /// The history has caught up with what there is.
    async fn until_all_seen(&self) {
        let began = Instant::now();
        loop {
            let (mut there, seen) = (self.versions().await, self.history.versions());
            there.retain(|key, _| !UNWATCHED.iter().any(|kind| key.starts_with(kind)));
            if there == seen {
                return;
            }
            if began.elapsed() > LIMIT {
                self.fail(&format!("there is {there:?}, and seen was {seen:?}"));
            }
            sleep(EVERY).await;
        }
    }

    async fn assert_no_marks(&self) {
        let left = [self.marked::<MachineSet>().await, self.marked::<Machine>().await].concat();
        if !left.is_empty() {
            self.fail(&format!("marks are left on {left:?}"));
        }
    }

    /// The MachineDeployment says that all is well, and no rollout is open.
    async fn assert_told(&self) {
        let picture = self.look().await;
        let Some(deployment) = &picture.machine_deployment else { return };
        let is = |type_: &str| deployment.status.conditions.iter().any(|it| it.type_ == type_ && it.status == "True");
        let open: Vec<_> = picture.rollouts.iter().filter(|rollout| rollout.status.completion_time.is_none()).collect();
        if !is(AVAILABLE) || is(ROLLING_OUT) || !open.is_empty() {
            let machine_sets = self.api::<MachineSet>().list(&ListParams::default()).await;
            self.fail(&format!("open are {open:#?}\nof {machine_sets:#?}\n{deployment:#?}"));
        }
    }

    /// The objects of a kind that carry a mark.
    async fn marked<K: Kind>(&self) -> Vec<String> {
        let all = self.api::<K>().list(&ListParams::default()).await.expect("it must be listed");
        let is_marked = |it: &&K| MARKS.iter().any(|mark| it.annotations().contains_key(*mark));
        all.iter().filter(is_marked).map(ResourceExt::name_any).collect()
    }

    async fn versions(&self) -> BTreeMap<String, u64> {
        let mut versions = BTreeMap::new();
        self.add_versions::<MachineDeployment>(&mut versions).await;
        self.add_versions::<MachineSet>(&mut versions).await;
        self.add_versions::<Machine>(&mut versions).await;
        self.add_versions::<MachineRollout>(&mut versions).await;
        self.add_versions::<Cluster>(&mut versions).await;
        self.add_versions::<SimCluster>(&mut versions).await;
        self.add_versions::<SimMachine>(&mut versions).await;
        self.add_versions::<SimBootstrapConfig>(&mut versions).await;
        versions
    }

    async fn add_versions<K: Kind>(&self, versions: &mut BTreeMap<String, u64>) {
        let all = self.api::<K>().list(&ListParams::default()).await.expect("it must be listed");
        let version = |it: &K| it.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default();
        versions.extend(all.iter().map(|it| (format!("{}/{}", K::kind(&()), it.name_any()), version(it))));
    }
}
