use refit_api::cluster::{MachineReadinessGate, MachineTaint, TaintEffect, TaintPropagation};
use serde_json::json;

use super::*;
use crate::reading::Unreadable;
use crate::testing::{Store, machine_of, machine_set};

fn object(kind: &str, name: &str) -> Value {
    json!({ "apiVersion": "x.io/v1", "kind": kind, "metadata": { "name": name, "namespace": "ns", "uid": "u" } })
}

/// One pass over the machine `m` in the store.
fn pass(set: &MachineSet, store: &Store) -> Synced {
    let machine: Machine = store.typed("m").expect("it must be there");
    let read = |kind: &str| store.get(kind, "m").map_or(Read::Missing, Read::Found);
    let (infrastructure, bootstrap) = (read("Host"), read("Boot"));
    let parts = MachineParts { machine: &machine, infrastructure: &infrastructure, bootstrap: Some(&bootstrap) };
    sync(set, parts).expect("it must sync")
}

/// Passes until nothing is left to write.
fn settle(set: &MachineSet, store: &mut Store) {
    for _ in 0..5 {
        let effects = pass(set, store).effects;
        if effects.is_empty() {
            return;
        }
        store.carry_out(&effects);
    }
    panic!("it must settle");
}

fn world(set: &MachineSet) -> Store {
    let mut store = Store::default();
    store.insert_typed(&machine_of(set, "m"));
    store.insert(object("Host", "m"));
    store.insert(object("Boot", "m"));
    store
}

fn full_set() -> MachineSet {
    let mut set = machine_set("ms", 1);
    let spec = &mut set.spec.template.spec;
    spec.min_ready_seconds = Some(7);
    spec.deletion.node_drain_timeout_seconds = Some(30);
    spec.readiness_gates = vec![MachineReadinessGate { condition_type: "Gate".to_owned(), polarity: None }];
    spec.taints = vec![MachineTaint {
        key: "k".to_owned(),
        value: None,
        effect: TaintEffect::NoSchedule,
        propagation: TaintPropagation::Always,
    }];
    set.spec.template.metadata.annotations.insert("a".to_owned(), "b".to_owned());
    set
}

#[test]
fn what_reaches_machines_without_a_rollout_is_synced_and_the_rest_is_kept() {
    let mut set = full_set();
    set.spec.template.spec.version = Some("v1.99.0".to_owned());
    set.spec.template.spec.failure_domain = Some("elsewhere".to_owned());
    let mut store = world(&set);
    settle(&set, &mut store);
    let machine: Machine = store.typed("m").expect("it must be there");
    assert_eq!(machine.spec.version.as_deref(), Some("v1.31.0"), "a version changes by a rollout only");
    assert_eq!((machine.spec.failure_domain.as_deref(), machine.spec.min_ready_seconds), (None, Some(7)));
    assert_eq!((machine.spec.taints.len(), machine.spec.readiness_gates.len()), (1, 1));
    assert_eq!(machine.spec.deletion.node_drain_timeout_seconds, Some(30));
    for kind in ["Host", "Boot", "Machine"] {
        let metadata = &store.get(kind, "m").expect("it must be there")["metadata"];
        assert_eq!(metadata["annotations"]["a"], json!("b"), "{kind}");
        assert_eq!(metadata["labels"]["cluster.x-k8s.io/set-name"], json!("ms"), "{kind}");
    }
}

#[test]
fn what_leaves_the_template_leaves_the_machine() {
    let mut set = full_set();
    let mut store = world(&set);
    settle(&set, &mut store);
    set.spec.template.spec.taints.clear();
    set.spec.template.spec.min_ready_seconds = None;
    set.spec.template.metadata.annotations.clear();
    settle(&set, &mut store);
    let machine: Machine = store.typed("m").expect("it must be there");
    assert_eq!(
        (machine.spec.taints.len(), machine.spec.min_ready_seconds, machine.metadata.annotations),
        (0, None, None)
    );
}

#[test]
fn marks_of_an_update_survive_syncing() {
    let set = full_set();
    let mut store = world(&set);
    settle(&set, &mut store);
    let target = Target::of(&store.typed::<Machine>("m").expect("it must be there"));
    let mark = json!({ "metadata": { "annotations": { "in-place-updates.internal.cluster.x-k8s.io/update-in-progress": "" } } });
    store.carry_out(&[Effect::Patch(Patch::object(target, mark))]);
    assert_eq!(pass(&set, &store).effects, []);
    let machine: Machine = store.typed("m").expect("it must be there");
    assert!(fleet::is_updating(&machine));
}

#[test]
fn finalizers_of_others_stay() {
    let set = machine_set("ms", 1);
    let mut store = Store::default();
    let mut machine = machine_of(&set, "m");
    machine.metadata.finalizers = Some(vec!["foregroundDeletion".to_owned()]);
    store.insert_typed(&machine);
    store.carry_out(&pass(&set, &store).effects);
    let machine: Machine = store.typed("m").expect("it must be there");
    let expected = ["foregroundDeletion".to_owned(), "machine.cluster.x-k8s.io".to_owned()];
    assert_eq!(machine.metadata.finalizers.as_deref(), Some(&expected[..]));
}

#[test]
fn a_machine_that_is_going_gets_only_what_matters_for_its_going() {
    let set = full_set();
    let mut machine = machine_of(&set, "m");
    machine.metadata.deletion_timestamp = machine.metadata.creation_timestamp.clone();
    machine.metadata.finalizers = Some(vec!["held".to_owned()]);
    machine.spec.deletion.node_volume_detach_timeout_seconds = Some(1);
    let mut store = Store::default();
    store.insert_typed(&machine);
    let synced = pass(&set, &store);
    let [Effect::Patch(patch)] = &synced.effects[..] else { panic!("{synced:?}") };
    let expected = json!({ "spec": {
        "deletion": {
            "nodeDrainTimeoutSeconds": 30,
            "nodeDeletionTimeoutSeconds": 10,
            "nodeVolumeDetachTimeoutSeconds": null,
        },
        "minReadySeconds": 7,
        "readinessGates": [{ "conditionType": "Gate" }],
        "taints": [{ "key": "k", "effect": "NoSchedule", "propagation": "Always" }],
    } });
    assert_eq!(patch.merge, expected);
    assert_eq!(synced.problems, [], "its objects may be gone");
    store.carry_out(&synced.effects);
    assert_eq!(pass(&set, &store), Synced::default());
}

#[test]
fn missing_objects_are_told_and_the_machine_is_synced_all_the_same() {
    let set = machine_set("ms", 1);
    let mut store = Store::default();
    store.insert_typed(&machine_of(&set, "m"));
    let synced = pass(&set, &store);
    assert!(matches!(&synced.effects[..], [Effect::Apply(_)]), "{synced:?}");
    let words: Vec<String> = synced.problems.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["Host m does not exist", "Boot m does not exist"]);
    let machine = machine_of(&set, "m");
    let unreadable = Read::Unreadable(Unreadable { what: "Host m".to_owned(), why: "forbidden".to_owned() });
    let parts = MachineParts { machine: &machine, infrastructure: &unreadable, bootstrap: None };
    let words: Vec<String> =
        sync(&set, parts).expect("it must sync").problems.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["Host m could not be read: forbidden", "Boot m does not exist"]);
}

#[test]
fn nonsense_is_told_in_words() {
    let set = machine_set("ms", 1);
    let mut machine = machine_of(&set, "m");
    machine.metadata.uid = None;
    let missing = Read::Missing;
    let parts = MachineParts { machine: &machine, infrastructure: &missing, bootstrap: None };
    let error = sync(&set, parts).expect_err("it must be refused");
    assert_eq!(error.to_string(), "Machine m has no uid: it was not read from the API");
}

#[test]
fn owners_that_the_api_server_forgot_are_mended_before_anything_is_applied() {
    let set = machine_set("ms", 1);
    let machine = machine_of(&set, "m");
    let missing = Read::Missing;
    let parts = MachineParts { machine: &machine, infrastructure: &missing, bootstrap: None };
    let synced = sync(&set, parts).expect("it must sync");
    let [Effect::Patch(patch)] = &synced.effects[..] else { panic!("{synced:?}") };
    assert_eq!(patch.resource_version.as_deref(), Some("1"));
    assert_eq!(patch.merge["metadata"]["managedFields"][0]["manager"], json!("capi-machineset"));
}
