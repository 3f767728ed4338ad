//! Machines that the provider does not let become something else, as far as a MachineSet has to do with them.

use super::number::{MachineNumber, SetNumber};
use super::world::{Machine, Provider, World};

/// The machines that the provider lets move, with others in the place of those that it does not; and what is told of those.
pub fn accepted(
    world: &mut World,
    to: SetNumber,
    names: &[String],
    next: &[String],
) -> (Vec<MachineNumber>, Vec<String>) {
    let (mut accepted, mut notes) = (Vec::new(), Vec::new());
    for number in names.iter().chain(next).filter_map(|name| MachineNumber::parse(name)) {
        if accepted.len() == names.len() {
            break;
        }
        let Some(machine) = world.machines.get_mut(&number) else { continue };
        let was = machine.refused;
        machine.note(to);
        match machine.refused {
            None => accepted.push(number),
            is if is == was => {}
            Some((_, true)) => notes.push(format!("{number} stays: the provider refuses the change for good")),
            Some((_, false)) => notes.push(format!("{number} stays: the provider refuses the change for now")),
        }
    }
    (accepted, notes)
}

/// Machines that were refused are tried again, and are what is wanted where nothing is to move.
pub fn look_again(world: &mut World, number: SetNumber) {
    let Some(set) = world.sets.get(&number).filter(|set| set.handover.hold.is_none()) else { return };
    let to = set.handover.move_to.as_deref().and_then(SetNumber::parse);
    let is_wanted = set.template == world.template;
    let machines = world.machines_of_mut(number).map(|(_, machine)| machine);
    for machine in machines.filter(|machine| !machine.deleting && !machine.is_updating()) {
        match to {
            None if is_wanted => machine.refused = None,
            Some(to) if machine.refused.is_some_and(|(refused, _)| refused == to) => machine.note(to),
            None | Some(_) => {}
        }
    }
}

impl World {
    /// Whether only new hosts can become what is wanted: the provider refuses it for good for all machines that are left.
    pub fn is_refused_for_good(&self, set: SetNumber, new: SetNumber) -> bool {
        let mut left = self.machines_of(set).map(|(_, machine)| machine).filter(|machine| !machine.deleting).peekable();
        let is_refused = |machine: &Machine| !machine.is_updating() && machine.refused == Some((new, true));
        left.peek().is_some() && left.all(is_refused)
    }
}

impl Machine {
    fn note(&mut self, to: SetNumber) {
        self.refused = match self.provider {
            Provider::Accepts => None,
            Provider::Refuses { for_good } => Some((to, for_good)),
        };
    }
}
