//! What happened, line by line.

use serde::Serialize;

use super::number::{MachineNumber, SetNumber};

/// All that happened, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The world before the first line.
    pub start: World,
    pub lines: Vec<Line>,
    pub last: Final,
    /// Whether the last round has changed nothing.
    pub is_settled: bool,
    /// What the rollout waits for at the end, in words.
    pub waiting_on: Vec<String>,
}

/// One thing that happened, and the world after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The number of the line, from 1.
    pub iteration: usize,
    /// What happened: an entry of the schedule, or the object that was reconciled.
    pub reconcile: String,
    pub machine_sets: Vec<SetState>,
    /// Machines that came.
    pub created: Vec<MachineNumber>,
    /// Machines that went.
    pub deleted: Vec<MachineNumber>,
    pub moved: Vec<Move>,
    /// Why, in words.
    pub notes: Vec<String>,
}

/// A machine that changed its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    pub machine: MachineNumber,
    pub from: SetNumber,
    pub to: SetNumber,
}

/// A MachineSet as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetState {
    pub name: SetNumber,
    pub spec_replicas: i32,
    /// Counters, as the MachineSet has last taken them.
    pub replicas: i32,
    pub available: i32,
    pub up_to_date: i32,
    /// Its machines, as they are.
    pub machines: Vec<MachineNumber>,
    /// Moved and not finished.
    pub updating: Vec<MachineNumber>,
    /// Moved and not yet acknowledged.
    pub pending_acknowledge: Vec<MachineNumber>,
    /// Deleted by the user and still there.
    pub deleting: Vec<MachineNumber>,
    /// Those of `updating` whose update failed for good. Left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<MachineNumber>,
}

/// The end of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Final {
    #[serde(rename = "final")]
    pub world: World,
    /// How many lines there are.
    pub iterations: usize,
    /// Every invariant that was broken, in words.
    pub violations: Vec<String>,
}

/// All MachineSets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    pub machine_sets: Vec<SetState>,
}
