use super::*;
use crate::cluster::MachineDeployment;

const MACHINE_SET: OwnerKind<'static> = OwnerKind { group: "cluster.x-k8s.io", kind: "MachineSet" };

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..Default::default()
    }
}

fn machine_set(version: &str, name: &str, uid: &str) -> OwnerReference {
    owner(&format!("cluster.x-k8s.io/{version}"), "MachineSet", name, uid)
}

fn controlling(reference: OwnerReference) -> OwnerReference {
    OwnerReference { controller: Some(true), ..reference }
}

#[test]
fn ensure_takes_over_version_and_uid_in_place() {
    let other = machine_set("v1beta2", "other", "0");
    let mut owners = vec![machine_set("v1beta1", "ms", "1"), other.clone()];
    ensure(&mut owners, controlling(machine_set("v1beta2", "ms", "2")));
    assert_eq!(owners, [controlling(machine_set("v1beta2", "ms", "2")), other.clone()]);
    ensure(&mut owners, machine_set("v1beta2", "third", "3"));
    assert_eq!(owners.len(), 3);
    assert_eq!(owners[2], machine_set("v1beta2", "third", "3"));
}

#[test]
fn group_kind_and_name_make_an_owner() {
    let base = machine_set("v1beta2", "ms", "1");
    let cases = [
        (machine_set("v1beta1", "ms", "2"), true),
        (machine_set("v1beta2", "ms2", "1"), false),
        (owner("cluster.x-k8s.io/v1beta2", "Machine", "ms", "1"), false),
        (owner("other.io/v1beta2", "MachineSet", "ms", "1"), false),
        (owner("v1", "MachineSet", "ms", "1"), false),
        (owner("cluster.x-k8s.io/v1/x", "MachineSet", "ms", "1"), false),
    ];
    for (other, expected) in cases {
        assert_eq!(contains(std::slice::from_ref(&base), &other), expected, "{other:?}");
    }
    let unreadable = owner("a/b/c", "MachineSet", "ms", "1");
    assert!(!contains(std::slice::from_ref(&unreadable), &unreadable));
}

#[test]
fn exact_references_differ_by_version_uid_and_flag() {
    let base = machine_set("v1beta2", "ms", "1");
    let not_controlling = OwnerReference { controller: Some(false), block_owner_deletion: Some(true), ..base.clone() };
    let cases = [
        (base.clone(), true),
        (not_controlling, true),
        (controlling(base.clone()), false),
        (machine_set("v1beta1", "ms", "1"), false),
        (machine_set("v1beta2", "ms", "2"), false),
    ];
    for (other, expected) in cases {
        assert_eq!(contains_exact(std::slice::from_ref(&base), &other), expected, "{other:?}");
    }
}

#[test]
fn replace_goes_by_uid_alone() {
    let mut owners = vec![machine_set("v1beta2", "old", "1")];
    replace(&mut owners, "1", machine_set("v1beta2", "new", "2"));
    assert_eq!(owners, [machine_set("v1beta2", "new", "2")]);
    replace(&mut owners, "gone", machine_set("v1beta2", "third", "3"));
    assert_eq!(owners.len(), 2);
}

#[test]
fn remove_ignores_version_and_uid() {
    let mut owners = vec![machine_set("v1beta1", "ms", "1"), machine_set("v1beta2", "other", "2")];
    remove(&mut owners, &machine_set("v1beta2", "ms", "9"));
    assert_eq!(owners, [machine_set("v1beta2", "other", "2")]);
    remove(&mut owners, &machine_set("v1beta2", "ms", "9"));
    assert_eq!(owners.len(), 1);
}

#[test]
fn the_controller_is_known_by_uid_or_by_name() {
    let owners = [machine_set("v1beta2", "plain", "1"), controlling(machine_set("v1beta1", "ms", "2"))];
    assert_eq!(controller_of(&owners).map(|owner| owner.name.as_str()), Some("ms"));
    assert!(is_controlled_by_uid(&owners, "2") && !is_controlled_by_uid(&owners, "1"));
    assert!(is_controlled_by_name(&owners, MACHINE_SET, "ms"));
    assert!(!is_controlled_by_name(&owners, MACHINE_SET, "plain"));
    assert!(is_owned_by_name(&owners, MACHINE_SET, "plain"));
    assert_eq!(find(&owners, MACHINE_SET).map(|owner| owner.uid.as_str()), Some("1"));
    assert_eq!(find(&owners, OwnerKind { group: "", kind: "MachineSet" }), None);
    assert_eq!(controller_of(&owners[..1]), None);
}

#[test]
fn controllers_block_the_deletion_of_their_owner() {
    let mut deployment = MachineDeployment::default();
    assert_eq!(controller_ref(&deployment), None);
    deployment.metadata.name = Some("md".to_owned());
    deployment.metadata.uid = Some("7".to_owned());
    let expected = OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..owner("cluster.x-k8s.io/v1beta2", "MachineDeployment", "md", "7")
    };
    assert_eq!(controller_ref(&deployment), Some(expected));
}
