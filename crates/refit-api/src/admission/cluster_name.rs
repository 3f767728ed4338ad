//! Rules for the name of a Cluster, and for other names that end up in labels.

use kube::core::ObjectMeta;

use super::names::label_value_problem;
use super::{FieldError, FieldPath};
use crate::vocabulary::labels;

/// Puts the name of its Cluster on an object. Controllers find the objects of a Cluster by this label.
pub fn label_with_cluster(metadata: &mut ObjectMeta, cluster_name: &str) {
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(labels::CLUSTER_NAME.to_owned(), cluster_name.to_owned());
}

/// An object stays in its Cluster. `old` is the name in the stored object on an update.
pub fn validate_unchanged(old: Option<&str>, new: &str) -> Vec<FieldError> {
    if old.is_none_or(|old| old == new) {
        return Vec::new();
    }
    vec![FieldPath::new("spec.clusterName").forbidden("field is immutable")]
}

/// The name of a Cluster or MachineDeployment becomes the value of a label on all that belongs to it.
pub fn validate_as_label(metadata: &ObjectMeta) -> Vec<FieldError> {
    let name = metadata.name.as_deref().unwrap_or_default();
    let error = |problem| FieldPath::new("metadata.name").invalid(name, format!("as the value of a label: {problem}"));
    label_value_problem(name).map(error).into_iter().collect()
}
