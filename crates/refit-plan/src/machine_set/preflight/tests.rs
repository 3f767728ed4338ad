use refit_api::cluster::Topology;
use serde_json::json;

use super::*;
use crate::reading::Unreadable;
use crate::testing::{cluster, labels_of, machine_set, reference};

struct World {
    set: MachineSet,
    cluster: Cluster,
    control_plane: Read<Value>,
    template: Value,
}

/// A MachineSet of v1.31.0 with a control plane that wants and runs v1.31.0.
fn world() -> World {
    let control_plane =
        json!({ "spec": { "version": "v1.31.0" }, "status": { "versions": [{ "version": "v1.31.0" }] } });
    World {
        set: machine_set("ms", 1),
        cluster: cluster(),
        control_plane: Read::Found(control_plane),
        template: json!({}),
    }
}

fn set_control_plane(world: &mut World, control_plane: Value) {
    world.control_plane = Read::Found(control_plane);
}

fn set_topology(world: &mut World, version: &str) {
    world.cluster.spec.topology = Some(Topology { version: version.to_owned(), ..Topology::default() });
}

fn check(change: impl FnOnce(&mut World), expected: &[&str]) {
    let mut world = world();
    change(&mut world);
    let checks = Checks {
        set: &world.set,
        cluster: &world.cluster,
        control_plane: Some(&world.control_plane),
        bootstrap_template: Some(&world.template),
    };
    assert_eq!(preflight(checks).problems(), expected);
}

#[test]
fn a_stable_control_plane_passes() {
    check(|_| (), &[]);
    check(
        |world| {
            set_control_plane(world, json!({ "spec": { "version": "v1.31.0" }, "status": { "version": "v1.31.0" } }))
        },
        &[],
    );
    check(|world| set_control_plane(world, json!({ "spec": {} })), &[]);
}

#[test]
fn a_control_plane_that_is_made_or_upgraded_is_waited_for() {
    let provisioning = "ControlPlane ns/cp is provisioning (\"ControlPlaneIsStable\" preflight check failed)";
    let upgrading = "ControlPlane ns/cp is upgrading (\"ControlPlaneIsStable\" preflight check failed)";
    check(|world| set_control_plane(world, json!({ "spec": { "version": "v1.31.0" } })), &[provisioning]);
    let behind = json!([{ "version": "v1.30.5" }, { "version": "v1.31.0" }]);
    check(
        |world| set_control_plane(world, json!({ "spec": { "version": "v1.31.0" }, "status": { "versions": behind } })),
        &[upgrading],
    );
    check(
        |world| {
            set_control_plane(world, json!({ "spec": { "version": "v1.31.0" }, "status": { "version": "v1.30.0" } }))
        },
        &[upgrading],
    );
}

#[test]
fn an_upgrade_of_the_topology_is_waited_for() {
    let pending =
        "ControlPlane ns/cp has a pending version upgrade to v1.32.0 (\"ControlPlaneIsStable\" preflight check failed)";
    check(|world| set_topology(world, "v1.32.0"), &[pending]);
    check(
        |world| {
            set_topology(world, "v1.32.0");
            world.cluster.metadata.annotations = Some(labels_of(&[(TOPOLOGY_UPGRADE_STEP, "v1.31.0")]));
        },
        &[],
    );
}

#[test]
fn kubelets_stay_within_the_skew_of_kubernetes() {
    let version =
        |text: &'static str| move |world: &mut World| world.set.spec.template.spec.version = Some(text.to_owned());
    check(version("v1.28.0"), &[]);
    check(
        version("v1.32.0"),
        &[
            "MachineSet version (1.32.0) and ControlPlane version (1.31.0) do not conform to the kubernetes version skew \
           policy as MachineSet version is higher than ControlPlane version (\"KubernetesVersionSkew\" preflight check failed)",
        ],
    );
    check(
        version("v1.27.0"),
        &[
            "MachineSet version (1.27.0) and ControlPlane version (1.31.0) do not conform to the kubernetes version skew \
           policy as MachineSet version is more than 3 minor versions older than the ControlPlane version \
           (\"KubernetesVersionSkew\" preflight check failed)",
        ],
    );
    check(version(""), &[]);
}

#[test]
fn kubeadm_joins_the_same_minor_only() {
    check(
        |world| {
            let mut template = reference("KubeadmConfigTemplate", "t");
            template.api_group = refit_api::bootstrap::GROUP.to_owned();
            world.set.spec.template.spec.bootstrap.config_ref = Some(template);
            world.set.spec.template.spec.version = Some("v1.30.0".to_owned());
        },
        &[
            "MachineSet version (1.30.0) and ControlPlane version (1.31.0) do not conform to kubeadm version skew policy as \
           kubeadm only supports joining with the same major+minor version as the control plane \
           (\"KubeadmVersionSkew\" preflight check failed)",
        ],
    );
}

#[test]
fn machines_of_a_topology_have_the_version_of_the_control_plane() {
    check(
        |world| {
            set_topology(world, "v1.31.0");
            world.set.spec.template.spec.version = Some("v1.31.1".to_owned());
        },
        &[
            "MachineSet version (v1.31.1) is not yet the same as the ControlPlane version (v1.31.0), waiting for version to \
           be propagated to the MachineSet (\"ControlPlaneVersionSkew\" preflight check failed)",
        ],
    );
}

#[test]
fn checks_are_skipped_as_the_machine_set_says_or_else_its_template() {
    let skewed = |skip: &'static str, on_template: bool| {
        move |world: &mut World| {
            world.set.spec.template.spec.version = Some("v1.99.0".to_owned());
            let skip = labels_of(&[(SKIP_PREFLIGHT_CHECKS, skip)]);
            if on_template {
                world.template = json!({ "metadata": { "annotations": skip } });
            } else {
                world.set.metadata.annotations = Some(skip);
            }
        }
    };
    for on_template in [false, true] {
        check(skewed("All", on_template), &[]);
        check(skewed("KubeadmVersionSkew , KubernetesVersionSkew", on_template), &[]);
    }
}

#[test]
fn what_cannot_be_checked_is_told_and_nothing_is_created() {
    check(
        |world| world.control_plane = Read::Missing,
        &["preflight checks could not be made: ControlPlane ns/cp does not exist"],
    );
    let failed = Unreadable { what: "ControlPlane cp".to_owned(), why: "timeout".to_owned() };
    check(
        |world| world.control_plane = Read::Unreadable(failed),
        &["preflight checks could not be made: ControlPlane cp could not be read: timeout"],
    );
    check(
        |world| set_control_plane(world, json!({ "spec": { "version": 7 } })),
        &["preflight checks could not be made: field spec.version must be a string, found a number"],
    );
    check(
        |world| world.set.spec.template.spec.version = Some("newest".to_owned()),
        &["preflight checks could not be made: version \"newest\" is not a semantic version"],
    );
    let world = world();
    let checks = Checks { set: &world.set, cluster: &world.cluster, control_plane: None, bootstrap_template: None };
    assert_eq!(preflight(checks), Preflight::Passed, "a Cluster without a control plane object");
}
