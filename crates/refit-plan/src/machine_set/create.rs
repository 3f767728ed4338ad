//! Creates one Machine and what belongs to it.
//!
//! First the bootstrap configuration, then the host, then the Machine that refers to both. A crash in between leaves
//! objects that only the MachineSet owns; [`orphans`](super::orphans) finds them in the next pass, and they are finished
//! or deleted. So creation stops and goes on at any object, one machine at a time.

use refit_api::cluster::MachineSet;
use refit_api::naming::RandomSuffix;
use refit_api::vocabulary::refit::annotations::SCAFFOLDING;
use refit_api::vocabulary::{events, managers};
use serde_json::{Value, json};

use super::clone::{self, Identity, Template, reference_to};
use super::objects::{ObjectError, References, annotations, labels, machine_name, new_machine};
use super::orphans::Unfinished;
use crate::effect::{Apply, Effect, Event, Target};
use crate::ownership;

/// The templates of a MachineSet, as they were read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Templates<'a> {
    pub infrastructure: &'a Value,
    /// Nothing where the user brought the bootstrap data.
    pub bootstrap: Option<&'a Value>,
}

impl<'a> Templates<'a> {
    /// The template of the host, with the MachineSet's reference to it.
    pub fn infrastructure_of(&self, set: &'a MachineSet) -> Template<'a> {
        Template { reference: &set.spec.template.spec.infrastructure_ref, object: self.infrastructure }
    }

    /// The template of the bootstrap configuration, if the MachineSet refers to one.
    pub fn bootstrap_of(&self, set: &'a MachineSet) -> Result<Option<Template<'a>>, ObjectError> {
        let Some(reference) = &set.spec.template.spec.bootstrap.config_ref else { return Ok(None) };
        let what = "bootstrap template, although it refers to one";
        let object = self
            .bootstrap
            .ok_or_else(|| ObjectError::Incomplete { name: super::objects::name_of(set).to_owned(), what })?;
        Ok(Some(Template { reference, object }))
    }
}

/// The writes that create a new Machine.
pub fn create(set: &MachineSet, templates: Templates<'_>, suffix: RandomSuffix) -> Result<Vec<Effect>, ObjectError> {
    let name = machine_name(set, suffix)?;
    finish(set, templates, &Unfinished { name, ..Unfinished::default() }, Purpose::Wanted)
}

/// What a Machine is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The user wants as many.
    Wanted,
    /// It is beyond those that the user wants, for a rollout. The Machine says so from its first moment: no other write
    /// could be lost or come too late.
    Scaffolding,
}

/// The writes that are still missing of a creation that was interrupted.
pub fn finish(
    set: &MachineSet,
    templates: Templates<'_>,
    unfinished: &Unfinished,
    purpose: Purpose,
) -> Result<Vec<Effect>, ObjectError> {
    let owner = ownership::owner(set)?;
    let (labels, annotations) = (labels(set), annotations(set));
    let identity = Identity {
        namespace: set.metadata.namespace.as_deref(),
        name: &unfinished.name,
        cluster_name: &set.spec.cluster_name,
        labels: &labels,
        annotations: &annotations,
        owner: &owner,
    };
    let bootstrap = templates.bootstrap_of(set)?.map(|template| clone::new_object(template, &identity)).transpose()?;
    let infrastructure = clone::new_object(templates.infrastructure_of(set), &identity)?;
    let references =
        References { infrastructure: reference_to(&infrastructure), bootstrap: bootstrap.as_ref().map(reference_to) };
    let mut machine = new_machine(set, &unfinished.name, references)?;
    if purpose == Purpose::Scaffolding {
        machine.metadata.annotations.get_or_insert_default().insert(SCAFFOLDING.to_owned(), String::new());
    }

    let missing_bootstrap = bootstrap.filter(|_| !unfinished.has_bootstrap);
    let missing_infrastructure = Some(infrastructure).filter(|_| !unfinished.has_infrastructure);
    let mut effects: Vec<Effect> =
        missing_bootstrap.into_iter().chain(missing_infrastructure).flat_map(|object| created(set, object)).collect();
    effects.push(apply(managers::MACHINE_SET, serde_json::to_value(&machine).expect("a Machine must encode")));
    let message = format!("Created Machine {:?}", unfinished.name);
    effects.push(Effect::Emit(Event::normal(Target::of(set), events::SUCCESSFUL_CREATE, message)));
    Ok(effects)
}

/// Creates an object whole, and makes its labels and annotations the other manager's, too.
///
/// The first manager lets go of them when the object is next synced: `field_ownership::repair`.
fn created(set: &MachineSet, object: Value) -> [Effect; 2] {
    let metadata = metadata_intent(set, &object);
    [apply(managers::MACHINE_SET, object), apply(managers::MACHINE_SET_METADATA, metadata)]
}

/// What the manager of labels and annotations wants of an object.
pub(super) fn metadata_intent(set: &MachineSet, object: &Value) -> Value {
    let mut intent = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {} });
    for name in ["name", "namespace", "uid"] {
        if let Some(value) = object["metadata"].get(name) {
            intent["metadata"][name] = value.clone();
        }
    }
    intent["metadata"]["labels"] = json!(labels(set));
    if let Some(annotations) = super::objects::non_empty(annotations(set)) {
        intent["metadata"]["annotations"] = json!(annotations);
    }
    intent
}

/// Applies an intent; its own metadata says to what.
pub(super) fn apply(manager: &'static str, intent: Value) -> Effect {
    Effect::Apply(Apply { target: Target::of_value(&intent), manager, intent })
}

#[cfg(test)]
mod tests;
