//! The state of the model: what is in the API, and what each controller is in the middle of.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use refit_api::policy::InPlacePolicy;
use refit_plan::machine_deployment::Counters;

use crate::ledger::Ledger;
use crate::protocol::Change;
use crate::write::Write;

pub type SetId = u8;
pub type MachineId = u8;

/// All there is, in one state of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub api: Api,
    /// Who is in the middle of a pass, and the writes that it has left. One that is not named here is idle.
    pub passes: BTreeMap<Actor, VecDeque<Write>>,
    /// A cache that does not follow the API, if there is one.
    pub lag: Option<Lag>,
    /// What the user may still do.
    pub changes: Vec<Change>,
    /// How many updates may still fail for good.
    pub failures: u8,
    /// How many more machines may get into trouble: a try of their update fails, and is made again.
    pub troubles: u8,
    pub ledger: Ledger,
}

/// A controller's worker for one object. It runs one pass at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    Deployment,
    MachineSet(SetId),
}

/// A cache that has stopped following the API. All controllers of the process read from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lag {
    pub seen: Late,
    /// Whose own writes are not in the cache: they wait for it.
    pub waiting: BTreeSet<Actor>,
}

/// What a cache holds that does not follow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Late {
    Machines(BTreeMap<MachineId, Machine>),
    /// The MachineDeployment and its MachineSets.
    Sets(Wish, BTreeMap<SetId, Set>),
}

/// What is in the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Api {
    pub wish: Wish,
    pub sets: BTreeMap<SetId, Set>,
    pub machines: BTreeMap<MachineId, Machine>,
    /// The highest number that a machine ever had.
    pub last_machine: MachineId,
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wish {
    pub replicas: u8,
    pub template: u8,
    pub paused: bool,
    pub on_delete: bool,
    pub policy: Policy,
    /// What extensions say to a change.
    pub answer: Answer,
}

/// What a rollout may do to machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Policy {
    /// `Prefer` without keep-originals.
    Upstream,
    /// `Prefer` with keep-originals.
    Keep,
    Require,
    Never,
}

/// What extensions say to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    Covered,
    Uncovered,
    /// One of them is away, or a template is gone.
    Undecided,
}

impl Policy {
    pub fn in_place(self) -> InPlacePolicy {
        match self {
            Self::Upstream | Self::Keep => InPlacePolicy::Prefer,
            Self::Require => InPlacePolicy::Require,
            Self::Never => InPlacePolicy::Never,
        }
    }

    /// Whether machines that were there first stay, as far as they can be updated in place.
    pub fn keeps_originals(self) -> bool {
        matches!(self, Self::Keep | Self::Require)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Set {
    pub template: u8,
    pub order: Order,
    /// What it last reported: machines, available ones, those of the wanted template.
    pub reported: (u8, u8, u8),
    /// It has reported that it is on hold, since it was put on hold last.
    pub held: bool,
}

/// What the MachineDeployment writes on a MachineSet, in one request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order {
    pub replicas: u8,
    pub max_replicas: u8,
    /// How many machines the user wants.
    pub desired: u8,
    pub surge: bool,
    pub scaled_down: u8,
    pub replaced: u8,
    pub keep_at_least: u8,
    pub creates_none: bool,
    pub move_to: Option<SetId>,
    pub receive_from: BTreeSet<SetId>,
    pub acknowledged: BTreeSet<MachineId>,
    pub scaffolding: Option<Scaffolding>,
    pub hold: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scaffolding {
    Requested,
    Machine(MachineId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Machine {
    pub set: SetId,
    pub stage: Stage,
    /// It carries the mark of a machine that a rollout has made beyond those wanted.
    pub scaffolding: bool,
    pub deleting: bool,
    /// What the provider says to any change of it.
    pub provider: Provider,
    /// It carries the mark of a move that was refused: to which MachineSet, and whether for good.
    pub refused: Option<(SetId, bool)>,
}

/// What a provider says to a change of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    Accepts,
    /// It refuses it for the moment.
    Refuses,
    /// Only another host can become what is wanted.
    RefusesForGood,
}

/// How far the update of a machine is, by the marks that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// No update is under way.
    Settled,
    /// It has its new owner and the mark of the move.
    Moved,
    /// The mark is off, and the update runs.
    Updating,
    /// A try has failed, and the next one has not begun. Nobody is at work on it.
    Tried,
    /// The next try runs.
    TriedAgain,
    /// The update has failed for good.
    Failed,
}

impl Api {
    /// One MachineSet of template 1 with all machines, and an empty one of template 2, which is wanted from now on.
    pub fn new(machines: u8, max_surge: u8, policy: Policy) -> Self {
        let (max_replicas, desired) = (machines + max_surge, machines);
        let order = |replicas| Order { replicas, max_replicas, desired, ..Order::default() };
        let old = Set { template: 1, order: order(machines), reported: (machines, machines, 0), held: false };
        let new = Set { template: 2, order: order(0), reported: (0, 0, 0), held: false };
        let machine = Machine::new(1, false);
        Self {
            wish: Wish {
                replicas: machines,
                template: 2,
                paused: false,
                on_delete: false,
                policy,
                answer: Answer::Covered,
            },
            sets: BTreeMap::from([(1, old), (2, new)]),
            machines: (1..=machines).map(|name| (name, machine)).collect(),
            last_machine: machines,
        }
    }

    pub fn total(&self) -> usize {
        self.machines.len()
    }

    /// How many machines do their work and will go on doing it.
    pub fn available(&self) -> usize {
        self.machines.values().filter(|machine| machine.stage == Stage::Settled && !machine.deleting).count()
    }

    pub fn machines_of(&self, set: SetId) -> impl Iterator<Item = (MachineId, &Machine)> {
        self.machines.iter().filter(move |(_, machine)| machine.set == set).map(|(&name, machine)| (name, machine))
    }
}

impl Set {
    pub fn counters(&self) -> Counters {
        let (replicas, available, up_to_date) = self.reported;
        Counters { replicas: replicas.into(), available: available.into(), up_to_date: up_to_date.into() }
    }
}

impl Machine {
    pub fn new(set: SetId, scaffolding: bool) -> Self {
        let (stage, provider) = (Stage::Settled, Provider::Accepts);
        Self { set, stage, scaffolding, deleting: false, provider, refused: None }
    }

    pub fn is_updating(&self) -> bool {
        self.stage != Stage::Settled
    }

    /// An extension is at work on it.
    pub fn is_under_update(&self) -> bool {
        matches!(self.stage, Stage::Updating | Stage::TriedAgain)
    }

    /// Its update is not done, and nobody is at work on it.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Failed | Stage::Tried)
    }

    /// It carries the mark of a move to this MachineSet that was refused for good.
    pub fn must_be_replaced(&self, new: SetId) -> bool {
        !self.is_updating() && self.refused == Some((new, true))
    }
}
