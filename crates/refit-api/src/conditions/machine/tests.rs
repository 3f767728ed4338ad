use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::*;
use crate::conditions::dynamic;
use crate::conditions::testing::check;

#[test]
fn conditions_of_machines_read_as_upstreams() {
    check(&[
        (available(), "Available=True Available"),
        (not_available(), "Available=False NotReady"),
        (waiting_for_min_ready_seconds(), "Available=False WaitingForMinReadySeconds"),
        (up_to_date(), "UpToDate=True UpToDate"),
        (
            not_up_to_date(&["Version v1, v2 required", "DevMachine is not up-to-date"]),
            "UpToDate=False NotUpToDate: * Version v1, v2 required\n* DevMachine is not up-to-date",
        ),
        (not_up_to_date_while_updating("at it"), "UpToDate=False Updating: * at it"),
        (not_up_to_date_while_updating(""), "UpToDate=False Updating: * In-place update in progress"),
        (
            not_up_to_date_until_kubelet_is("v1.33.0", "v1.34.0"),
            "UpToDate=False Updating: * Node.status.nodeInfo.kubeletVersion v1.33.0, v1.34.0 required",
        ),
        (not_updating(), "Updating=False NotUpdating"),
        (updating_in_place(""), "Updating=True InPlaceUpdating: In-place update in progress"),
        (updating_in_place("half"), "Updating=True InPlaceUpdating: In-place update in progress: half"),
        (in_place_update_failed("no disk"), "Updating=True InPlaceUpdateFailed: no disk"),
        (
            update_machine_hook_failed(),
            "Updating=True InPlaceUpdateFailed: \
             UpdateMachine hook failed: please check controller logs for errors",
        ),
        (
            in_place_update_without_infrastructure(),
            "Updating=True InPlaceUpdateFailed: In-place update not possible: InfraMachine not found",
        ),
    ]);
}

#[test]
fn conditions_of_referenced_objects_read_as_upstreams() {
    let broken = json!({ "status": { "conditions": [{ "type": "Ready", "status": "Yes" }] } });
    let error = dynamic::read(&broken, types::READY).expect_err("the status is none of the three");
    let none = None::<&Condition>;
    check(&[
        (bootstrap_data_secret_provided(), "BootstrapConfigReady=True DataSecretProvided"),
        (BOOTSTRAP.fine(), "BootstrapConfigReady=True Ready"),
        (BOOTSTRAP.shown(none, "KubeadmConfig", true), "BootstrapConfigReady=True Ready"),
        (
            BOOTSTRAP.shown(none, "KubeadmConfig", false),
            "BootstrapConfigReady=False NotReady: \
             KubeadmConfig status.initialization.dataSecretCreated is false",
        ),
        (
            BOOTSTRAP.invalid(&error),
            "BootstrapConfigReady=Unknown InvalidConditionReported: \
             status.conditions[0].status must be one of True, False, Unknown, and is \"Yes\"",
        ),
        (BOOTSTRAP.unreadable(), "BootstrapConfigReady=Unknown InternalError: Please check controller logs for errors"),
        (
            BOOTSTRAP.missing("KubeadmConfig"),
            "BootstrapConfigReady=False ObjectDoesNotExist: KubeadmConfig does not exist",
        ),
        (BOOTSTRAP.gone("KubeadmConfig"), "BootstrapConfigReady=False ObjectDeleted: KubeadmConfig has been deleted"),
        (
            INFRASTRUCTURE.not_yet("DevMachine"),
            "InfrastructureReady=False NotReady: DevMachine status.initialization.provisioned is false",
        ),
        (
            INFRASTRUCTURE.gone_too_early("DevMachine"),
            "InfrastructureReady=False ObjectDeleted: DevMachine has been deleted while the Machine still exists",
        ),
    ]);
}
