//! A SimMachine from birth to deletion, and whatever happens on the way.

use proptest::prelude::*;
use refit_api::conditions;
use refit_examples::host::HostChange;

use super::*;
use crate::facts::Reference;
use crate::kinds::SimFailures;
use crate::update::{self, ChangeStep};

const T0: i64 = 1_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(T0 + seconds).expect("a small number must be a timestamp")
}

fn sim(spec: SimMachineSpec) -> SimMachine {
    let mut sim = SimMachine { spec, ..SimMachine::default() };
    sim.metadata.name = Some("a".to_owned());
    sim.metadata.namespace = Some("ns".to_owned());
    sim.metadata.uid = Some("uid-1".to_owned());
    sim.metadata.creation_timestamp = Some(Time(at(0)));
    sim
}

fn owner() -> MachineFacts {
    MachineFacts {
        uid: "machine-1".to_owned(),
        cluster: "demo".to_owned(),
        version: Some("v1.34.0".to_owned()),
        data_secret: Some("a".to_owned()),
        infrastructure: Reference { kind: "SimMachine".to_owned(), name: "a".to_owned() },
        bootstrap: None,
        is_control_plane: false,
    }
}

/// Everything that a SimMachine depends on, and what was made of it.
#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    sim: SimMachine,
    owner: Option<MachineFacts>,
    cluster: ClusterFacts,
    has_workload: bool,
    /// The version that a write must name.
    version: u64,
    /// The Nodes of the workload cluster.
    nodes: Vec<NodeReport>,
    /// What the provider knows of the Node. Lost with the process.
    known: Option<NodeReport>,
    /// What a look has decided, and the version that it saw. There is one look at a time.
    decided: Option<(Step, u64)>,
    is_gone: bool,
}

impl World {
    fn new(spec: SimMachineSpec) -> Self {
        Self {
            now: at(0),
            sim: sim(spec),
            owner: Some(owner()),
            cluster: ClusterFacts { is_provisioned: true, ..ClusterFacts::default() },
            has_workload: true,
            version: 1,
            nodes: Vec::new(),
            known: None,
            decided: None,
            is_gone: false,
        }
    }

    fn decide(&self) -> Step {
        decide(&Observed {
            now: self.now,
            machine: &self.sim,
            owner: self.owner.as_ref(),
            cluster: Some(&self.cluster),
            has_workload: self.has_workload,
            reported: self.known.as_ref(),
        })
    }

    /// Carries out a step that was decided on a version. A write to another version is refused.
    fn act(&mut self, step: Step, version: u64) {
        let is_current = version == self.version && !self.is_gone;
        match step {
            Step::Wait { .. } => return,
            Step::Report(report) => {
                self.nodes.retain(|node| node.name != report.name);
                self.nodes.push((*report).clone());
                self.known = Some(*report);
                return;
            }
            Step::Leave => {
                self.nodes.clear();
                self.known = None;
                if is_current {
                    self.sim.metadata.finalizers = None;
                    self.is_gone = true;
                }
            }
            Step::Claim { provider_id } if is_current => {
                self.sim.metadata.finalizers = Some(vec![MACHINE_FINALIZER.to_owned()]);
                self.sim.spec.provider_id = Some(provider_id);
            }
            Step::SetStatus(status) if is_current => self.sim.status = *status,
            Step::Claim { .. } | Step::SetStatus(_) => return,
        }
        self.version += 1;
    }

    /// Until there is nothing more to do at the moment. Gives the steps.
    fn settle(&mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        while names.len() < 20 && !self.is_gone {
            let step = self.decide();
            names.push(match &step {
                Step::Wait { until: Some(_) } => "wait for the time",
                Step::Wait { until: None } => "wait",
                Step::Claim { .. } => "claim",
                Step::SetStatus(_) => "status",
                Step::Report(_) => "report",
                Step::Leave => "leave",
            });
            let is_over = matches!(step, Step::Wait { .. });
            self.act(step, self.version);
            if is_over {
                break;
            }
        }
        names
    }

    fn ready(&self) -> String {
        let ready = conditions::get(&self.sim.status.conditions, "Ready");
        ready.map(|ready| format!("{} {}", ready.status, ready.reason)).unwrap_or_default()
    }
}

#[test]
fn an_instant_machine_takes_three_writes() {
    let mut world = World::new(SimMachineSpec::default());
    assert_eq!(world.settle(), ["claim", "status", "report", "wait"]);
    assert_eq!(world.ready(), "True Provisioned");
    assert_eq!(world.sim.spec.provider_id.as_deref(), Some("sim://ns/a"));
    assert_eq!(world.settle(), ["wait"]);
}

#[test]
fn what_is_missing_is_waited_for_and_said_after_a_while() {
    type Change = fn(&mut World);
    let cases: [(&str, Change); 4] = [
        ("False WaitingForOwner", |world| world.owner = None),
        ("False WaitingForClusterInfrastructure", |world| world.cluster.is_provisioned = false),
        ("False WaitingForClusterInfrastructure", |world| world.has_workload = false),
        ("False WaitingForBootstrapData", |world| {
            world.owner = Some(MachineFacts { data_secret: None, ..owner() });
        }),
    ];
    for (reason, change) in cases {
        let mut world = World::new(SimMachineSpec::default());
        change(&mut world);
        assert_eq!(world.settle().last(), Some(&"wait for the time"), "{reason}");
        assert_eq!(world.ready(), "");
        world.now = at(10);
        assert_eq!(world.settle().last(), Some(&"wait"));
        assert_eq!((world.ready().as_str(), &world.sim.status.host), (reason, &None));
        assert!(world.nodes.is_empty());
    }
}

#[test]
fn provisioning_takes_its_time_and_fails_as_told() {
    let failures = SimFailures { provisioning: Some(1), ..SimFailures::default() };
    let mut world = World::new(SimMachineSpec { provisioning_seconds: Some(5), failures, ..SimMachineSpec::default() });
    let mut seen = Vec::new();
    for second in [0, 4, 5, 10, 11] {
        world.now = at(second);
        world.settle();
        seen.push((second, world.ready(), world.nodes.len()));
    }
    let expected = [
        (0, "False Provisioning", 0),
        (4, "False Provisioning", 0),
        (5, "False ProvisioningFailed", 0),
        (10, "False ProvisioningFailed", 0),
        (11, "True Provisioned", 1),
    ];
    assert_eq!(seen, expected.map(|(second, ready, nodes)| (second, ready.to_owned(), nodes)));
}

#[test]
fn a_new_spec_alone_changes_neither_host_nor_node() {
    let mut world = World::new(SimMachineSpec::default());
    world.settle();
    let (host, nodes) = (world.sim.status.host.clone(), world.nodes.clone());
    world.sim.spec.memory = Some("64Gi".to_owned());
    world.owner = Some(MachineFacts { version: Some("v1.35.0".to_owned()), ..owner() });
    assert_eq!(world.settle(), ["wait"]);
    assert_eq!((world.sim.status.host, world.nodes), (host, nodes));
}

#[test]
fn a_paused_machine_stays_even_when_it_is_deleted() {
    let mut world = World::new(SimMachineSpec::default());
    world.settle();
    world.cluster.is_paused = true;
    world.sim.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(world.settle(), ["status", "wait"]);
    assert_eq!(world.nodes.len(), 1);
    world.cluster.is_paused = false;
    assert_eq!(world.settle(), ["leave"]);
    assert_eq!(world.nodes.len(), 0);
}

/// Something that happens to a SimMachine, its surroundings or its provider.
#[derive(Debug, Clone, Copy)]
enum Happening {
    /// A look at the world as it is.
    Look,
    /// A look that decides now, and whose write comes with the next look.
    LookSlowly,
    /// The provider ends and starts anew. What it was about to write is not written.
    Restart,
    Time(i64),
    ToggleOwner,
    ToggleSecret,
    ToggleCluster,
    TogglePause,
    Spec(u8),
    Update(u8),
    Delete,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        6 => Just(Happening::Look),
        4 => Just(Happening::LookSlowly),
        1 => Just(Happening::Restart),
        2 => (0..7_i64).prop_map(Happening::Time),
        1 => Just(Happening::ToggleOwner),
        1 => Just(Happening::ToggleSecret),
        1 => Just(Happening::ToggleCluster),
        4 => Just(Happening::TogglePause),
        1 => (0..3_u8).prop_map(Happening::Spec),
        5 => (0..3_u8).prop_map(Happening::Update),
        1 => Just(Happening::Delete),
    ];
    prop::collection::vec(one, 0..80)
}

fn memory(index: u8) -> String {
    format!("{}Gi", 8 << index)
}

impl World {
    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Look | Happening::LookSlowly => {
                let decided = self.decided.take().unwrap_or_else(|| (self.decide(), self.version));
                if matches!(happening, Happening::Look) {
                    self.act(decided.0, decided.1);
                } else {
                    self.decided = Some(decided);
                }
            }
            Happening::Restart => (self.known, self.decided) = (None, None),
            Happening::Time(seconds) => self.now = after(self.now, SignedDuration::from_secs(seconds)),
            Happening::ToggleOwner => self.owner = if self.owner.is_some() { None } else { Some(owner()) },
            Happening::ToggleSecret => {
                if let Some(owner) = &mut self.owner {
                    owner.data_secret = if owner.data_secret.is_some() { None } else { Some("a".to_owned()) };
                }
            }
            Happening::ToggleCluster => self.cluster.is_provisioned ^= true,
            Happening::TogglePause => self.cluster.is_paused ^= true,
            Happening::Spec(index) => {
                self.sim.spec.memory = Some(memory(index));
                self.version += 1;
            }
            Happening::Update(index) => self.update(index),
            Happening::Delete => {
                let is_claimed = has_finalizer(&self.sim);
                self.sim.metadata.deletion_timestamp.get_or_insert(Time(self.now));
                self.is_gone |= !is_claimed;
                self.version += 1;
            }
        }
    }

    fn update(&mut self, index: u8) {
        let change = HostChange::Memory(memory(index));
        match update::decide(&self.sim.spec, &self.sim.status, &change, self.now) {
            _ if self.is_gone => {}
            ChangeStep::Write(status) | ChangeStep::Fail(status, _) => {
                self.sim.status = *status;
                self.version += 1;
            }
            ChangeStep::Done => self.refresh(),
            ChangeStep::WaitUntil(_) | ChangeStep::NoHost | ChangeStep::Unreachable => {}
        }
    }
}

impl World {
    /// What an update does to a Node that is there.
    fn refresh(&mut self) {
        if let (Some(node), Some(host)) = (self.nodes.first_mut(), &self.sim.status.host) {
            node.host = host.clone();
            self.known = Some(node.clone());
        }
    }
}

/// Keeps book of all hosts and Nodes that there ever were. Knows nothing of how they come to be.
#[derive(Default)]
struct Judge {
    disks: std::collections::BTreeSet<String>,
}

impl Judge {
    fn look(&mut self, world: &World) -> Result<(), TestCaseError> {
        let host = world.sim.status.host.as_ref();
        self.disks.extend(host.map(|host| host.disk_id.clone()));
        prop_assert!(self.disks.len() <= 1, "two hosts: {:?}", self.disks);
        prop_assert!(self.disks.is_empty() || host.is_some(), "the host was lost");
        prop_assert!(world.nodes.len() <= 1, "two nodes");
        for node in &world.nodes {
            prop_assert_eq!(Some(&node.host.disk_id), self.disks.first(), "a node without its host");
            prop_assert_eq!(node.provider_id.as_str(), "sim://ns/a");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_there_is_one_host_and_one_node(
        happenings in happenings(), takes in 0..4_i32, fails in 0..2_i32,
    ) {
        let failures = SimFailures { provisioning: Some(fails), update: Some(fails), ..SimFailures::default() };
        let spec = SimMachineSpec {
            provisioning_seconds: Some(takes),
            update_seconds: Some(takes),
            failures,
            ..SimMachineSpec::default()
        };
        let (mut world, mut judge) = (World::new(spec), Judge::default());
        for happening in happenings {
            let before = world.sim.status.host.clone();
            world.happen(happening);
            judge.look(&world)?;
            if before.is_some() && !matches!(happening, Happening::Update(_)) {
                prop_assert_eq!(&world.sim.status.host, &before, "only an update changes a host");
            }
        }
        heal(&mut world);
        judge.look(&world)?;
        if world.sim.metadata.deletion_timestamp.is_some() {
            prop_assert!(world.is_gone && world.nodes.is_empty(), "it did not go");
        } else {
            prop_assert_eq!(world.ready(), "True Provisioned");
            prop_assert_eq!(world.nodes.first().map(|node| &node.host), world.sim.status.host.as_ref());
        }
    }
}

/// All that was missing comes, and time goes by.
fn heal(world: &mut World) {
    world.happen(Happening::Look);
    world.owner = Some(owner());
    world.cluster = ClusterFacts { is_provisioned: true, ..ClusterFacts::default() };
    for _ in 0..4 {
        world.settle();
        world.now = after(world.now, SignedDuration::from_secs(60));
    }
    world.settle();
}
