//! What an updater is shown of a Machine.

use refit_api::cluster::Machine;
use refit_api::hooks::{RawObject, UpdateMachineRequest, UpdateMachineRequestObjects};
use serde_json::Value;

/// The request for an updater: what the Machine and its objects should be, without status, owners and join tokens.
pub fn update_machine_request(
    machine: &Machine,
    infrastructure: &Value,
    bootstrap: Option<&Value>,
) -> UpdateMachineRequest {
    let machine = RawObject::encode(machine).unwrap_or_default().stripped();
    UpdateMachineRequest::new(UpdateMachineRequestObjects {
        machine,
        infrastructure_machine: stripped(infrastructure),
        bootstrap_config: bootstrap.map(|object| stripped(object).without_join_tokens()),
    })
}

fn stripped(object: &Value) -> RawObject {
    RawObject::try_from(object.clone()).unwrap_or_default().stripped()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn join_tokens_are_not_shown_to_updaters() {
        let bootstrap = json!({
            "kind": "KubeadmConfig",
            "spec": {
                "joinConfiguration": {
                    "discovery": { "bootstrapToken": { "token": "abcdef.0123456789abcdef" } },
                    "nodeRegistration": { "name": "n" },
                },
                "initConfiguration": { "bootstrapTokens": [{ "token": "abcdef.0123456789abcdef" }] },
                "files": [],
            },
        });
        let request = update_machine_request(&Machine::default(), &json!({}), Some(&bootstrap));
        let shown = request.desired.bootstrap_config.unwrap().into_value();
        let expected = json!({
            "joinConfiguration": { "discovery": { "bootstrapToken": {} }, "nodeRegistration": { "name": "n" } },
            "initConfiguration": {}, "files": [],
        });
        assert_eq!(shown["spec"], expected);
        assert!(!shown.to_string().contains("abcdef"));
    }

    #[test]
    fn updaters_see_no_status_and_no_owners() {
        let object = json!({
            "apiVersion": "g/v1", "kind": "K",
            "metadata": { "name": "n", "uid": "u", "ownerReferences": [], "annotations": { "a": "" } },
            "spec": { "x": 1 }, "status": { "y": 2 },
        });
        let request = update_machine_request(&Machine::default(), &object, None);
        let expected = json!({
            "apiVersion": "g/v1", "kind": "K", "metadata": { "name": "n", "annotations": { "a": "" } }, "spec": { "x": 1 },
        });
        assert_eq!(request.desired.infrastructure_machine.into_value(), expected);
        assert_eq!(request.desired.bootstrap_config, None);
    }
}
