//! Real etcd clusters, reached over plain TCP where a port-forward would be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use kube::Client;
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use refit_peers::{EtcdCluster, require_peers};
use refit_workload::etcd::{
    Etcd, EtcdAuthority, EtcdConnector, EtcdError, EtcdStream, EtcdTarget, Membership, connector,
};
use tokio::net::TcpStream;

use crate::certificates::{Authority, now};

const NAMES: [&str; 3] = ["cp-a", "cp-b", "cp-c"];
/// In the certificate of the members beside them.
const LEARNER: &str = "cp-d";

struct World {
    cluster: EtcdCluster,
    authority: Authority,
    client: Client,
}

impl World {
    /// Three members; nothing where there is no Go to build them with.
    async fn start() -> Option<Self> {
        let peers = require_peers()?;
        let authority = Authority::of_cluster_api();
        let tls = authority.tls(&[NAMES[0], NAMES[1], NAMES[2], LEARNER]);
        let cluster = EtcdCluster::start(&peers, &NAMES, &tls);
        let cluster = cluster.unwrap_or_else(|error| panic!("{}", refit_peers::chain(&error)));
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        Some(Self { cluster, authority, client: Client::new(host.service(access::admin()), "default") })
    }

    fn target(&self, nodes: &[&str], authority: EtcdAuthority) -> EtcdTarget {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        let (namespace, name) = ("ns".to_owned(), "demo".to_owned());
        EtcdTarget { client: self.client.clone(), namespace, name, nodes, authority }
    }

    fn connector(&self, names: &[&str]) -> EtcdConnector {
        let ports = names.iter().map(|name| ((*name).to_owned(), self.cluster.port(name))).collect();
        over_tcp(ports)
    }

    async fn connect(&self, nodes: &[&str]) -> Result<Box<dyn Etcd>, EtcdError> {
        self.connect_as(nodes, self.authority.authority()).await
    }

    async fn connect_as(&self, nodes: &[&str], authority: EtcdAuthority) -> Result<Box<dyn Etcd>, EtcdError> {
        self.connector(nodes)(self.target(nodes, authority)).await
    }

    async fn remove(&self, id: u64) -> Result<(), EtcdError> {
        self.connect(&["cp-a"]).await?.remove_member(id).await
    }

    async fn membership(&self, nodes: &[&str]) -> Membership {
        let etcd = self.connect(nodes).await.expect("a member must answer");
        etcd.membership().await.expect("the members must be known")
    }
}

fn over_tcp(ports: BTreeMap<String, u16>) -> EtcdConnector {
    let dialer = move |_, node: String| {
        let port = ports[&node];
        async move { Ok(Box::new(TcpStream::connect(("127.0.0.1", port)).await?) as Box<dyn EtcdStream>) }.boxed()
    };
    connector(Arc::new(dialer), now())
}

fn names(membership: &Membership) -> Vec<&str> {
    let mut names: Vec<_> = membership.members.iter().map(|member| member.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn id_of(membership: &Membership, name: &str) -> u64 {
    let member = membership.members.iter().find(|member| member.name == name);
    member.unwrap_or_else(|| panic!("there must be a member {name}")).id
}

fn name_of(membership: &Membership, id: u64) -> String {
    let member = membership.members.iter().find(|member| member.id == id);
    member.expect("there must be a member of this id").name.clone()
}

/// An error and its causes.
fn words<T>(outcome: Result<T, EtcdError>) -> String {
    refit_peers::chain(&outcome.err().expect("it must fail"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_lead_learn_and_leave() {
    let Some(mut world) = World::start().await else { return };
    let seen = world.membership(&NAMES).await;
    assert_eq!(names(&seen), NAMES);
    assert_eq!(seen.alarms, []);

    let leader = name_of(&seen, seen.leader.expect("somebody must lead"));
    let follower = *NAMES.iter().find(|name| **name != leader).expect("there must be another one");
    let by_follower = world.connect(&[follower]).await.expect("a follower must answer");
    let refused = words(by_follower.move_leader(id_of(&seen, follower)).await);
    assert!(refused.contains("not leader"), "{refused}");
    let by_leader = world.connect(&[&leader]).await.expect("the leader must answer");
    by_leader.move_leader(id_of(&seen, follower)).await.expect("the leadership must move");
    let moved = by_follower.membership().await.expect("the members must be known");
    assert_eq!(moved.leader, Some(id_of(&seen, follower)));

    let alarm = |action: &str| {
        let body = format!(r#"{{"action":"{action}","memberID":"{}","alarm":"NOSPACE"}}"#, id_of(&seen, "cp-b"));
        world.cluster.post("cp-a", "/v3/maintenance/alarm", &body).expect("etcd must take it")
    };
    alarm("ACTIVATE");
    let alarmed = world.membership(&NAMES).await;
    let alarms: Vec<_> = alarmed.alarms.iter().map(|alarm| (alarm.member, alarm.name.as_str())).collect();
    assert_eq!(alarms, [(id_of(&seen, "cp-b"), "NOSPACE")]);
    alarm("DEACTIVATE");
    assert_eq!(world.membership(&NAMES).await.alarms, []);

    world.cluster.add_learner(LEARNER).expect("a learner must start");
    let only = words(world.connect(&[LEARNER]).await);
    assert!(only.contains("cp-d: its member is a learner"), "{only}");
    let learning = world.membership(&[LEARNER, "cp-a"]).await;
    let learners: Vec<_> = learning.members.iter().filter(|member| member.is_learner).collect();
    assert_eq!(learners.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(), [LEARNER]);

    for (gone, left) in [(LEARNER, &NAMES[..]), ("cp-c", &NAMES[..2]), ("cp-b", &NAMES[..1])] {
        let id = id_of(&learning, gone);
        settled(async || world.remove(id).await).await;
        // It may be gone already.
        settled(async || world.remove(id).await).await;
        assert_eq!(names(&settled(async || world.connect(&["cp-a"]).await?.membership().await).await), left);
    }
    let id = id_of(&learning, "cp-a");
    let last = words(world.remove(id).await);
    assert_eq!(last, format!("member {id:x} is not removed: it is the last one that votes"));
    assert_eq!(names(&world.membership(&["cp-a"]).await), ["cp-a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_lost_member_is_passed_over_and_two_are_told_in_time() {
    let Some(mut world) = World::start().await else { return };
    world.cluster.stop("cp-a");
    assert_eq!(names(&world.membership(&NAMES).await), NAMES);

    world.cluster.stop("cp-b");
    let began = Instant::now();
    let outcome = match world.connect(&NAMES).await {
        Ok(etcd) => etcd.membership().await.map(drop),
        Err(error) => Err(error),
    };
    let (words, took) = (words(outcome), began.elapsed());
    assert!(took < Duration::from_secs(90), "{took:?}: {words}");
    // Once the last one has noticed that it is alone, it is not even asked for the members.
    let alone = async || words_of_connect(&world).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !alone().await.contains("cp-c: its member knows of no leader") {
        assert!(Instant::now() < deadline, "{}", alone().await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What comes out once etcd has settled: after each change it elects, and for five seconds it lets no member go.
async fn settled<T>(attempt: impl AsyncFn() -> Result<T, EtcdError>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let words = match attempt().await {
            Ok(outcome) => return outcome,
            Err(error) => refit_peers::chain(&error),
        };
        let is_passing = ["unhealthy cluster", "leader", "timed out"].iter().any(|what| words.contains(what));
        assert!(is_passing && Instant::now() < deadline, "{words}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn words_of_connect(world: &World) -> String {
    world.connect(&NAMES).await.err().map(|error| refit_peers::chain(&error)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_not_trusted_on_either_side() {
    let Some(world) = World::start().await else { return };
    let stranger = Authority::of_a_stranger();
    let untrusted = words(world.connect_as(&["cp-a"], stranger.authority()).await);
    assert!(untrusted.contains("invalid peer certificate"), "{untrusted}");

    // The right certificate with another key: etcd sees that its authority has not signed.
    let forged = EtcdAuthority::new(&world.authority.pem, &stranger.key);
    let refused = words(world.connect_as(&["cp-a"], forged).await);
    assert!(refused.contains("cp-a: "), "{refused}");
    assert!(!refused.contains("invalid peer certificate"), "{refused}");

    // Whoever answers in the place of a Node must have a certificate of its name.
    let ports = BTreeMap::from([("cp-x".to_owned(), world.cluster.port("cp-a"))]);
    let other = over_tcp(ports)(world.target(&["cp-x"], world.authority.authority())).await;
    let misnamed = words(other);
    assert!(misnamed.contains("not valid for name"), "{misnamed}");

    for error in [untrusted, refused, misnamed] {
        assert!(!error.contains("PRIVATE KEY"), "{error}");
    }
    assert!(!format!("{:?}", world.authority.authority()).contains("PRIVATE KEY"));
    assert!(matches!(world.connect(&[]).await, Err(EtcdError::NoNodes)));
}
