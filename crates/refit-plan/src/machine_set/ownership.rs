//! What belongs to a MachineSet, and what it belongs to.

use refit_api::cluster::{Cluster, GROUP, Machine, MachineSet};
use refit_api::owners::{self, OwnerKind};
use refit_api::selector::{Selector, SelectorError};
use refit_api::vocabulary::{events, labels};
use serde_json::{Map, Value, json};

use crate::effect::{Effect, Event, Patch, Target};
use crate::ownership::{self, NoIdentity, ensure_owner};

/// What a machine that the selector finds is to the MachineSet.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is controlled by the MachineSet.
    Ours,
    /// Nobody controls it; these writes make it the MachineSet's. It counts as such once they went through.
    Adopt(Vec<Effect>),
    /// Somebody else controls it, or it does not match: it is none of the MachineSet's business.
    NotOurs,
}

/// Why it cannot be told whose a machine is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error("spec.selector of MachineSet {name} cannot be used")]
    Selector { name: String, source: SelectorError },
    #[error("spec.selector of MachineSet {name} is empty and would select all machines")]
    SelectsEverything { name: String },
    #[error(transparent)]
    Owner(#[from] NoIdentity),
}

/// Whose the machine is. By uid: a MachineSet that was deleted and made anew is another one.
pub fn claim(set: &MachineSet, machine: &Machine) -> Result<Claim, ClaimError> {
    let name = || super::objects::name_of(set).to_owned();
    let reference = ownership::controller(set)?;
    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
    match owners::controller_of(references) {
        Some(controller) if controller.uid == reference.uid => return Ok(Claim::Ours),
        Some(_) => return Ok(Claim::NotOurs),
        None => {}
    }
    let selector = Selector::from_field(Some(&set.spec.selector))
        .map_err(|source| ClaimError::Selector { name: name(), source })?;
    if selector.is_everything() {
        return Err(ClaimError::SelectsEverything { name: name() });
    }
    if !selector.matches(machine.metadata.labels.as_ref().unwrap_or(&std::collections::BTreeMap::new())) {
        return Ok(Claim::NotOurs);
    }
    let message = format!("Adopted Machine {:?}", crate::fleet::name(machine));
    let event = Effect::Emit(Event::normal(Target::of(set), events::SUCCESSFUL_ADOPT, message));
    Ok(Claim::Adopt(ensure_owner(machine, reference).into_iter().chain([event]).collect()))
}

/// The writes that put a MachineSet into its cluster: labels, selector, and the Cluster as owner of one that stands
/// alone. Empty when all is so.
pub fn join_cluster(set: &MachineSet, cluster: &Cluster) -> Result<Vec<Effect>, NoIdentity> {
    let owner = stands_alone(set).then(|| ownership::owner(cluster)).transpose()?;
    let owner = owner.and_then(|reference| ensure_owner(set, reference));
    let label = json!({ labels::CLUSTER_NAME: set.spec.cluster_name });
    let has = |labels: Option<&std::collections::BTreeMap<String, String>>| {
        labels.and_then(|labels| labels.get(labels::CLUSTER_NAME)) == Some(&set.spec.cluster_name)
    };
    let mut merge = Map::new();
    if !has(set.metadata.labels.as_ref()) {
        merge.insert("metadata".to_owned(), json!({ "labels": label }));
    }
    let mut spec = Map::new();
    if !has(set.spec.selector.match_labels.as_ref()) {
        spec.insert("selector".to_owned(), json!({ "matchLabels": label }));
    }
    if !has(Some(&set.spec.template.metadata.labels)) {
        spec.insert("template".to_owned(), json!({ "metadata": { "labels": label } }));
    }
    if !spec.is_empty() {
        merge.insert("spec".to_owned(), Value::Object(spec));
    }
    let labels = (!merge.is_empty()).then(|| Effect::Patch(Patch::object(Target::of(set), Value::Object(merge))));
    // The owners are for the version that was read, so they come first.
    Ok(owner.into_iter().chain(labels).collect())
}

/// Whether no MachineDeployment made it. One that lost its owner but not the label is left for the MachineDeployment
/// to adopt: after a restore from a backup both would be quick to claim it.
fn stands_alone(set: &MachineSet) -> bool {
    let references = set.metadata.owner_references.as_deref().unwrap_or_default();
    let is_owned = |kind| owners::find(references, OwnerKind { group: GROUP, kind }).is_some();
    let is_child = set.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::DEPLOYMENT_NAME));
    !is_child && !is_owned("MachineDeployment") && !is_owned("Cluster")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Store, cluster, machine, machine_of, machine_set};

    #[test]
    fn a_machine_without_controller_is_adopted_if_the_selector_matches() {
        let set = machine_set("ms", 1);
        assert_eq!(claim(&set, &machine_of(&set, "a")), Ok(Claim::Ours));
        assert_eq!(claim(&set, &machine_of(&machine_set("other", 1), "b")), Ok(Claim::NotOurs));
        assert_eq!(claim(&set, &machine("unlabelled")), Ok(Claim::NotOurs));
        let mut orphan = machine_of(&set, "orphan");
        orphan.metadata.owner_references = None;
        let mut store = Store::default();
        store.insert_typed(&orphan);
        let orphan = store.typed("orphan").expect("it must be there");
        let Ok(Claim::Adopt(effects)) = claim(&set, &orphan) else { panic!("it must be adopted") };
        store.carry_out(&effects);
        assert_eq!(claim(&set, &store.typed("orphan").expect("it must be there")), Ok(Claim::Ours));
    }

    #[test]
    fn a_controller_of_the_same_name_and_another_uid_is_somebody_else() {
        let mut set = machine_set("ms", 1);
        let machine = machine_of(&set, "a");
        set.metadata.uid = Some("made-anew".to_owned());
        assert_eq!(claim(&set, &machine), Ok(Claim::NotOurs));
    }

    #[test]
    fn an_empty_selector_selects_nothing_but_an_error() {
        let mut set = machine_set("ms", 1);
        set.spec.selector = Default::default();
        let error = claim(&set, &machine("a")).expect_err("it must be refused");
        assert_eq!(error.to_string(), "spec.selector of MachineSet ms is empty and would select all machines");
    }

    #[test]
    fn a_machine_set_that_stands_alone_belongs_to_the_cluster() {
        let mut set = machine_set("ms", 1);
        assert_eq!(join_cluster(&set, &cluster()), Ok(Vec::new()), "a MachineDeployment will adopt it");
        set.metadata.labels = None;
        set.spec.selector = Default::default();
        set.spec.template.metadata.labels.clear();
        let mut store = Store::default();
        store.insert_typed(&set);
        let read = |store: &Store| store.typed::<MachineSet>("ms").expect("it must be there");
        store.carry_out(&join_cluster(&read(&store), &cluster()).expect("the Cluster has a uid"));
        let joined = read(&store);
        assert_eq!(join_cluster(&joined, &cluster()), Ok(Vec::new()));
        assert_eq!(joined.spec.template.metadata.labels[labels::CLUSTER_NAME], "c");
        assert_eq!(joined.metadata.owner_references.map(|owners| owners[0].kind.clone()).as_deref(), Some("Cluster"));
    }
}
