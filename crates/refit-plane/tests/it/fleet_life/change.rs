//! What users, and the world, do to a fleet.

use refit_plane::Example;

use crate::dice::Dice;

/// What is wanted otherwise. The rest stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    pub version: Option<&'static str>,
    pub memory: Option<&'static str>,
    /// The script of the bootstrap template.
    pub script: Option<&'static str>,
    /// A label of the machines.
    pub label: Option<&'static str>,
    pub replicas: Option<usize>,
}

/// One chapter.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// The user wants it, and waits until it is so.
    Want(Want),
    /// He wants something else while the first is being carried out.
    Overtake(Want, Want),
    /// He pauses in the middle of the first, and resumes with the second.
    Pause(Want, Want),
    /// `refit.dev/in-place`.
    Policy(&'static str),
    /// An extension is deleted, the change is wanted, and then the extension is registered again.
    Reinstall(Example, Want),
    /// Nobody works when it is wanted.
    WhileNobodyWorks(Want),
    /// Everybody who works is killed in the middle.
    Kill(Want),
}

const NOTHING: Want = Want { version: None, memory: None, script: None, label: None, replicas: None };
const VERSIONS: [&str; 3] = ["v1.34.1", "v1.34.2", "v1.34.3"];
const MEMORIES: [&str; 4] = ["8Gi", "16Gi", "32Gi", "64Gi"];
const SCRIPTS: [&str; 3] = ["join", "join --quiet", "join --loud"];
const LABELS: [&str; 3] = ["red", "green", "blue"];

const fn version(version: &'static str) -> Want {
    Want { version: Some(version), ..NOTHING }
}

const fn memory(memory: &'static str) -> Want {
    Want { memory: Some(memory), ..NOTHING }
}

const fn both(version: &'static str, memory: &'static str) -> Want {
    Want { version: Some(version), memory: Some(memory), ..NOTHING }
}

const fn replicas(replicas: usize) -> Want {
    Want { replicas: Some(replicas), ..NOTHING }
}

/// Two of the chapters hold two changes of the template each, so that there are more than twenty.
pub const TWENTY_CHANGES: &[Change] = &[
    Change::Want(version("v1.34.2")),
    Change::Want(memory("16Gi")),
    Change::Want(both("v1.34.3", "32Gi")),
    Change::Want(memory("16Gi")),
    Change::Want(Want { label: Some("blue"), ..NOTHING }),
    Change::Want(Want { script: Some("join --quiet"), ..NOTHING }),
    Change::Policy("Prefer"),
    Change::Want(version("v1.34.2")),
    Change::Want(replicas(4)),
    Change::WhileNobodyWorks(memory("64Gi")),
    Change::Want(replicas(3)),
    Change::Reinstall(Example::Memory, memory("8Gi")),
    Change::Policy("Require"),
    Change::Overtake(memory("32Gi"), version("v1.34.3")),
    Change::Pause(memory("16Gi"), both("v1.34.2", "64Gi")),
    Change::Want(Want { script: Some("join --loud"), label: Some("green"), ..both("v1.34.3", "8Gi") }),
    Change::Overtake(memory("16Gi"), memory("8Gi")),
    Change::Kill(version("v1.34.1")),
    Change::Reinstall(Example::Version, version("v1.34.2")),
    Change::Want(Want { replicas: Some(4), ..version("v1.34.3") }),
    Change::Want(replicas(3)),
    Change::Want(both("v1.34.1", "8Gi")),
];

impl Change {
    pub fn random(dice: &mut Dice) -> Self {
        match dice.below(12) {
            0..=3 => Self::Want(Want::random(dice)),
            4..=5 => Self::Overtake(Want::random(dice), Want::random(dice)),
            6..=7 => Self::Pause(Want::random(dice), Want::random(dice)),
            8 => Self::Policy(dice.pick(&["Prefer", "Require"])),
            9 => Self::Reinstall(dice.pick(&Example::ALL), Want::random(dice)),
            10 => Self::WhileNobodyWorks(Want::random(dice)),
            _ => Self::Kill(Want::random(dice)),
        }
    }
}

impl Want {
    fn random(dice: &mut Dice) -> Self {
        let some = |dice: &mut Dice, from: &[&'static str], sides: usize| dice.one_in(sides).then(|| dice.pick(from));
        Self {
            version: some(dice, &VERSIONS, 2),
            memory: some(dice, &MEMORIES, 2),
            script: some(dice, &SCRIPTS, 5),
            label: some(dice, &LABELS, 5),
            replicas: dice.one_in(5).then(|| 2 + dice.below(4)),
        }
    }
}
