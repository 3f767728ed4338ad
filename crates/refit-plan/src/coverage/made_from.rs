//! What machines were made from, told by their own objects: a template may be gone, and a machine is what it is.
//!
//! A MachineSet applies the spec of its template to the objects of its machines, at their creation and with every update in place.
//! So the fields that it owns there are the template's, and what is beside them is the provider's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use refit_api::cluster::{ContractVersionedObjectReference, Machine};
use refit_api::contract::kind_from_template;
use refit_api::hooks::RawObject;
use refit_api::vocabulary::managers;
use serde_json::{Value, json};

use super::hash::ContentHash;
use crate::field_ownership::applied_spec;
use crate::fleet;
use crate::machine_set::complete_move::{Stage, stage};

/// What a template said that an object was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeFrom {
    pub template: RawObject,
    /// Equal for objects that were made from the same.
    pub content: ContentHash,
}

/// Why an object does not tell what it was made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTold {
    #[error("{kind} {name} is not of the kind that a {template} makes")]
    OtherKind { kind: String, name: String, template: String },
    #[error("{kind} {name} does not say which of its fields come from its template")]
    NoOwner { kind: String, name: String },
}

/// Whether the objects of a machine are those of its MachineSet: not while it is still on its way there, nor when it goes.
pub fn is_of_its_machine_set(machine: &Machine) -> bool {
    !fleet::is_deleting(machine) && !is_arriving(machine)
}

/// Whether the machine has a new MachineSet, and its objects are still what the former one made of them.
pub fn is_arriving(machine: &Machine) -> bool {
    matches!(stage(machine), Stage::Moved | Stage::Released)
}

impl MadeFrom {
    /// What the template of this reference said, by an object that was made from it.
    pub fn of(template: &ContractVersionedObjectReference, object: &Value) -> Result<Self, NotTold> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name, api_version) = (text("/kind"), text("/metadata/name"), text("/apiVersion"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if kind != kind_from_template(&template.kind) || group != template.api_group {
            return Err(NotTold::OtherKind { kind, name, template: template.kind.clone() });
        }
        let entries = object.pointer("/metadata/managedFields").cloned();
        let entries: Vec<ManagedFieldsEntry> =
            entries.and_then(|entries| serde_json::from_value(entries).ok()).unwrap_or_default();
        let spec = applied_spec(object, &entries, managers::MACHINE_SET);
        let spec = spec.ok_or(NotTold::NoOwner { kind, name })?;
        Ok(Self::from_spec(template, &api_version, object, spec))
    }

    fn from_spec(template: &ContractVersionedObjectReference, api_version: &str, object: &Value, spec: Value) -> Self {
        let mut made = json!({
            "apiVersion": api_version,
            "kind": template.kind,
            "metadata": { "name": template.name, "namespace": object["metadata"]["namespace"] },
            "spec": { "template": {} },
        });
        if !spec.is_null() {
            made["spec"]["template"]["spec"] = spec;
        }
        let template = RawObject::try_from(made).expect("an object must be an object").without_join_tokens();
        Self { content: ContentHash::of(template.as_value()), template }
    }
}

#[cfg(test)]
mod tests {
    use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};

    use super::*;
    use crate::testing::{at, labels_of, machine, reference};

    fn host(spec: Value, owned: Value) -> Value {
        let entry = json!({ "manager": "capi-machineset", "operation": "Apply", "fieldsV1": { "f:spec": owned } });
        json!({
            "apiVersion": "x.io/v1",
            "kind": "Host",
            "metadata": { "name": "h1", "namespace": "ns", "managedFields": [entry] },
            "spec": spec,
        })
    }

    #[test]
    fn an_object_tells_what_its_template_said() {
        let object = host(json!({ "cpus": 2, "providerID": "sim://1" }), json!({ "f:cpus": {} }));
        let other = host(json!({ "cpus": 2, "providerID": "sim://2" }), json!({ "f:cpus": {} }));
        let made = MadeFrom::of(&reference("HostTemplate", "gone"), &object).expect("it must tell");
        let expected = crate::testing::template("HostTemplate", "gone", json!({ "cpus": 2 }));
        assert_eq!(made.template.as_value()["spec"], expected["spec"]);
        assert_eq!((made.template.kind(), made.template.name()), (Some("HostTemplate"), Some("gone")));
        assert_eq!(MadeFrom::of(&reference("HostTemplate", "gone"), &other), Ok(made), "who it is does not matter");
    }

    #[test]
    fn an_object_that_does_not_tell_is_no_knowledge() {
        let check = |template: &str, object: &Value, expected: &str| {
            let found = MadeFrom::of(&reference(template, "gone"), object);
            assert_eq!(found.expect_err("it must not tell").to_string(), expected);
        };
        let mut object = host(json!({ "cpus": 2 }), json!({}));
        check("BootTemplate", &object, "Host h1 is not of the kind that a BootTemplate makes");
        object["metadata"]["managedFields"] = json!([]);
        check("HostTemplate", &object, "Host h1 does not say which of its fields come from its template");
    }

    #[test]
    fn machines_on_their_way_are_not_made_from_what_their_machine_set_wants() {
        let mut machine = machine("m1");
        assert!(is_of_its_machine_set(&machine));
        machine.metadata.annotations = Some(labels_of(&[(UPDATE_IN_PROGRESS, ""), (PENDING_ACKNOWLEDGE_MOVE, "")]));
        assert!(!is_of_its_machine_set(&machine) && is_arriving(&machine));
        machine.metadata.annotations = None;
        machine.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(1)));
        assert!(!is_of_its_machine_set(&machine) && !is_arriving(&machine));
    }
}
