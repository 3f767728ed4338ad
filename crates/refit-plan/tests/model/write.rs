//! The writes of a pass, one request each, and what they do to the API.

use crate::state::{Api, Machine, MachineId, Order, Policy, Set, SetId, Stage};

/// One request, with what must still be so for it to be taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Write {
    /// What a MachineSet is to be. Forced, whatever it is by now.
    Order { set: SetId, order: Order },
    /// A MachineSet that does not exist yet.
    CreateSet { set: SetId, template: u8, order: Order },
    /// The counters of a MachineSet.
    Report {
        set: SetId,
        reported: (u8, u8, u8),
        /// The pass has seen that it is on hold.
        held: bool,
    },
    /// The machine gets another owner and the marks of the move, if it still is as it was read.
    Move { machine: MachineId, as_read: Machine, to: SetId },
    /// The mark of the move goes, and the update begins. Only for the machine that was read, whatever it is by now.
    Begin { machine: MachineId },
    Create {
        set: SetId,
        /// It says of itself that a rollout has made it beyond those wanted.
        scaffolding: bool,
    },
    /// Only the machine that was read, whatever it is by now.
    Delete {
        machine: MachineId,
        /// The policy that was read.
        under: Policy,
    },
    /// The machine is among those wanted by now.
    Unmark { machine: MachineId },
    /// The provider refuses the move, or does not any more.
    NoteRefusal { machine: MachineId, refused: Option<(SetId, bool)> },
}

/// The API server has refused a write: what it was made for is not so any more. It ends the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

impl Write {
    /// What it does, in a word or two.
    pub fn name(&self) -> String {
        match self {
            Self::Order { set, .. } => format!("order ms{set}"),
            Self::CreateSet { set, .. } => format!("create ms{set}"),
            Self::Report { set, .. } => format!("report ms{set}"),
            Self::Move { machine, to, .. } => format!("move m{machine} to ms{to}"),
            Self::Begin { machine } => format!("begin m{machine}"),
            Self::Create { set, .. } => format!("create in ms{set}"),
            Self::Delete { machine, .. } => format!("delete m{machine}"),
            Self::Unmark { machine } => format!("unmark m{machine}"),
            Self::NoteRefusal { machine, refused: Some((to, _)) } => format!("m{machine} cannot move to ms{to}"),
            Self::NoteRefusal { machine, refused: None } => format!("m{machine} can move"),
        }
    }

    pub fn carry_out(&self, api: &mut Api) -> Result<(), Refused> {
        match self {
            Self::Order { set, order } => {
                let set = api.set(*set)?;
                // A new hold has a value of its own, which no earlier report can have.
                set.held = set.held && set.order.hold && order.hold;
                set.order = order.clone();
            }
            Self::CreateSet { set, template, order } => {
                if api.sets.contains_key(set) {
                    return Err(Refused);
                }
                api.sets
                    .insert(*set, Set { template: *template, order: order.clone(), reported: (0, 0, 0), held: false });
            }
            Self::Report { set, reported, held } => {
                let set = api.set(*set)?;
                (set.reported, set.held) = (*reported, *held && set.order.hold);
            }
            Self::Move { machine, as_read, to } => {
                let machine = api.machine(*machine)?;
                if machine != as_read {
                    return Err(Refused);
                }
                *machine = Machine { set: *to, stage: Stage::Moved, refused: None, ..*as_read };
            }
            Self::Begin { machine } => api.machine(*machine)?.stage = Stage::Updating,
            Self::Create { set, scaffolding } => {
                api.last_machine += 1;
                api.machines.insert(api.last_machine, Machine::new(*set, *scaffolding));
            }
            Self::Delete { machine, .. } => api.machine(*machine)?.deleting = true,
            Self::Unmark { machine } => api.machine(*machine)?.scaffolding = false,
            Self::NoteRefusal { machine, refused } => api.machine(*machine)?.refused = *refused,
        }
        Ok(())
    }
}

impl Api {
    fn set(&mut self, set: SetId) -> Result<&mut Set, Refused> {
        self.sets.get_mut(&set).ok_or(Refused)
    }

    fn machine(&mut self, machine: MachineId) -> Result<&mut Machine, Refused> {
        self.machines.get_mut(&machine).ok_or(Refused)
    }
}
