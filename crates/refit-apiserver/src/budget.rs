//! What one decision may use up: memory, depth, steps and time, charged before they are taken.
//!
//! All bounds of what a single request can make the server do are here, with their arithmetic. A [`Budget`] goes through
//! parsing, patching, defaults, validation, rules in CEL, paths of printer columns and rendering. Once something was
//! refused, everything is: whoever cannot return an error stops, and the decision is refused at its end.

mod weigh;

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::status::Status;

pub use weigh::{MEMBER_BYTES, OBJECT_BYTES, VALUE_BYTES, Weight, check, weigh};

/// The largest body of a request, as on the real server.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// How deep a value may nest. All that is done to values goes as deep as they do, on stacks of two megabytes: 120 levels
/// of at most 8 KiB each, in builds without optimization, are half of that.
pub const MAX_DEPTH: usize = 120;

/// How deep YAML may nest. Its parser takes several frames a level, together more than 16 KiB in builds without optimization:
/// 120 levels overflow a stack of two megabytes.
pub const MAX_YAML_DEPTH: usize = 64;

/// What the values of one decision take up in memory, added up: 256 MiB.
///
/// A body of 3 MiB that holds nothing but `1,` has a million and a half numbers of 32 bytes: 48 MiB. A patch holds the
/// patch, what it is merged into and the result: three times that are 144 MiB. What is made of tiny objects, which take
/// up two hundred times as much as their text does, is refused at about 400,000 of them.
pub const DECISION_BYTES: u64 = 256 * 1024 * 1024;

/// Steps of one decision: 40 million. A step is one value looked at, or eight bytes of a path or text copied: below 25 ns,
/// so that a decision ends after about a second. Parsing the body of a million and a half numbers takes ten million.
pub const DECISION_STEPS: u64 = 40_000_000;

/// How long one decision may take. Where steps are slower than they should be, on a machine that is busy with other things,
/// this ends it: half of what a request may take.
pub const DECISION_TIME: Duration = Duration::from_secs(30);

/// The budget of decisions that are made where connections are served: half a million steps, which are a hundredth of a
/// second, and 16 MiB. A Machine takes about twenty thousand steps and 100 KiB.
pub const SMALL_STEPS: u64 = 500_000;
const SMALL_BYTES: u64 = 16 * 1024 * 1024;

/// The largest object that is stored, as text, with the `managedFields` that the server adds: four bodies.
pub const MAX_OBJECT_BYTES: usize = 4 * MAX_BODY_BYTES;

/// The largest definition, as text: what etcd takes of one object, which is what kube-apiserver stores at most. The largest one
/// of Cluster API has about 0.5 MiB with all of its descriptions.
pub const MAX_DEFINITION_BYTES: usize = 3 * 512 * 1024;

/// What an object in a definition takes up at most in what is made of it: a node of a schema has half a kilobyte, and its place in
/// the three trees that know it (validation, and the owners of fields in the object and in its status) 40 bytes each. The
/// rest is for the nodes of those maps, which may be half empty.
pub const SCHEMA_NODE_BYTES: usize = 1024;

/// What a byte of a rule in CEL takes up when it is compiled: the shortest expression, `1,` in a list, becomes a node of
/// 120 bytes.
pub const EXPRESSION_BYTES_PER_BYTE: usize = 64;

/// What one definition may hold in memory: 32 MiB, which are thirty thousand nodes. The largest one of Cluster API has about six
/// hundred in each of its versions.
pub const DEFINITION_HELD_BYTES: usize = 32 * 1024 * 1024;

/// What all definitions of a logical cluster may hold: 256 MiB. All of Cluster API's come to less than 10 MiB.
pub const CLUSTER_DEFINITIONS_BYTES: usize = 256 * 1024 * 1024;

/// What the definitions of all logical clusters may hold together: four times as much.
pub const ALL_DEFINITIONS_BYTES: usize = 4 * CLUSTER_DEFINITIONS_BYTES;

/// Of that, what those of logical clusters may hold: three quarters. The rest is for those of the server's own cluster.
pub const DEFINITIONS_BYTES_OF_OTHERS: usize = ALL_DEFINITIONS_BYTES / 4 * 3;

/// Of this many steps one looks at the clock, which costs as much as a few steps.
const STEPS_PER_LOOK: u64 = 4_096;

/// How many decisions are made at the same time, on threads that serve no connections. Together they take up at most
/// 8 × 256 MiB = 2 GiB.
pub const DECISIONS_AT_A_TIME: usize = 8;

/// Of these, how many are made for everybody but administrators: three quarters, as of all that is shared.
pub const DECISIONS_OF_OTHERS: usize = 6;

/// And how many for one user: a third of that. More of theirs wait, and those of others do not wait for them.
pub const DECISIONS_OF_ONE_USER: usize = 2;

/// Lists are made piece by piece: of 64 KiB of the text of objects, or of one larger object, and at most 128 objects. Their values
/// take up at most two hundred times as much as the text does: 13 MiB. What is larger is shown in a turn.
pub const PIECE_BYTES: usize = 64 * 1024;
pub const PIECE_OBJECTS: usize = 128;

/// How long an object may be as YAML or as a row: four times its text and 4 KiB. YAML that would be longer, because of its
/// indentation, is written as JSON, and cells that would are empty.
pub const fn shown_bytes(text: usize) -> usize {
    4 * text + 4 * 1024
}

/// How long a piece may be that is made of so much text. For 64 KiB: 768 KiB.
pub const fn piece_bytes(text: usize) -> usize {
    shown_bytes(text) + PIECE_OBJECTS * shown_bytes(0)
}

/// How many bytes of a path, or items of a list that move up, cost as much as looking at one value.
pub const BYTES_PER_STEP: usize = 8;

/// What is left of what one decision may use up.
#[derive(Debug)]
pub struct Budget {
    bytes: AtomicU64,
    steps: AtomicU64,
    until: Instant,
    /// What was refused first: an [`Exceeded`], or zero.
    refused: AtomicU8,
}

/// What a decision would have needed too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exceeded {
    Bytes = 1,
    Steps,
    Time,
    Depth,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(DECISION_BYTES, DECISION_STEPS, DECISION_TIME)
    }
}

impl Budget {
    pub fn new(bytes: u64, steps: u64, time: Duration) -> Self {
        let (bytes, steps) = (AtomicU64::new(bytes), AtomicU64::new(steps));
        Self { bytes, steps, until: Instant::now() + time, refused: AtomicU8::new(0) }
    }

    /// For a decision that is made on the spot.
    #[must_use]
    pub fn small() -> Self {
        Self::new(SMALL_BYTES, SMALL_STEPS, DECISION_TIME)
    }

    /// For what was judged before, within a budget.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX, u64::MAX, Duration::from_secs(365 * 24 * 60 * 60))
    }

    /// For a part of the decision, which may take so many steps. What it took is charged afterwards.
    #[must_use]
    pub fn part(&self, steps: u64) -> Self {
        let (bytes, steps) = (AtomicU64::new(0), AtomicU64::new(steps));
        Self { bytes, steps, until: self.until, refused: AtomicU8::new(0) }
    }

    /// How many of these steps were taken.
    pub fn steps_taken(&self, of: u64) -> usize {
        usize::try_from(of - self.steps.load(Ordering::Relaxed).min(of)).unwrap_or(usize::MAX)
    }

    /// Takes memory that is about to be allocated.
    pub fn take_bytes(&self, bytes: usize) -> Result<(), Exceeded> {
        self.refusal()?;
        match taken(&self.bytes, bytes as u64) {
            Some(_) => Ok(()),
            None => Err(self.refuse(Exceeded::Bytes)),
        }
    }

    /// Takes steps that are about to be made.
    pub fn take_steps(&self, steps: usize) -> Result<(), Exceeded> {
        self.refusal()?;
        let Some(left) = taken(&self.steps, steps as u64) else { return Err(self.refuse(Exceeded::Steps)) };
        let is_due = left / STEPS_PER_LOOK != (left + steps as u64) / STEPS_PER_LOOK;
        if is_due && Instant::now() > self.until {
            return Err(self.refuse(Exceeded::Time));
        }
        Ok(())
    }

    /// Refuses everything from now on.
    pub fn refuse(&self, why: Exceeded) -> Exceeded {
        let first = self.refused.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
        first.err().and_then(Exceeded::from_number).unwrap_or(why)
    }

    /// What was refused, if anything was.
    pub fn refusal(&self) -> Result<(), Exceeded> {
        Exceeded::from_number(self.refused.load(Ordering::Relaxed)).map_or(Ok(()), Err)
    }
}

/// Takes from a counter. Returns what is left, or `None` where there is too little. One thread takes at a time.
fn taken(counter: &AtomicU64, amount: u64) -> Option<u64> {
    let left = counter.load(Ordering::Relaxed).checked_sub(amount)?;
    counter.store(left, Ordering::Relaxed);
    Some(left)
}

impl Exceeded {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Bytes, Self::Steps, Self::Time, Self::Depth].into_iter().find(|exceeded| *exceeded as u8 == number)
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => f.write_str("it would take up too much memory"),
            Self::Steps => f.write_str("it would take too many steps"),
            Self::Time => f.write_str("it takes too long"),
            Self::Depth => write!(f, "it would nest more than {MAX_DEPTH} levels deep"),
        }
    }
}

impl From<Exceeded> for Status {
    fn from(exceeded: Exceeded) -> Self {
        Self::too_large(exceeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_once_is_refused_from_then_on() {
        let budget = Budget::new(10, 10, Duration::from_secs(60));
        assert_eq!(budget.take_bytes(10), Ok(()));
        assert_eq!(budget.take_bytes(1), Err(Exceeded::Bytes));
        assert_eq!(budget.take_steps(1), Err(Exceeded::Bytes));
        assert_eq!(budget.refusal(), Err(Exceeded::Bytes));
    }

    #[test]
    fn time_counts_where_steps_are_slow() {
        let budget = Budget::new(0, DECISION_STEPS, Duration::ZERO);
        let outcome = (0..2 * STEPS_PER_LOOK).try_for_each(|_| budget.take_steps(1));
        assert_eq!(outcome, Err(Exceeded::Time));
    }
}
