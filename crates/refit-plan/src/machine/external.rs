//! Taking over an object of a provider from whoever made it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use refit_api::cluster::GROUP;
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::labels;
use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::problem::Problem;
use crate::effect::{Effect, Patch, Target};

/// Makes the Machine the controller of the object, and labels it with the Cluster.
///
/// MachineSets and control planes make the object before the Machine, and own it until now.
pub(super) fn take_over(draft: &mut Draft<'_>, kind: &str, object: &Value) {
    let Some(own) = owners::controller_ref(&draft.seen.machine) else { return };
    match owners_after(draft, kind, object, own) {
        Ok(after) => draft.first.extend(take_over_patch(draft, object, after).map(Effect::Patch)),
        Err(problem) => draft.problems.push(problem),
    }
}

fn owners_after(
    draft: &Draft<'_>,
    kind: &str,
    object: &Value,
    own: OwnerReference,
) -> Result<Vec<OwnerReference>, Problem> {
    let mut owners = read_owners(kind, object)?;
    owners.retain(|owner| !is_maker(draft, owner));
    if let Some(other) = owners::controller_of(&owners).filter(|controller| controller.uid != own.uid) {
        let owner = format!("{} {}", other.kind, other.name);
        return Err(Problem::OwnedByAnother { kind: kind.to_owned(), owner });
    }
    if !owners::contains_exact(&owners, &own) {
        owners::ensure(&mut owners, own);
    }
    Ok(owners)
}

fn take_over_patch(draft: &Draft<'_>, object: &Value, owners: Vec<OwnerReference>) -> Option<Patch> {
    let cluster = &draft.machine.spec.cluster_name;
    let label = object.pointer("/metadata/labels").and_then(|found| found.get(labels::CLUSTER_NAME));
    let mut metadata = Map::new();
    if label.and_then(Value::as_str) != Some(cluster) {
        metadata.insert("labels".to_owned(), json!({ labels::CLUSTER_NAME: cluster }));
    }
    let mut resource_version = None;
    if read_owners("", object).ok().as_ref() != Some(&owners) {
        metadata.insert("ownerReferences".to_owned(), json!(owners));
        resource_version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
    }
    let patch = Patch::object(Target::of_value(object), json!({ "metadata": metadata }));
    (patch.merge != json!({ "metadata": {} })).then_some(Patch { resource_version, ..patch })
}

/// Whether this is the owner that made the object because the Machine was not there yet.
fn is_maker(draft: &Draft<'_>, owner: &OwnerReference) -> bool {
    let is = |kind: OwnerKind<'_>| owners::find(std::slice::from_ref(owner), kind).is_some();
    let control_plane = draft.seen.cluster.spec.control_plane_ref.as_ref();
    let control_plane = control_plane.filter(|_| draft.has_label(labels::CONTROL_PLANE));
    is(OwnerKind { group: GROUP, kind: "MachineSet" })
        || control_plane.is_some_and(|it| is(OwnerKind { group: &it.api_group, kind: &it.kind }))
}

fn read_owners(kind: &str, object: &Value) -> Result<Vec<OwnerReference>, Problem> {
    match object.pointer("/metadata/ownerReferences") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(owners) => serde_json::from_value(owners.clone())
            .map_err(|error| Problem::MalformedOwners { kind: kind.to_owned(), why: error.to_string() }),
    }
}
