//! Machines that are missing.

use std::collections::BTreeSet;
use std::time::Duration;

use refit_api::naming::RandomSuffix;
use serde_json::Value;

use super::decision::Task;
use super::draft::Draft;
use super::problem::Problem;
use super::remediation::preflight_of;
use crate::effect::Target;
use crate::machine_set::create::{Purpose, Templates, finish};
use crate::machine_set::objects::{ObjectError, machine_name};
use crate::machine_set::orphans::Unfinished;
use crate::reading::Listed;
use crate::waiting::WaitingOn;

/// How many Machines one pass creates at most: with six writes each it is done in seconds, and a pass that is cut short
/// leaves little behind. The next pass follows at once.
pub const CREATIONS_PER_PASS: usize = 50;

/// When checks that failed are made again.
const PREFLIGHT_RETRY: Duration = Duration::from_secs(15);

/// Creates missing Machines, those first whose creation was interrupted. The last of them are scaffolding, and say so.
pub(super) fn decide(draft: &mut Draft<'_>, missing: usize, scaffolding: usize, unfinished: &[Unfinished]) {
    let templates = match draft.observed.templates.found(draft.set()) {
        Ok(templates) => templates,
        Err(error) => return draft.missing(error),
    };
    let problems: Vec<String> = preflight_of(draft).problems().into_iter().map(str::to_owned).collect();
    if !problems.is_empty() {
        draft.blockers.clone_from(&problems);
        draft.wait(WaitingOn::Preflight { problems });
        return draft.requeue(PREFLIGHT_RETRY);
    }
    let staying = missing.saturating_sub(scaffolding);
    match creations(draft, missing, unfinished).and_then(|creations| create(draft, templates, &creations, staying)) {
        Ok(created) if (1..missing).contains(&created) => draft.requeue(Duration::ZERO),
        Ok(_) => {}
        Err(error) => draft.problem(Problem::Create(error.into())),
    }
}

/// What to create in this pass: what was interrupted, and then new ones under names that nothing has.
fn creations(draft: &Draft<'_>, missing: usize, unfinished: &[Unfinished]) -> Result<Vec<Unfinished>, ObjectError> {
    let limit = missing.min(CREATIONS_PER_PASS);
    let mut creations: Vec<Unfinished> = unfinished.iter().take(limit).cloned().collect();
    let mut taken = taken_names(draft);
    taken.extend(unfinished.iter().map(|unfinished| unfinished.name.clone()));
    for number in &draft.observed.random {
        if creations.len() == limit {
            break;
        }
        let name = machine_name(draft.set(), RandomSuffix::from_random(*number))?;
        if taken.insert(name.clone()) {
            creations.push(Unfinished { name, ..Unfinished::default() });
        }
    }
    Ok(creations)
}

fn create(
    draft: &mut Draft<'_>,
    templates: Templates<'_>,
    creations: &[Unfinished],
    staying: usize,
) -> Result<usize, ObjectError> {
    for (number, creation) in creations.iter().enumerate() {
        let purpose = if number < staying { Purpose::Wanted } else { Purpose::Scaffolding };
        let effects = finish(draft.set(), templates, creation, purpose)?;
        draft.task(Task { about: format!("Machine {}", creation.name), effects });
    }
    Ok(creations.len())
}

/// The names of everything that an apply would change instead of creating it.
fn taken_names(draft: &Draft<'_>) -> BTreeSet<String> {
    let observed = draft.observed;
    let machines = observed.machines.all().unwrap_or_default();
    let mut taken: BTreeSet<String> = machines.iter().map(|found| found.name().to_owned()).collect();
    let objects = &observed.provider_objects;
    let lists: [Option<&Listed<Value>>; 2] = [Some(&objects.infrastructure), objects.bootstrap.as_ref()];
    for list in lists.into_iter().flatten() {
        taken.extend(list.all().unwrap_or_default().iter().map(|object| Target::of_value(object).name));
    }
    taken
}
