//! Reads from the cache what the decision about a MachineDeployment looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineSet};
use refit_api::hooks::RawObject;
use refit_api::rollout::MachineRollout;
use refit_api::selector::{Selector, SelectorError};
use refit_plan::coverage::{ContentHash, Coverage, Scope};
use refit_plan::machine_deployment::decide::{MachinesMadeFrom, Observed, Template};
use refit_plan::reading::{Listed, Read, Unreadable};
use refit_plan::waiting::WaitingOn;

use crate::cache::{BY_CLUSTER, BY_OWNER, Cache, ObjectKey, namespaced};
use crate::context::Context;

/// What was seen in one moment. The decision borrows it.
pub(super) struct Snapshot {
    now: Timestamp,
    random: u64,
    sets: Vec<Arc<MachineSet>>,
    machines: Vec<Arc<Machine>>,
    /// Why there is no list of anything.
    unreadable: Option<Unreadable>,
    templates: Vec<Template>,
    made_from: Vec<MachinesMadeFrom>,
    pub answers: BTreeMap<ContentHash, Coverage>,
    told: Vec<WaitingOn>,
    /// Nothing: the API server does not have the kind.
    rollouts: Option<Vec<Arc<MachineRollout>>>,
    /// Who has given them.
    pub registered: Option<ContentHash>,
}

impl Snapshot {
    pub async fn of(context: &Context, deployment: &MachineDeployment) -> Self {
        let cache = &context.cache;
        let (sets, machines, unreadable) = match Selector::from_field(Some(&deployment.spec.selector)) {
            Ok(selector) => {
                let sets = machine_sets(cache, deployment, &selector);
                let machines = machines(cache, &sets, &selector);
                let own: Vec<&MachineSet> = sets.iter().map(|set| &**set).collect();
                let doubt = cache.doubt_of_deployment(deployment, &own, &selector);
                (sets, machines, doubt)
            }
            Err(error) => (Vec::new(), Vec::new(), Some(unreadable(&error))),
        };
        let templates = templates(context, deployment, &sets).await;
        // Before the answers: those of others are forgotten after that has changed.
        let registered = registered(context, deployment);
        Self {
            registered,
            now: context.clock.now(),
            random: context.chance.number(),
            made_from: made_from(context, &sets, &templates).await,
            templates,
            sets,
            machines,
            unreadable,
            answers: context.answers.all(),
            told: context.reasons.of_others(&ObjectKey::of(deployment)),
            rollouts: cache.machine_rollouts.is_ready().then(|| cache.rollouts_of(deployment)),
        }
    }

    /// Borrows what was seen. The MachineRollouts are borrowed one by one, in `rollouts`.
    pub fn observed<'a>(
        &'a self,
        deployment: &'a MachineDeployment,
        cluster: &'a Cluster,
        rollouts: &'a [&'a MachineRollout],
    ) -> Observed<'a> {
        Observed {
            now: self.now,
            random: self.random,
            cluster,
            deployment,
            machine_sets: self.listed(&self.sets),
            machines: self.listed(&self.machines),
            templates: &self.templates,
            made_from: &self.made_from,
            answers: &self.answers,
            told: &self.told,
            rollouts: self.rollouts.is_some().then_some(rollouts),
            registered: self.registered.clone(),
        }
    }

    /// The MachineRollouts that were seen.
    pub fn rollouts(&self) -> Vec<&MachineRollout> {
        self.rollouts.iter().flatten().map(|rollout| &**rollout).collect()
    }

    fn listed<'a, K>(&self, all: &'a [Arc<K>]) -> Listed<&'a K> {
        match &self.unreadable {
            Some(problem) => Listed::Unreadable(problem.clone()),
            None => Listed::All(all.iter().map(|object| &**object).collect()),
        }
    }
}

/// Which extensions are registered for the namespace, if that is known.
pub(super) fn registered(context: &Context, deployment: &MachineDeployment) -> Option<ContentHash> {
    let namespace = context.namespace(deployment.metadata.namespace.as_deref().unwrap_or_default());
    context.extensions.fingerprint(Scope::MachineSet, &namespace).ok()
}

fn unreadable(error: &SelectorError) -> Unreadable {
    Unreadable { what: "machine sets".to_owned(), why: format!("spec.selector: {error}") }
}

/// Those that the MachineDeployment owns, and those of its Cluster that it selects, by name.
fn machine_sets(cache: &Cache, deployment: &MachineDeployment, selector: &Selector) -> Vec<Arc<MachineSet>> {
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let matches = |set: &Arc<MachineSet>| set.metadata.labels.as_ref().is_some_and(|own| selector.matches(own));
    let mut sets = cache.machine_sets.by(BY_OWNER, deployment.metadata.uid.as_deref().unwrap_or_default());
    let in_cluster = cache.machine_sets.by(BY_CLUSTER, &namespaced(namespace, &deployment.spec.cluster_name));
    sets.extend(in_cluster.into_iter().filter(matches));
    by_name(sets)
}

/// The machines of these MachineSets that the selector finds, by name.
fn machines(cache: &Cache, sets: &[Arc<MachineSet>], selector: &Selector) -> Vec<Arc<Machine>> {
    let matches = |machine: &Arc<Machine>| machine.metadata.labels.as_ref().is_some_and(|own| selector.matches(own));
    let owned = |set: &Arc<MachineSet>| cache.machines.by(BY_OWNER, set.metadata.uid.as_deref().unwrap_or_default());
    by_name(sets.iter().flat_map(owned).filter(matches).collect())
}

fn by_name<K: kube::Resource>(mut objects: Vec<Arc<K>>) -> Vec<Arc<K>> {
    objects.sort_by(|a, b| a.meta().name.cmp(&b.meta().name));
    objects.dedup_by(|a, b| a.meta().name == b.meta().name);
    objects
}

/// What the MachineDeployment and its MachineSets refer to as their templates, each once.
async fn templates(context: &Context, deployment: &MachineDeployment, sets: &[Arc<MachineSet>]) -> Vec<Template> {
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let mut templates = Vec::new();
    for reference in references(deployment, sets) {
        let read = read(context, namespace, &reference).await;
        templates.push(Template { reference, read });
    }
    templates
}

/// What the machines of MachineSets were made from whose templates are missing.
async fn made_from(context: &Context, sets: &[Arc<MachineSet>], templates: &[Template]) -> Vec<MachinesMadeFrom> {
    let mut made = Vec::new();
    for template in templates.iter().filter(|template| template.read.is_missing()) {
        for set in sets.iter().filter(|set| refers_to(set, &template.reference)) {
            made.push(MachinesMadeFrom {
                machine_set: set.metadata.name.clone().unwrap_or_default(),
                reference: template.reference.clone(),
                template: context.made_from(set, &template.reference).await,
            });
        }
    }
    made
}

fn refers_to(set: &MachineSet, template: &ContractVersionedObjectReference) -> bool {
    let spec = &set.spec.template.spec;
    spec.infrastructure_ref == *template || spec.bootstrap.config_ref.as_ref() == Some(template)
}

fn references(deployment: &MachineDeployment, sets: &[Arc<MachineSet>]) -> Vec<ContractVersionedObjectReference> {
    let mut references: Vec<ContractVersionedObjectReference> = Vec::new();
    let specs = std::iter::once(&deployment.spec.template.spec).chain(sets.iter().map(|set| &set.spec.template.spec));
    for reference in specs.flat_map(|spec| spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref])) {
        if !references.contains(reference) {
            references.push(reference.clone());
        }
    }
    references
}

async fn read(context: &Context, namespace: &str, reference: &ContractVersionedObjectReference) -> Read<RawObject> {
    let what = || format!("{} {}", reference.kind, reference.name);
    match context.read(namespace, reference).await {
        Read::Found(object) => match RawObject::try_from(object) {
            Ok(object) => Read::Found(object),
            Err(error) => Read::Unreadable(Unreadable { what: what(), why: error.to_string() }),
        },
        Read::Missing => Read::Missing,
        Read::Unreadable(problem) => Read::Unreadable(problem),
    }
}
