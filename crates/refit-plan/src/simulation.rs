//! A rollout played through: the real decisions over a model of everything else, until nothing changes.
//!
//! The model is small and exact, so that a trace can be compared with anyone's. MachineSets are called `ms1`, `ms2`, …
//! and machines `m1`, `m2`, …; whatever goes by name or by age goes by number here. A machine is created available, and
//! gone when its MachineSet deletes it. One that is moved is updated, from the move until the reconcile of its MachineSet
//! after the one that began the update. MachineSets report their counters at the end of their own reconciles, and the
//! MachineDeployment plans with those.

mod deployment;
mod entry;
mod judged;
mod machine_set;
mod number;
mod random;
mod refusals;
mod run;
mod scenario;
mod story;
mod trace;
mod world;

pub use entry::{Answer, Entry, EntryError};
pub use number::{MachineNumber, SetNumber};
pub use run::{MAX_ROUNDS, run};
pub use scenario::{
    InitialMachineSet, MAX_MACHINE_SETS, MAX_REPLICAS, MAX_SCHEDULE, Scenario, ScenarioError, Strategy,
};
pub use story::story;
pub use trace::{Final, Line, Move, SetState, Trace, World as FinalWorld};
