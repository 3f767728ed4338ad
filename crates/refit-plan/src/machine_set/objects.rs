//! The Machines that a MachineSet wants.

use std::collections::BTreeMap;

use refit_api::cluster::{ContractVersionedObjectReference, Machine, MachineSet};
use refit_api::naming::{NameOwner, NameTemplate, RANDOM_ACTION, RandomSuffix, TemplateError, label_value_of};
use refit_api::vocabulary::refit::annotations::SCAFFOLDING;
use refit_api::vocabulary::{finalizers, labels};

use super::clone::CloneError;
use super::start_move::handover_of;
use crate::fleet;
use crate::ownership::{self, NoIdentity};
use crate::reading::NotFound;

/// Why an object cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    #[error(transparent)]
    Owner(#[from] NoIdentity),
    #[error("spec.machineNaming.template cannot be used")]
    NamingTemplate(#[from] TemplateError),
    #[error("spec.machineNaming.template must contain {RANDOM_ACTION}, or all Machines would have one name")]
    NotRandom,
    #[error("Machine {name} has no uid: it was not read from the API")]
    NoUid { name: String },
    #[error("MachineSet {name} has no {what}")]
    Incomplete { name: String, what: &'static str },
    #[error(transparent)]
    Clone(#[from] CloneError),
    #[error(transparent)]
    NotFound(#[from] NotFound),
}

/// The objects of a provider that a Machine refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct References {
    pub infrastructure: ContractVersionedObjectReference,
    /// Nothing where the user brought the bootstrap data.
    pub bootstrap: Option<ContractVersionedObjectReference>,
}

/// The name of a new Machine.
pub fn machine_name(set: &MachineSet, suffix: RandomSuffix) -> Result<String, ObjectError> {
    let template = set.spec.machine_naming.template.as_deref().unwrap_or(NameOwner::MachineSet.default_template());
    if !template.contains(RANDOM_ACTION) {
        return Err(ObjectError::NotRandom);
    }
    let template = NameTemplate::parse(template, NameOwner::MachineSet)?;
    Ok(template.render(&set.spec.cluster_name, name_of(set), suffix))
}

/// A Machine that is to be created.
pub fn new_machine(set: &MachineSet, name: &str, references: References) -> Result<Machine, ObjectError> {
    let mut machine = base(set)?;
    machine.metadata.name = Some(name.to_owned());
    machine.metadata.finalizers = Some(vec![finalizers::MACHINE.to_owned()]);
    machine.spec.infrastructure_ref = references.infrastructure;
    machine.spec.bootstrap.config_ref = references.bootstrap;
    Ok(machine)
}

/// A Machine that is there, with what reaches it without a rollout.
pub fn synced_machine(set: &MachineSet, existing: &Machine) -> Result<Machine, ObjectError> {
    let mut machine = base(set)?;
    let uid = existing.metadata.uid.clone().filter(|uid| !uid.is_empty());
    // With a uid, an apply never creates what was deleted meanwhile.
    machine.metadata.uid = Some(uid.ok_or_else(|| ObjectError::NoUid { name: fleet::name(existing).to_owned() })?);
    machine.metadata.name = existing.metadata.name.clone();
    let mut kept = existing.metadata.finalizers.clone().unwrap_or_default();
    if !kept.iter().any(|finalizer| finalizer == finalizers::MACHINE) {
        kept.push(finalizers::MACHINE.to_owned());
    }
    machine.metadata.finalizers = Some(kept);
    // What is not in the intent of an apply is taken off by it. An earlier version has not marked the Machine, but named it.
    if fleet::is_scaffolding(existing) || handover_of(set).is_scaffolding(fleet::name(existing)) {
        machine.metadata.annotations.get_or_insert_default().insert(SCAFFOLDING.to_owned(), String::new());
    }
    machine.spec.infrastructure_ref = existing.spec.infrastructure_ref.clone();
    machine.spec.bootstrap.config_ref = existing.spec.bootstrap.config_ref.clone();
    machine.spec.version = existing.spec.version.clone();
    machine.spec.failure_domain = existing.spec.failure_domain.clone();
    Ok(machine)
}

/// The labels of the MachineSet's Machines and of what belongs to them.
pub fn labels(set: &MachineSet) -> BTreeMap<String, String> {
    let mut wanted = set.spec.template.metadata.labels.clone();
    wanted.insert(labels::SET_NAME.to_owned(), label_value_of(name_of(set)));
    let deployment = set.metadata.labels.as_ref().and_then(|labels| labels.get(labels::DEPLOYMENT_NAME));
    if let Some(deployment) = deployment {
        wanted.insert(labels::DEPLOYMENT_NAME.to_owned(), deployment.clone());
    }
    wanted
}

/// The annotations of the MachineSet's Machines and of what belongs to them.
pub fn annotations(set: &MachineSet) -> BTreeMap<String, String> {
    set.spec.template.metadata.annotations.clone()
}

/// The name; nothing for an object that never was in the API.
pub fn name_of(set: &MachineSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

/// What all Machines of the MachineSet have in common.
fn base(set: &MachineSet) -> Result<Machine, ObjectError> {
    let mut machine = Machine { spec: set.spec.template.spec.clone(), ..Machine::default() };
    machine.metadata.namespace = set.metadata.namespace.clone();
    machine.metadata.owner_references = Some(vec![ownership::controller(set)?]);
    machine.metadata.labels = non_empty(labels(set));
    machine.metadata.annotations = non_empty(annotations(set));
    machine.spec.cluster_name = set.spec.cluster_name.clone();
    Ok(machine)
}

/// An empty map is not intended: it would be owned.
pub fn non_empty(map: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(map).filter(|map| !map.is_empty())
}
