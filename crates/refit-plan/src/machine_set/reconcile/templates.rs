//! The templates of a MachineSet: they belong to the Cluster, and are missed where machines may be made.

use refit_api::cluster::ContractVersionedObjectReference;
use serde_json::Value;

use super::decision::Task;
use super::draft::Draft;
use super::problem::Problem;
use crate::effect::Target;
use crate::machine_set::remediation::Owner;
use crate::ownership::own_template;
use crate::reading::{NotFound, Read};

/// Gives the templates to the Cluster. One that is not there is a problem of a MachineSet that has a future.
pub(super) fn decide(draft: &mut Draft<'_>, owner: &Owner) {
    let (templates, spec) = (&draft.observed.templates, &draft.set().spec.template.spec);
    if let Some(reference) = &spec.bootstrap.config_ref {
        one(draft, owner, reference, templates.bootstrap.as_ref().unwrap_or(&Read::Missing));
    }
    one(draft, owner, &spec.infrastructure_ref, &templates.infrastructure);
}

fn one<'a>(draft: &mut Draft<'a>, owner: &Owner, reference: &'a ContractVersionedObjectReference, read: &Read<Value>) {
    match read.found(|| format!("{} {}", reference.kind, reference.name)) {
        Ok(template) => match own_template(template, &draft.observed.cluster) {
            Ok(effect) => draft.task(Task::of_target(&Target::of_value(template), effect.into_iter().collect())),
            Err(error) => draft.problem(Problem::Identity(error)),
        },
        Err(NotFound::Missing { .. }) if owner.is_outgoing() => draft.missing_templates.push(&reference.kind),
        Err(error) => {
            if matches!(error, NotFound::Missing { .. }) {
                draft.missing_templates.push(&reference.kind);
            }
            draft.problem(Problem::Template(error));
        }
    }
}
