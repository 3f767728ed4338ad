//! Reads from the cache what the decision about a MachineSet looks at. What it costs follows from the machines of the
//! MachineSet, not from those of others.

use std::collections::BTreeMap;
use std::sync::Arc;

use refit_api::cluster::{Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineSet};
use refit_api::contract::kind_from_template;
use refit_api::hooks::RawObject;
use refit_api::selector::Selector;
use refit_api::vocabulary::labels;
use refit_plan::coverage::{Accepted, Coverage, MachineSetObjects, Question, QuestionError};
use refit_plan::machine_deployment::decide::{Ask, answer_key};
use refit_plan::machine_set::orphans::ProviderObjects;
use refit_plan::machine_set::reconcile::{CREATIONS_PER_PASS, MoveTarget, Observed, ObservedMachine, SetTemplates};
use refit_plan::machine_set::start_move::handover_of;
use refit_plan::reading::{Listed, Read, Unreadable};
use serde_json::Value;

use super::memory::Memory;
use crate::cache::{BY_ORPHANED, BY_OWNER, Cache, ObjectKey, namespaced};
use crate::context::Context;
use crate::providers::Kinds;

/// What the decision looks at. Nothing without a Cluster.
pub(super) async fn observe(context: &Context, set: &MachineSet, memory: &Memory) -> Option<Observed> {
    let (cache, namespace) = (&context.cache, set.metadata.namespace.as_deref().unwrap_or_default());
    let cluster = cache.clusters.read(&ObjectKey::new(namespace, &set.spec.cluster_name)).ok()??;
    // Before the Machines: then the Machine of each that is seen here is seen, too.
    let provider_objects = provider_objects(cache, set).await;
    let control_plane = match &cluster.spec.control_plane_ref {
        Some(reference) => Some(context.read(namespace, reference).await),
        None => None,
    };
    Some(Observed {
        now: context.clock.now(),
        random: (0..CREATIONS_PER_PASS).map(|_| context.chance.number()).collect(),
        deployment: deployment(cache, namespace, set),
        provider_objects,
        machines: machines(cache, set, memory).await,
        templates: templates(context, namespace, set).await,
        control_plane,
        move_target: move_target(context, namespace, set, memory).await,
        cluster: Cluster::clone(&cluster),
        machine_set: set.clone(),
    })
}

/// Asks extensions about the change to the MachineSet that machines move to, or takes what they have said. What is shown of
/// both is what the MachineDeployment shows.
pub(super) async fn ask(context: &Context, observed: &mut Observed) {
    let (set, Some(target)) = (&observed.machine_set, &mut observed.move_target) else { return };
    let Read::Found(to) = &target.machine_set else { return };
    let objects = (context.machine_set_objects(set).await, objects(to, &target.templates));
    let (Some(old), Some(new)) = objects else {
        target.verdict = Some(Accepted::Undecided { answers: Vec::new() });
        return;
    };
    target.verdict = match about(old, new) {
        Ok(ask) => Some(Accepted::from(&answer(context, &ask, set).await)),
        Err(error) => {
            tracing::info!(machine_set = set.metadata.name, %error, "extensions cannot be asked");
            Some(Accepted::Undecided { answers: Vec::new() })
        }
    };
}

/// The question of a MachineDeployment about the same two MachineSets.
fn about(from: MachineSetObjects, to: MachineSetObjects) -> Result<Ask, QuestionError> {
    let key = answer_key(from.clone(), to.clone())?;
    let machine_set = from.machine_set.metadata.name.clone().unwrap_or_default();
    Ok(Ask { machine_set, key, question: Question::about_machine_set(from, to)? })
}

async fn answer(context: &Context, ask: &Ask, set: &MachineSet) -> Coverage {
    if let Some((_, known)) = context.answers.get([&ask.key]).pop_first() {
        return known;
    }
    let namespace = context.namespace(set.metadata.namespace.as_deref().unwrap_or_default());
    context.answers.ask(&context.extensions, ask, &namespace).await
}

fn objects(set: &MachineSet, templates: &SetTemplates) -> Option<MachineSetObjects> {
    let raw = |read: &Read<Value>| match read {
        Read::Found(object) => RawObject::try_from(object.clone()).ok(),
        Read::Missing | Read::Unreadable(_) => None,
    };
    let bootstrap = match &templates.bootstrap {
        Some(read) => Some(raw(read)?),
        None => None,
    };
    Some(MachineSetObjects {
        machine_set: set.clone(),
        infrastructure_machine_template: raw(&templates.infrastructure)?,
        bootstrap_config_template: bootstrap,
    })
}

fn deployment(cache: &Cache, namespace: &str, set: &MachineSet) -> Read<MachineDeployment> {
    let name = set.metadata.labels.as_ref().and_then(|own| own.get(labels::DEPLOYMENT_NAME));
    let Some(name) = name else { return Read::Missing };
    match cache.machine_deployments.read(&ObjectKey::new(namespace, name)) {
        Ok(Some(found)) => Read::Found(found.as_ref().clone()),
        Ok(None) => Read::Missing,
        Err(problem) => Read::Unreadable(problem),
    }
}

async fn provider_objects(cache: &Cache, set: &MachineSet) -> ProviderObjects {
    let (spec, uid) = (&set.spec.template.spec, set.metadata.uid.as_deref().unwrap_or_default());
    let bootstrap = match &spec.bootstrap.config_ref {
        Some(template) => Some(cache.owned(&made_from(template), uid).await),
        None => None,
    };
    ProviderObjects { infrastructure: cache.owned(&made_from(&spec.infrastructure_ref), uid).await, bootstrap }
}

/// The kind of object that is made from a template.
fn made_from(template: &ContractVersionedObjectReference) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference { kind: kind_from_template(&template.kind).to_owned(), ..template.clone() }
}

async fn templates(context: &Context, namespace: &str, set: &MachineSet) -> SetTemplates {
    let spec = &set.spec.template.spec;
    let bootstrap = match &spec.bootstrap.config_ref {
        Some(reference) => Some(context.read(namespace, reference).await),
        None => None,
    };
    SetTemplates { infrastructure: context.read(namespace, &spec.infrastructure_ref).await, bootstrap }
}

async fn move_target(context: &Context, namespace: &str, set: &MachineSet, memory: &Memory) -> Option<MoveTarget> {
    let name = handover_of(set).move_to?;
    let without = |machine_set| {
        let templates = SetTemplates { infrastructure: Read::Missing, bootstrap: None };
        Some(MoveTarget { machine_set, templates, verdict: None, rehearsed: BTreeMap::new() })
    };
    let to = match context.cache.machine_sets.read(&ObjectKey::new(namespace, name)) {
        Ok(Some(to)) => to,
        Ok(None) => return without(Read::Missing),
        Err(problem) => return without(Read::Unreadable(problem)),
    };
    Some(MoveTarget {
        templates: templates(context, namespace, &to).await,
        machine_set: Read::Found(to.as_ref().clone()),
        verdict: None,
        rehearsed: memory.rehearsed(),
    })
}

async fn machines(cache: &Cache, set: &MachineSet, memory: &Memory) -> Listed<ObservedMachine> {
    let selector = match Selector::from_field(Some(&set.spec.selector)) {
        Ok(selector) => selector,
        Err(error) => {
            return Listed::Unreadable(Unreadable { what: "machines".to_owned(), why: error.to_string() });
        }
    };
    if let Some(problem) = cache.doubt_of_machines(set, &selector) {
        return Listed::Unreadable(problem);
    }
    let (mut kinds, is_compared) = (Kinds::new(cache), memory.is_of(set));
    let mut observed = Vec::new();
    for machine in candidates(cache, set) {
        if machine.metadata.labels.as_ref().is_some_and(|labels| selector.matches(labels)) {
            let mut found = observe_machine(&mut kinds, machine).await;
            found.is_synced = is_compared && memory.is_synced(&found);
            observed.push(found);
        }
    }
    Listed::All(observed)
}

/// The Machines of the MachineSet, and those of nobody in its Cluster, by name.
fn candidates(cache: &Cache, set: &MachineSet) -> Vec<Arc<Machine>> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let mut found = cache.machines.by(BY_OWNER, set.metadata.uid.as_deref().unwrap_or_default());
    found.extend(cache.machines.by(BY_ORPHANED, &namespaced(namespace, &set.spec.cluster_name)));
    found.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    found.dedup_by(|a, b| a.metadata.name == b.metadata.name);
    found
}

async fn observe_machine(kinds: &mut Kinds<'_>, machine: Arc<Machine>) -> ObservedMachine {
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let infrastructure = kinds.read(namespace, &machine.spec.infrastructure_ref).await;
    let bootstrap = match &machine.spec.bootstrap.config_ref {
        Some(reference) => Some(kinds.read(namespace, reference).await),
        None => None,
    };
    ObservedMachine { infrastructure, bootstrap, is_synced: false, machine }
}
