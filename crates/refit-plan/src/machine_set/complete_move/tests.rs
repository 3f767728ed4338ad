use refit_api::cluster::Machine;
use serde_json::{Value, json};

use super::*;
use crate::machine::progress::Progress;
use crate::reading::Read;
use crate::testing::{CREATED, Store, at, machine_of, machine_set, template};

/// The MachineSet `new`, whose machines are larger and newer.
fn new_set() -> MachineSet {
    let mut set = machine_set("new", 1);
    set.spec.template.spec.version = Some("v1.32.0".to_owned());
    set.spec.template.spec.failure_domain = Some("fd2".to_owned());
    set
}

/// A machine that has just been moved to `new`.
fn moved() -> Machine {
    let mut machine = machine_of(&new_set(), "m");
    let marks = [(UPDATE_IN_PROGRESS, ""), (PENDING_ACKNOWLEDGE_MOVE, "")];
    machine.metadata.annotations = Some(crate::testing::labels_of(&marks));
    machine
}

fn object(kind: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "x.io/v1", "kind": kind, "spec": spec,
        "metadata": {
            "name": "m", "namespace": "ns", "uid": "u", "labels": { "kept": "1" },
            "ownerReferences": [
                { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "uid-m", "controller": true },
            ],
        },
    })
}

fn world() -> Store {
    let mut store = Store::default();
    store.insert_typed(&moved());
    store.insert(object("Host", json!({ "cpus": 2 })));
    store.insert(object("Boot", json!({ "files": ["a"] })));
    store
}

fn pass(store: &Store) -> Result<Vec<Effect>, CompleteError> {
    let host = template("HostTemplate", "new-host", json!({ "cpus": 4 }));
    let boot = template("BootTemplate", "new-boot", json!({ "files": ["b"] }));
    let templates = Templates { infrastructure: &host, bootstrap: Some(&boot) };
    let machine: Machine = store.typed("m").expect("it must be there");
    let read = |kind: &str| store.get(kind, "m").map_or(Read::Missing, Read::Found);
    let (infrastructure, bootstrap) = (read("Host"), read("Boot"));
    let parts = MachineParts { machine: &machine, infrastructure: &infrastructure, bootstrap: Some(&bootstrap) };
    complete_move(&new_set(), templates, parts, at(CREATED))
}

#[test]
fn the_host_comes_first_and_the_mark_for_the_hook_last() {
    let effects = pass(&world()).expect("it must be completed");
    let order: Vec<String> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Apply(apply) => format!("apply {} as {}", apply.target.kind, apply.manager),
            Effect::Patch(patch) => format!("patch {}", patch.target.kind),
            Effect::Delete(delete) => format!("delete {}", delete.target.kind),
            Effect::Emit(event) => format!("{}: {}", event.reason, event.message),
        })
        .collect();
    let expected = ["apply Host as capi-machineset", "apply Boot as capi-machineset", "patch Machine"];
    assert_eq!(order, expected);
}

#[test]
fn a_completed_move_has_the_specs_of_the_new_machine_set() {
    let mut store = world();
    store.carry_out(&pass(&store).expect("it must be completed"));
    let host = store.get("Host", "m").expect("it must be there");
    assert_eq!(host["spec"], json!({ "cpus": 4 }));
    assert_eq!(host["metadata"]["labels"], json!({ "kept": "1" }), "labels are another manager's");
    assert_eq!(host["metadata"]["ownerReferences"][0]["kind"], json!("Machine"));
    assert_eq!(host["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1), "a Machine owns it already");
    let annotations = json!({
        "cluster.x-k8s.io/cloned-from-name": "new-host",
        "cluster.x-k8s.io/cloned-from-groupkind": "HostTemplate.x.io",
        UPDATE_IN_PROGRESS: "",
    });
    assert_eq!(host["metadata"]["annotations"], annotations);
    assert_eq!(store.get("Boot", "m").expect("it must be there")["spec"], json!({ "files": ["b"] }));
    let machine: Machine = store.typed("m").expect("it must be there");
    assert_eq!(machine.spec.version.as_deref(), Some("v1.32.0"));
    assert_eq!(machine.spec.failure_domain.as_deref(), Some("fd2"));
    assert_eq!(machine.spec.infrastructure_ref, crate::testing::reference("Host", "m"), "its objects stay its own");
}

#[test]
fn the_mark_of_the_move_goes_with_the_mark_for_the_hook() {
    let effects = pass(&world()).expect("it must be completed");
    let Effect::Patch(patch) = &effects[2] else { panic!("it must be a patch") };
    let progress = Progress::handed_over(None, at(CREATED)).encode();
    let annotations =
        json!({ PENDING_ACKNOWLEDGE_MOVE: null, PENDING_HOOKS: "UpdateMachine", UPDATE_PROGRESS: progress });
    let spec = json!({ "version": "v1.32.0", "failureDomain": "fd2" });
    assert_eq!(patch.merge, json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    assert_eq!(patch.target.uid.as_deref(), Some("uid-m"));
}

#[test]
fn what_is_as_wanted_is_not_written_to() {
    let mut store = world();
    store.carry_out(&pass(&store).expect("it must be completed"));
    let mut again = moved();
    again.spec.version = new_set().spec.template.spec.version;
    again.spec.failure_domain = new_set().spec.template.spec.failure_domain;
    store.insert_typed(&again);
    let effects = pass(&store).expect("it must be completed");
    let [Effect::Patch(patch)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(patch.merge.get("spec"), None);
}

#[test]
fn other_hooks_that_are_pending_stay() {
    let mut store = world();
    let mut machine = moved();
    machine.metadata.annotations.get_or_insert_default().insert(PENDING_HOOKS.to_owned(), "Zeta".to_owned());
    store.insert_typed(&machine);
    store.carry_out(&pass(&store).expect("it must be completed"));
    let machine: Machine = store.typed("m").expect("it must be there");
    assert_eq!(machine.metadata.annotations.expect("it must have some")[PENDING_HOOKS], "UpdateMachine,Zeta");
}

#[test]
fn a_crash_at_any_write_of_a_move_is_repaired_by_deciding_again() {
    let mut whole = world();
    let effects = pass(&whole).expect("it must be completed");
    whole.carry_out(&effects);
    for crash in 0..effects.len() - 2 {
        let mut store = world();
        store.carry_out(&effects[..crash]);
        store.carry_out(&pass(&store).expect("it must be completed"));
        assert_eq!(store.contents(), whole.contents(), "after {crash} writes");
    }
    let again = pass(&whole).expect_err("it is done");
    assert_eq!(again.to_string(), "Machine m is not waiting for its update to begin: it is Updating");
}

#[test]
fn stages_follow_from_the_marks() {
    let check = |marks: &[(&str, &str)], expected: Stage| {
        let mut machine = moved();
        machine.metadata.annotations = Some(crate::testing::labels_of(marks));
        assert_eq!(stage(&machine), expected, "{marks:?}");
    };
    let hook = (PENDING_HOOKS, "UpdateMachine");
    check(&[], Stage::Settled);
    check(&[(PENDING_ACKNOWLEDGE_MOVE, "")], Stage::Settled);
    check(&[(UPDATE_IN_PROGRESS, ""), (PENDING_ACKNOWLEDGE_MOVE, "")], Stage::Moved);
    check(&[(UPDATE_IN_PROGRESS, "")], Stage::Released);
    check(&[(UPDATE_IN_PROGRESS, ""), hook], Stage::Updating);
    check(&[hook], Stage::Finishing);
}

/// Facts 10.2 h: upstream goes on with machines that are being deleted, and fails as their objects go.
#[test]
fn a_machine_that_is_being_deleted_is_not_updated_any_more() {
    let mut store = world();
    let mut machine = moved();
    machine.metadata.deletion_timestamp = machine.metadata.creation_timestamp.clone();
    machine.metadata.finalizers = Some(vec!["held".to_owned()]);
    store.insert_typed(&machine);
    assert_eq!(pass(&store), Err(CompleteError::Deleting("m".to_owned())));
}

#[test]
fn nonsense_is_told_in_words() {
    let check = |change: &dyn Fn(&mut Store), expected: &str| {
        let mut store = world();
        change(&mut store);
        let error = pass(&store).expect_err("it must be refused");
        let CompleteError::Objects { name, source } = error else { panic!("{error:?}") };
        assert_eq!((name.as_str(), source.to_string().as_str()), ("m", expected));
    };
    let delete = |store: &mut Store, kind: &str| {
        let target = Target::of_value(&store.get(kind, "m").expect("it must be there"));
        store.carry_out(&[Effect::Delete(crate::effect::Delete::at_any_version(target))]);
    };
    check(&|store| delete(store, "Host"), "Host m does not exist");
    check(&|store| delete(store, "Boot"), "Boot m does not exist");
    // Facts 10.2 p: an apply under another kind could only fail after the move.
    let other = |store: &mut Store| {
        let mut host = object("Host", json!({}));
        host["apiVersion"] = json!("other.io/v1");
        store.insert(host);
    };
    check(&other, "Host m cannot become Host: an object never changes its kind");
}

#[test]
fn bootstrap_on_one_side_only_is_told_in_words() {
    let mut set = new_set();
    set.spec.template.spec.bootstrap.config_ref = None;
    let host = template("HostTemplate", "new-host", json!({}));
    let (machine, found) = (moved(), Read::Found(object("Host", json!({}))));
    let config = Read::Found(object("Boot", json!({})));
    let parts = MachineParts { machine: &machine, infrastructure: &found, bootstrap: Some(&config) };
    let templates = Templates { infrastructure: &host, bootstrap: None };
    let error = writes(&set, templates, parts).expect_err("it must be refused");
    assert_eq!(error.to_string(), "MachineSet new has no bootstrap template, although its Machine has a configuration");
}
