//! Mends the owners of a provider's object: the spec is one manager's, labels and annotations are another's.
//!
//! While one manager owns both, a label that goes from the template stays on the object, and a field that goes from the
//! spec stays in it. That is so of an object that was just created, of one from before Cluster API v1.12, and of one
//! whose owners the API server has forgotten.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::{labels, managers};
use serde_json::{Map, Value, json};

use super::{APPLY, UPDATE, is_by};

/// Who should own what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Owns the spec, and says where the object came from.
    pub spec: &'static str,
    /// Owns labels and annotations.
    pub metadata: &'static str,
}

/// The annotations that the manager of the spec may own: those that it writes in an update.
const OF_SPEC: [&str; 3] = [CLONED_FROM_NAME, CLONED_FROM_GROUP_KIND, UPDATE_IN_PROGRESS];

impl Layout {
    /// Of the objects of a MachineSet's Machines.
    pub const MACHINE_SET: Self = Self { spec: managers::MACHINE_SET, metadata: managers::MACHINE_SET_METADATA };
    /// Of the objects of a control plane's Machines.
    pub const KUBEADM_CONTROL_PLANE: Self =
        Self { spec: managers::KUBEADM_CONTROL_PLANE, metadata: managers::KUBEADM_CONTROL_PLANE_METADATA };
}

/// The entries as they should be, if they are not. To be written with the version that they were read with.
pub fn repair(entries: &[ManagedFieldsEntry], layout: Layout, api_version: &str) -> Option<Vec<ManagedFieldsEntry>> {
    let is_old = entries.iter().any(|entry| is_by(entry, layout.spec, APPLY) && is_from_before_v1_12(entry));
    let kept = entries.iter().filter(|entry| !(is_forgotten(entry) || is_old && is_replaced(entry, layout)));
    let mut repaired: Vec<ManagedFieldsEntry> = kept.map(|entry| without_metadata(entry, layout)).collect();
    repaired.retain(|entry| entry.fields_v1.as_ref().is_none_or(|fields| fields.0 != json!({})));
    // An object without entries would get one for everything on the next apply, and that one would own everything.
    if is_old || repaired.is_empty() {
        repaired.push(seed(layout.metadata, api_version));
    }
    (repaired != entries).then_some(repaired)
}

/// The entries without owners that the API server made up, if there are such or no entries at all. `manager` is the one
/// that applies the object whole.
pub fn remember(entries: &[ManagedFieldsEntry], manager: &str, api_version: &str) -> Option<Vec<ManagedFieldsEntry>> {
    let mut kept: Vec<ManagedFieldsEntry> = entries.iter().filter(|entry| !is_forgotten(entry)).cloned().collect();
    if kept.is_empty() {
        kept.push(seed(manager, api_version));
    }
    (kept != entries).then_some(kept)
}

/// The API server makes up this owner for fields whose owner it does not know.
fn is_forgotten(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(managers::BEFORE_FIRST_APPLY)
}

/// Until v1.11 the manager of today's spec owned labels and annotations and nothing else.
fn is_from_before_v1_12(entry: &ManagedFieldsEntry) -> bool {
    let Some(FieldsV1(fields)) = &entry.fields_v1 else { return false };
    let label = format!("f:{}", labels::CLUSTER_NAME);
    let owns_label = fields["f:metadata"]["f:labels"].get(label).is_some();
    owns_label && fields.get("f:spec").is_none()
}

/// What owned metadata and spec until v1.11, and would hold on to them.
fn is_replaced(entry: &ManagedFieldsEntry, layout: Layout) -> bool {
    is_by(entry, layout.spec, APPLY) || is_by(entry, managers::PATCHES, UPDATE)
}

/// The entry without labels and annotations, if it is the spec's.
fn without_metadata(entry: &ManagedFieldsEntry, layout: Layout) -> ManagedFieldsEntry {
    let mut entry = entry.clone();
    if !is_by(&entry, layout.spec, APPLY) {
        return entry;
    }
    if let Some(FieldsV1(Value::Object(fields))) = &mut entry.fields_v1 {
        strip(fields);
    }
    entry
}

fn strip(fields: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") else { return };
    metadata.remove("f:labels");
    if let Some(Value::Object(annotations)) = metadata.get_mut("f:annotations") {
        annotations.retain(|key, _| is_of_spec(key));
        // Who holds the map itself takes all of it along when he lets go.
        if annotations.keys().all(|key| key == ".") {
            metadata.remove("f:annotations");
        }
    }
    if metadata.is_empty() {
        fields.remove("f:metadata");
    }
}

/// Whether the manager of the spec may hold this of the annotations. The dot stands for the map itself.
fn is_of_spec(key: &str) -> bool {
    key == "." || OF_SPEC.iter().any(|name| key.strip_prefix("f:") == Some(name))
}

/// An entry that owns nothing that matters and goes with the manager's next apply.
fn seed(manager: &str, api_version: &str) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        api_version: Some(api_version.to_owned()),
        fields_type: Some("FieldsV1".to_owned()),
        fields_v1: Some(FieldsV1(json!({ "f:metadata": { "f:name": {} } }))),
        manager: Some(manager.to_owned()),
        operation: Some(APPLY.to_owned()),
        subresource: None,
        time: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = managers::MACHINE_SET_METADATA;
    const SPEC: &str = managers::MACHINE_SET;

    fn entry(manager: &str, operation: &str, fields: Value) -> ManagedFieldsEntry {
        let (manager, operation) = (manager.to_owned(), operation.to_owned());
        ManagedFieldsEntry { operation: Some(operation), fields_v1: Some(FieldsV1(fields)), ..seed(&manager, "x/v1") }
    }

    fn check(given: &[ManagedFieldsEntry], expected: &[(&str, Value)]) {
        let repaired = repair(given, Layout::MACHINE_SET, "x/v1").unwrap_or_else(|| given.to_vec());
        let fields = |entry: &ManagedFieldsEntry| entry.fields_v1.clone().map(|fields| fields.0).unwrap_or_default();
        let found: Vec<(&str, Value)> =
            repaired.iter().map(|entry| (entry.manager.as_deref().unwrap_or_default(), fields(entry))).collect();
        assert_eq!(found, expected);
        assert_eq!(repair(&repaired, Layout::MACHINE_SET, "x/v1"), None, "a second repair changes nothing");
    }

    fn label() -> Value {
        json!({ "f:cluster.x-k8s.io/cluster-name": {} })
    }

    #[test]
    fn a_new_object_loses_the_labels_to_the_manager_of_metadata() {
        let created =
            json!({ "f:metadata": { "f:labels": label(), "f:annotations": { "f:a": {} } }, "f:spec": { "f:a": {} } });
        let metadata = json!({ "f:metadata": { "f:labels": label() } });
        check(
            &[entry(SPEC, APPLY, created), entry(METADATA, APPLY, metadata.clone())],
            &[(SPEC, json!({ "f:spec": { "f:a": {} } })), (METADATA, metadata)],
        );
    }

    #[test]
    fn annotations_of_an_update_stay_with_the_spec() {
        let annotations = json!({ "f:cluster.x-k8s.io/cloned-from-name": {} });
        let updated = json!({ "f:metadata": { "f:annotations": annotations }, "f:spec": {} });
        check(&[entry(SPEC, APPLY, updated.clone())], &[(SPEC, updated)]);
        for emptied in [json!({}), json!({ ".": {} })] {
            let done = json!({ "f:metadata": { "f:annotations": emptied }, "f:spec": {} });
            check(&[entry(SPEC, APPLY, done)], &[(SPEC, json!({ "f:spec": {} }))]);
        }
        let mixed = json!({ ".": {}, "f:cluster.x-k8s.io/cloned-from-name": {}, "f:theirs": {} });
        let kept = json!({ ".": {}, "f:cluster.x-k8s.io/cloned-from-name": {} });
        let of = |annotations: &Value| json!({ "f:metadata": { "f:annotations": annotations }, "f:spec": {} });
        check(&[entry(SPEC, APPLY, of(&mixed))], &[(SPEC, of(&kept))]);
        let foreign = of(&json!({ ".": {}, "f:theirs": {} }));
        check(&[entry(SPEC, APPLY, foreign)], &[(SPEC, json!({ "f:spec": {} }))]);
    }

    #[test]
    fn the_layout_before_v1_12_makes_room_for_the_new_one() {
        let old = json!({ "f:metadata": { "f:labels": label() } });
        let spec = json!({ "f:spec": { "f:a": {} } });
        let status = ManagedFieldsEntry {
            subresource: Some("status".to_owned()),
            ..entry("manager", UPDATE, json!({ "f:status": {} }))
        };
        check(
            &[
                entry(SPEC, APPLY, old),
                entry("manager", UPDATE, spec.clone()),
                status,
                entry("kubectl", UPDATE, spec.clone()),
            ],
            &[
                ("manager", json!({ "f:status": {} })),
                ("kubectl", spec),
                (METADATA, json!({ "f:metadata": { "f:name": {} } })),
            ],
        );
    }

    #[test]
    fn an_object_without_owners_gets_one_before_it_is_applied() {
        let seeded = remember(&[], SPEC, "x/v1").expect("there must be an entry");
        assert_eq!(seeded, [seed(SPEC, "x/v1")]);
        assert_eq!(remember(&seeded, SPEC, "x/v1"), None);
        let forgotten = entry(managers::BEFORE_FIRST_APPLY, UPDATE, json!({ "f:spec": {} }));
        let known = entry(SPEC, APPLY, json!({ "f:spec": {} }));
        assert_eq!(remember(&[forgotten, known.clone()], SPEC, "x/v1"), Some(vec![known]));
    }

    #[test]
    fn forgotten_owners_are_not_made_up() {
        let seed = (METADATA, json!({ "f:metadata": { "f:name": {} } }));
        check(&[], std::slice::from_ref(&seed));
        check(&[entry(managers::BEFORE_FIRST_APPLY, UPDATE, json!({ "f:spec": {} }))], &[seed]);
        let metadata = json!({ "f:metadata": { "f:labels": label() } });
        let forgotten = entry(managers::BEFORE_FIRST_APPLY, UPDATE, json!({ "f:spec": {} }));
        check(&[forgotten, entry(METADATA, APPLY, metadata.clone())], &[(METADATA, metadata)]);
    }
}
