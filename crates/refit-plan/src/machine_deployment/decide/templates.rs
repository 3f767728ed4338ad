//! The templates that the MachineDeployment names.

use refit_api::cluster::ContractVersionedObjectReference;

use super::coverage::RETRY;
use super::pass::{New, Pass};
use super::wishes::Wishes;
use super::{Decision, Observed};
use crate::ownership::own_template;
use crate::reading::Read;
use crate::waiting::WaitingOn;

/// The templates belong to the Cluster, and are deleted and moved with it. One that is missing is told in the status.
pub(super) fn own(observed: &Observed<'_>, decision: &mut Decision) {
    for reference in wanted(observed) {
        match observed.template(reference) {
            Read::Found(template) => match own_template(template.as_value(), observed.cluster) {
                Ok(effect) => decision.plan.effects.extend(effect),
                Err(problem) => decision.problems.push(problem.into()),
            },
            Read::Missing => {}
            Read::Unreadable(problem) => decision.problems.push(problem.into()),
        }
    }
}

/// The templates that do not exist, bootstrap first.
pub(super) fn missing<'a>(
    observed: &'a Observed<'_>,
) -> impl Iterator<Item = &'a ContractVersionedObjectReference> + use<'a> {
    wanted(observed).filter(|reference| observed.template(reference).is_missing())
}

/// Says that templates are missing, where machines are to be made from them, or to become what they say. Where all machines
/// are as they should be, nobody misses them.
pub(super) fn wait(pass: &Pass<'_>, wishes: &Wishes, decision: &mut Decision) {
    let wanted = usize::try_from(wishes.view.replicas).unwrap_or_default();
    let count = match &pass.new {
        New::Existing(set) => pass.owned.count_of(set),
        New::ToBeCreated { .. } => 0,
        New::None => return,
    };
    let named = missing(pass.observed).map(|it| format!("{} {}", it.kind, it.name));
    let templates: Vec<String> = named.collect();
    if !templates.is_empty() && count < wanted && !wishes.view.paused {
        // Templates are not watched: whether they are there now is asked for.
        decision.requeue(RETRY);
        decision.plan.waiting_on.push(WaitingOn::TemplateMissing { templates });
    }
}

fn wanted<'a>(observed: &'a Observed<'_>) -> impl Iterator<Item = &'a ContractVersionedObjectReference> + use<'a> {
    let spec = &observed.deployment.spec.template.spec;
    spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref])
}
