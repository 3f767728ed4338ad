//! Whose a Machine is: the Cluster's, when nobody else made it. And whether it is to be left alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use refit_api::cluster::{Cluster, GROUP};
use refit_api::conditions::PausedBy;
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::{annotations, labels};

use super::draft::Draft;

/// Labels by which another controller knows its Machines again after a restore from a backup.
const ORIGIN_LABELS: [&str; 3] = [labels::SET_NAME, labels::POOL_NAME, labels::CONTROL_PLANE_NAME];

/// Gives a Machine that stands alone to its Cluster, and labels every Machine with it.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    if stands_alone(draft)
        && let Some(owner) = cluster_ref(&draft.seen.cluster)
    {
        owners::ensure(draft.machine.metadata.owner_references.get_or_insert_default(), owner);
    }
    let cluster_name = draft.machine.spec.cluster_name.clone();
    draft.machine.metadata.labels.get_or_insert_default().insert(labels::CLUSTER_NAME.to_owned(), cluster_name);
}

/// Who paused an object of the Cluster.
pub(crate) fn paused_by(cluster: &Cluster, metadata: &ObjectMeta) -> Option<PausedBy> {
    let by_cluster = cluster.spec.paused == Some(true);
    let by_annotation = metadata.annotations.as_ref().is_some_and(|own| own.contains_key(annotations::PAUSED));
    match (by_cluster, by_annotation) {
        (true, true) => Some(PausedBy::ClusterAndAnnotation),
        (true, false) => Some(PausedBy::Cluster),
        (false, true) => Some(PausedBy::Annotation),
        (false, false) => None,
    }
}

/// The reference by which a Cluster owns what nobody else controls.
pub(crate) fn cluster_ref(cluster: &Cluster) -> Option<OwnerReference> {
    cluster.owner_ref(&())
}

fn stands_alone(draft: &Draft<'_>) -> bool {
    let owners = draft.machine.metadata.owner_references.as_deref().unwrap_or_default();
    let is_owned = owners::controller_of(owners).is_some()
        || owners::find(owners, OwnerKind { group: GROUP, kind: "Cluster" }).is_some();
    !is_owned && !ORIGIN_LABELS.iter().any(|label| draft.has_label(label))
}
