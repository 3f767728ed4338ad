//! What belongs to a MachineDeployment, and what it belongs to.

use std::collections::BTreeMap;

use refit_api::cluster::{Cluster, MachineDeployment, MachineSet};
use refit_api::owners;
use refit_api::selector::{Selector, SelectorError};
use refit_api::vocabulary::{events, labels};
use serde_json::json;

use crate::effect::{Delete, Effect, Event, Patch, Target};
use crate::ownership::{self, NoIdentity, ensure_owner};

/// What a MachineSet is to the MachineDeployment.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is controlled by the MachineDeployment. These writes give it the label that says so, where it is missing.
    Ours(Vec<Effect>),
    /// Nobody controls it; these writes make it the MachineDeployment's. It counts as such once they went through.
    Adopt(Vec<Effect>),
    /// Nobody controls it, and the MachineDeployment is being deleted: it would delete what somebody has set free.
    SetFree,
    /// Somebody else controls it, or it does not match: it is none of the MachineDeployment's business.
    NotOurs,
}

/// Why it cannot be told whose a MachineSet is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error("spec.selector of MachineDeployment {name} cannot be used")]
    Selector { name: String, source: SelectorError },
    #[error("spec.selector of MachineDeployment {name} is empty and would select all MachineSets")]
    SelectsEverything { name: String },
    #[error(transparent)]
    Owner(#[from] NoIdentity),
}

/// Whose the MachineSet is. By uid: a MachineDeployment that was deleted and made anew is another one.
pub fn claim(deployment: &MachineDeployment, set: &MachineSet) -> Result<Claim, ClaimError> {
    let name = || name_of(deployment).to_owned();
    let reference = ownership::controller(deployment)?;
    let references = set.metadata.owner_references.as_deref().unwrap_or_default();
    match owners::controller_of(references) {
        Some(controller) if controller.uid == reference.uid => {
            return Ok(Claim::Ours(label(deployment, set).into_iter().collect()));
        }
        Some(_) => return Ok(Claim::NotOurs),
        None => {}
    }
    let is_deleting = deployment.metadata.deletion_timestamp.is_some();
    let selector = match Selector::from_field(Some(&deployment.spec.selector)) {
        Err(_) if is_deleting => return Ok(Claim::NotOurs),
        selector => selector.map_err(|source| ClaimError::Selector { name: name(), source })?,
    };
    if selector.is_everything() {
        return Err(ClaimError::SelectsEverything { name: name() });
    }
    if !selector.matches(set.metadata.labels.as_ref().unwrap_or(&BTreeMap::new())) {
        return Ok(Claim::NotOurs);
    }
    if is_deleting {
        return Ok(Claim::SetFree);
    }
    let message = format!("Adopted MachineSet {:?}", set.metadata.name.as_deref().unwrap_or_default());
    let event = Effect::Emit(Event::normal(Target::of(deployment), events::SUCCESSFUL_ADOPT, message));
    let adoption = ensure_owner(set, reference).into_iter().chain(label(deployment, set)).chain([event]);
    Ok(Claim::Adopt(adoption.collect()))
}

/// The writes that put a MachineDeployment into its cluster. Empty when all is so.
pub fn join_cluster(deployment: &MachineDeployment, cluster: &Cluster) -> Result<Vec<Effect>, NoIdentity> {
    let owner = ensure_owner(deployment, ownership::owner(cluster)?);
    let cluster_name = &deployment.spec.cluster_name;
    let label = deployment.metadata.labels.as_ref().and_then(|labels| labels.get(labels::CLUSTER_NAME));
    let merge = json!({ "metadata": { "labels": { labels::CLUSTER_NAME: cluster_name } } });
    let label = (label != Some(cluster_name)).then(|| Effect::Patch(Patch::object(Target::of(deployment), merge)));
    // The owners are for the version that was read, so they come first.
    Ok(owner.into_iter().chain(label).collect())
}

/// What a MachineDeployment that is being deleted does to its MachineSets. Those that are going already are left alone.
///
/// As they were seen: one that was set free since is not its own any more.
pub fn delete_all(machine_sets: &[&MachineSet]) -> Vec<Effect> {
    let is_staying = |set: &&MachineSet| set.metadata.deletion_timestamp.is_none();
    let deletions = machine_sets.iter().copied().filter(is_staying).map(Delete::as_seen);
    deletions.map(Effect::Delete).collect()
}

/// Takes the MachineDeployment off the owners of its MachineSets. The garbage collector does so, too; it may have looked before
/// the last of them was made.
pub fn set_free(deployment: &MachineDeployment, machine_sets: &[&MachineSet]) -> Vec<Effect> {
    let uid = deployment.metadata.uid.as_deref().unwrap_or_default();
    machine_sets.iter().filter_map(|set| ownership::remove_owner(*set, uid)).collect()
}

/// The label by which a MachineSet is known to come from the MachineDeployment.
fn label(deployment: &MachineDeployment, set: &MachineSet) -> Option<Effect> {
    let name = name_of(deployment);
    let label = set.metadata.labels.as_ref().and_then(|labels| labels.get(labels::DEPLOYMENT_NAME));
    let merge = json!({ "metadata": { "labels": { labels::DEPLOYMENT_NAME: name } } });
    (label.map(String::as_str) != Some(name)).then(|| Effect::Patch(Patch::object(Target::of(set), merge)))
}

fn name_of(deployment: &MachineDeployment) -> &str {
    deployment.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Store, cluster, labels_of, machine_deployment, machine_set};

    #[test]
    fn a_machine_set_without_controller_is_adopted_if_the_selector_matches() {
        let deployment = machine_deployment(1);
        let mut store = Store::default();
        store.insert_typed(&machine_set("ms", 1));
        let read = |store: &Store| store.typed::<MachineSet>("ms").expect("it must be there");
        let Ok(Claim::Adopt(effects)) = claim(&deployment, &read(&store)) else { panic!("it must be adopted") };
        store.carry_out(&effects);
        assert_eq!(claim(&deployment, &read(&store)), Ok(Claim::Ours(Vec::new())));
        assert_eq!(store.events[0].message, "Adopted MachineSet \"ms\"");
        let mut anew = deployment.clone();
        anew.metadata.uid = Some("anew".to_owned());
        assert_eq!(claim(&anew, &read(&store)), Ok(Claim::NotOurs));
        let mut other = machine_set("other", 1);
        other.metadata.labels = None;
        assert_eq!(claim(&deployment, &other), Ok(Claim::NotOurs));
    }

    #[test]
    fn a_machine_set_of_ours_gets_its_label_back() {
        let deployment = machine_deployment(1);
        let mut set = machine_set("ms", 1);
        set.metadata.owner_references = Some(vec![ownership::controller(&deployment).expect("it has a uid")]);
        set.metadata.labels = Some(labels_of(&[(labels::DEPLOYMENT_NAME, "wrong")]));
        let Ok(Claim::Ours(effects)) = claim(&deployment, &set) else { panic!("it is ours") };
        assert!(matches!(&effects[..], [Effect::Patch(_)]), "{effects:?}");
    }

    #[test]
    fn nonsense_is_told_in_words() {
        let mut deployment = machine_deployment(1);
        deployment.spec.selector = Default::default();
        let error = claim(&deployment, &machine_set("ms", 1)).expect_err("it must be refused");
        assert_eq!(
            error.to_string(),
            "spec.selector of MachineDeployment md is empty and would select all MachineSets"
        );
        deployment.spec.selector.match_labels = Some(labels_of(&[("a key", "")]));
        let error = claim(&deployment, &machine_set("ms", 1)).expect_err("it must be refused");
        assert_eq!(error.to_string(), "spec.selector of MachineDeployment md cannot be used");
    }

    #[test]
    fn it_belongs_to_its_cluster() {
        let mut store = Store::default();
        store.insert_typed(&machine_deployment(1));
        let read = |store: &Store| store.typed::<MachineDeployment>("md").expect("it must be there");
        let effects = join_cluster(&read(&store), &cluster()).expect("the Cluster has a uid");
        assert_eq!(effects.len(), 2);
        store.carry_out(&effects);
        assert_eq!(join_cluster(&read(&store), &cluster()), Ok(Vec::new()));
    }

    #[test]
    fn only_machine_sets_that_stay_are_deleted() {
        let (staying, mut going) = (machine_set("ms", 1), machine_set("going", 0));
        going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
        let effects = delete_all(&[&staying, &going]);
        assert!(matches!(&effects[..], [Effect::Delete(delete)] if delete.target.name == "ms"), "{effects:?}");
    }

    #[test]
    fn machine_sets_that_are_to_stay_lose_this_owner_only() {
        let (deployment, mut set) = (machine_deployment(1), machine_set("ms", 1));
        let own = ownership::controller(&deployment).expect("it has a uid");
        let other = ownership::owner(&cluster()).expect("it has a uid");
        set.metadata.owner_references = Some(vec![other.clone(), own]);
        let [Effect::Patch(patch)] = &set_free(&deployment, &[&set])[..] else { panic!("it must be set free") };
        assert_eq!(patch.merge, json!({ "metadata": { "ownerReferences": [other.clone()] } }));
        assert_eq!(patch.resource_version, set.metadata.resource_version);
        set.metadata.owner_references = Some(vec![other]);
        assert_eq!(set_free(&deployment, &[&set]), []);
    }

    #[test]
    fn one_that_is_being_deleted_adopts_nothing() {
        let mut deployment = machine_deployment(1);
        deployment.metadata.deletion_timestamp = machine_set("ms", 1).metadata.creation_timestamp;
        assert_eq!(claim(&deployment, &machine_set("ms", 1)), Ok(Claim::SetFree));
    }
}
