//! Tells the MachineSet's Machines from those of others, and adopts those of nobody.

use std::collections::BTreeMap;
use std::time::Duration;

use super::decision::Task;
use super::draft::Draft;
use super::observed::ObservedMachine;
use super::problem::Problem;
use crate::machine_set::ownership::{Claim, claim};
use crate::reading::Listed;

/// The MachineSet's Machines by name. Nothing if they are not known, or will be others after this pass.
///
/// A MachineSet that is being deleted adopts nothing: it would delete what somebody else has set free.
pub(super) fn machines<'a>(draft: &mut Draft<'a>) -> Option<BTreeMap<&'a str, &'a ObservedMachine>> {
    let listed = match &draft.observed.machines {
        Listed::All(listed) => listed,
        Listed::Unreadable(error) => {
            draft.problem(Problem::Machines(error.clone()));
            return None;
        }
    };
    let mut ours = BTreeMap::new();
    let mut adoptions = Vec::new();
    for found in listed {
        match claim(draft.set(), &found.machine) {
            Ok(Claim::Ours) => {
                ours.insert(found.name(), found);
            }
            Ok(Claim::Adopt(effects)) => adoptions.push(Task::of_machine(&found.machine, effects)),
            Ok(Claim::NotOurs) => {}
            Err(source) => {
                draft.problem(Problem::Claim { machine: found.name().to_owned(), source });
                return None;
            }
        }
    }
    if adoptions.is_empty() || draft.is_deleting() {
        return Some(ours);
    }
    draft.adopts();
    adoptions.into_iter().for_each(|task| draft.task(task));
    draft.requeue(Duration::ZERO);
    None
}
