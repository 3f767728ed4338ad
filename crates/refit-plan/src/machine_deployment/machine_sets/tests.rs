use refit_api::cluster::{MachineSetDeletionOrder, MachineTaint, TaintEffect, TaintPropagation};
use refit_api::naming::RandomSuffix;
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, DISABLE_MACHINE_CREATE, MAX_REPLICAS, MOVE_MACHINES_TO_MACHINESET,
    RECEIVE_MACHINES_FROM_MACHINESETS, REVISION_HISTORY,
};
use refit_api::vocabulary::labels::MACHINE_TEMPLATE_HASH;

use super::*;
use crate::testing::{Store, labels_of, machine_deployment, machine_of, machine_set};

fn deployment() -> MachineDeployment {
    let mut deployment = machine_deployment(3);
    deployment.metadata.annotations = Some(labels_of(&[("user", "x"), (REVISION, "7"), (MAX_REPLICAS, "99")]));
    deployment
}

fn intent(replicas: i32) -> Intent {
    let revision = Revision { number: 2, history: None };
    Intent { replicas, max_surge: 1, revision: Some(revision), ..Intent::default() }
}

fn handover(replicas: i32, annotations: &[(&str, &str)]) -> Intent {
    Intent { annotations: labels_of(annotations), ..intent(replicas) }
}

fn suffix() -> RandomSuffix {
    RandomSuffix::from_random(0)
}

fn new(intent: Intent) -> Decided<'static> {
    Decided { base: Base::New(suffix()), intent }
}

/// What a pass writes about the MachineSets in the store: first the one named `new`, created if it is not there.
fn pass(store: &Store, deployment: &MachineDeployment, new_intent: &Intent, old_intent: &Intent) -> Vec<Effect> {
    let sets: Vec<MachineSet> = store.list_typed();
    let is_new = |set: &MachineSet| name(set).starts_with("md-");
    let base = sets.iter().find(|set| is_new(set)).map_or(Base::New(suffix()), Base::Existing);
    let old: Vec<Decided<'_>> = sets
        .iter()
        .filter(|set| !is_new(set))
        .map(|set| Decided { base: Base::Existing(set), intent: Intent { revision: None, ..old_intent.clone() } })
        .collect();
    write(deployment, Some(&Decided { base, intent: new_intent.clone() }), &old).expect("they must be written")
}

fn settle(store: &mut Store, deployment: &MachineDeployment, new: &Intent, old: &Intent) {
    for _ in 0..5 {
        let effects = pass(store, deployment, new, old);
        if effects.is_empty() {
            return;
        }
        store.carry_out(&effects);
    }
    panic!("it must settle");
}

#[test]
fn a_new_machine_set_has_all_that_the_table_says() {
    let deployment = deployment();
    let set = desired(&deployment, &new(intent(1))).expect("it must be computed");
    assert_eq!(set.metadata.name.as_deref(), Some("md-bbbbb"));
    assert_eq!((set.metadata.uid.clone(), set.metadata.finalizers.clone()), (None, None));
    let hash = set.metadata.labels.clone().expect("it must have labels")[MACHINE_TEMPLATE_HASH].clone();
    let (digits, random) = hash.split_once('-').expect("it must have a dash");
    assert!(digits.parse::<u32>().is_ok() && random == "bbbbb", "{hash}");
    assert_eq!(set.spec.template.metadata.labels[MACHINE_TEMPLATE_HASH], hash);
    assert_eq!(set.spec.selector.match_labels.clone().expect("it must select")[MACHINE_TEMPLATE_HASH], hash);
    assert_eq!(set.metadata.labels.clone().expect("it must have labels")["cluster.x-k8s.io/deployment-name"], "md");
    let expected = labels_of(&[
        ("user", "x"),
        ("machinedeployment.clusters.x-k8s.io/desired-replicas", "3"),
        (MAX_REPLICAS, "4"),
        (DISABLE_MACHINE_CREATE, "false"),
        (REVISION, "2"),
    ]);
    assert_eq!(set.metadata.annotations, Some(expected));
    let owner = set.metadata.owner_references.expect("it must have an owner").remove(0);
    assert_eq!(
        (owner.kind.as_str(), owner.controller, owner.block_owner_deletion),
        ("MachineDeployment", Some(true), Some(true))
    );
    assert_eq!(set.spec.template.spec, deployment.spec.template.spec);
}

#[test]
fn an_existing_machine_set_keeps_its_template_but_for_what_needs_no_rollout() {
    let mut deployment = deployment();
    deployment.spec.deletion.order = Some(MachineSetDeletionOrder::Oldest);
    let wanted = &mut deployment.spec.template.spec;
    wanted.version = Some("v1.99.0".to_owned());
    wanted.min_ready_seconds = Some(9);
    wanted.deletion.node_drain_timeout_seconds = Some(5);
    wanted.taints.push(MachineTaint {
        key: "k".to_owned(),
        value: None,
        effect: TaintEffect::NoExecute,
        propagation: TaintPropagation::Always,
    });
    let mut existing = machine_set("old", 3);
    existing.metadata.finalizers = Some(vec!["f".to_owned()]);
    existing.metadata.annotations =
        Some(labels_of(&[(REVISION, "1"), (REVISION_HISTORY, "0"), (ACKNOWLEDGED_MOVE, "m")]));
    let decided = Decided { base: Base::Existing(&existing), intent: Intent { revision: None, ..intent(2) } };
    let set = desired(&deployment, &decided).expect("it must be computed");
    assert_eq!((set.metadata.name.as_deref(), set.metadata.uid.as_deref()), (Some("old"), Some("uid-old")));
    assert_eq!(set.metadata.finalizers, existing.metadata.finalizers);
    assert_eq!(set.spec.template.spec.version.as_deref(), Some("v1.31.0"));
    assert_eq!(set.spec.template.spec.infrastructure_ref, existing.spec.template.spec.infrastructure_ref);
    assert_eq!((set.spec.template.spec.min_ready_seconds, set.spec.template.spec.taints.len()), (Some(9), 1));
    assert_eq!(set.spec.template.spec.deletion.node_drain_timeout_seconds, Some(5));
    assert_eq!((set.spec.deletion.order, set.spec.replicas), (Some(MachineSetDeletionOrder::Oldest), Some(2)));
    let annotations = set.metadata.annotations.expect("it must have some");
    assert_eq!((annotations[REVISION].as_str(), annotations[REVISION_HISTORY].as_str()), ("1", "0"));
    assert!(!annotations.contains_key(ACKNOWLEDGED_MOVE), "what a pass does not say is gone");
}

#[test]
fn the_new_machine_set_is_written_first_and_one_that_is_going_last() {
    let deployment = deployment();
    let mut store = Store::default();
    let mut going = machine_set("going", 1);
    going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
    going.metadata.finalizers = Some(vec!["held".to_owned()]);
    store.insert_typed(&going);
    store.insert_typed(&machine_set("old", 3));
    let effects = pass(&store, &deployment, &intent(1), &intent(2));
    let order: Vec<String> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Apply(apply) => format!("{} as {}", apply.target.name, apply.manager),
            Effect::Emit(event) => format!("{}: {}", event.reason, event.message),
            Effect::Patch(patch) => format!("patch {}", patch.target.name),
            Effect::Delete(delete) => format!("delete {}", delete.target.name),
        })
        .collect();
    let expected = [
        "md-bbbbb as capi-machinedeployment",
        "SuccessfulCreate: Created MachineSet ns/md-bbbbb with 1 replicas",
        "old as capi-machinedeployment",
        "SuccessfulScale: Scaled down MachineSet old: 3 -> 2",
        "going as capi-machinedeployment",
        "SuccessfulScale: Scaled up MachineSet going: 1 -> 2",
    ];
    assert_eq!(order, expected);
}

#[test]
fn all_that_is_decided_about_one_machine_set_is_one_write() {
    let deployment = deployment();
    let mut store = Store::default();
    store.insert_typed(&machine_set("old", 3));
    let receive = handover(1, &[(RECEIVE_MACHINES_FROM_MACHINESETS, "old"), (ACKNOWLEDGED_MOVE, "m1")]);
    let give = handover(2, &[(MOVE_MACHINES_TO_MACHINESET, "md-bbbbb")]);
    let effects = pass(&store, &deployment, &receive, &give);
    let applies = effects.iter().filter(|effect| matches!(effect, Effect::Apply(_))).count();
    assert_eq!(applies, 2);
    store.carry_out(&effects);
    assert_eq!(pass(&store, &deployment, &receive, &give), [], "nothing is left to write");
    let old: MachineSet = store.typed("old").expect("it must be there");
    assert_eq!(old.metadata.annotations.expect("it must have some")[MOVE_MACHINES_TO_MACHINESET], "md-bbbbb");
}

#[test]
fn annotations_of_a_move_are_gone_when_a_pass_does_not_say_them() {
    let deployment = deployment();
    let mut store = Store::default();
    store.insert_typed(&machine_set("old", 3));
    let give = handover(2, &[(MOVE_MACHINES_TO_MACHINESET, "md-bbbbb")]);
    settle(&mut store, &deployment, &intent(1), &give);
    settle(&mut store, &deployment, &intent(1), &intent(2));
    let old: MachineSet = store.typed("old").expect("it must be there");
    assert!(!old.metadata.annotations.expect("it must have some").contains_key(MOVE_MACHINES_TO_MACHINESET));
}

#[test]
fn a_crash_at_any_write_ends_in_the_same_place() {
    let deployment = deployment();
    let mut start = Store::default();
    start.insert_typed(&machine_set("old", 3));
    let receive = handover(1, &[(RECEIVE_MACHINES_FROM_MACHINESETS, "old")]);
    let give = handover(2, &[(MOVE_MACHINES_TO_MACHINESET, "md-bbbbb")]);
    let effects = pass(&start, &deployment, &receive, &give);
    let mut whole = start.clone();
    settle(&mut whole, &deployment, &receive, &give);
    for crash in 0..=effects.len() {
        let mut store = start.clone();
        store.carry_out(&effects[..crash]);
        let old: MachineSet = store.typed("old").expect("it must be there");
        let gives = old.metadata.annotations.is_some_and(|map| map.contains_key(MOVE_MACHINES_TO_MACHINESET));
        assert!(!gives || store.list("MachineSet").len() == 2, "nobody gives before somebody takes");
        settle(&mut store, &deployment, &receive, &give);
        assert_eq!(store.contents(), whole.contents(), "after {crash} writes");
    }
}

#[test]
fn the_revision_is_shown_once_and_never_emptied() {
    let deployment = deployment();
    let revision = |number| Revision { number, history: None };
    assert_eq!(show_revision(&deployment, Some(&revision(7))), None);
    assert_eq!(show_revision(&deployment, None), None, "facts 10.2 f");
    let Some(Effect::Patch(patch)) = show_revision(&deployment, Some(&revision(8))) else { panic!("it must be shown") };
    assert_eq!(patch.merge, json!({ "metadata": { "annotations": { REVISION: "8" } } }));
}

#[test]
fn only_drained_machine_sets_are_deleted_oldest_first() {
    let deployment = deployment();
    let drained = |name: &str| {
        let mut set = machine_set(name, 0);
        set.status.observed_generation = Some(1);
        set.status.replicas = Some(0);
        set
    };
    let changed = |name: &str, change: &dyn Fn(&mut MachineSet)| {
        let mut set = drained(name);
        change(&mut set);
        set
    };
    // Machines may be on their way to it.
    let annotated = |name: &str, key: &str, value: &str| {
        changed(name, &|set| {
            set.metadata.annotations.get_or_insert_default().extend([(key.to_owned(), value.to_owned())])
        })
    };
    let sets = [
        drained("b"),
        drained("a"),
        changed("wanted", &|set| set.spec.replicas = Some(1)),
        changed("unset", &|set| set.spec.replicas = None),
        changed("counted", &|set| set.status.replicas = Some(1)),
        changed("unobserved", &|set| set.status.observed_generation = None),
        changed("going", &|set| set.metadata.deletion_timestamp = set.metadata.creation_timestamp.clone()),
        drained("controls"),
        annotated("held", HOLD, "7"),
        annotated("receives", RECEIVE_MACHINES_FROM_MACHINESETS, "gives"),
        drained("target"),
    ];
    let mut gives = annotated("gives", MOVE_MACHINES_TO_MACHINESET, "target");
    gives.status.replicas = Some(1);
    let machines = [machine_of(&sets[7], "m")];
    let (old, all): (Vec<&MachineSet>, Vec<&MachineSet>) =
        (sets.iter().collect(), sets.iter().chain([&gives]).collect());
    let effects = delete_drained(&deployment, &all, &old, &machines.iter().collect::<Vec<_>>());
    let deleted: Vec<&str> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Delete(delete) => delete.target.uid.as_deref(),
            Effect::Apply(_) | Effect::Patch(_) | Effect::Emit(_) => None,
        })
        .collect();
    assert_eq!(deleted, ["uid-a", "uid-b"]);
    assert!(matches!(&effects[1], Effect::Emit(event) if event.message == "Deleted MachineSet \"a\""));
}

#[test]
fn nonsense_is_told_in_words() {
    let check = |deployment: &MachineDeployment, decided: &Decided<'_>, expected: &str| {
        let error = desired(deployment, decided).expect_err("it must be refused");
        assert_eq!(error.to_string(), expected);
    };
    check(&deployment(), &new(intent(-1)), "MachineSet md-bbbbb cannot have -1 replicas");
    let mut unset = deployment();
    unset.spec.replicas = None;
    check(&unset, &new(intent(0)), "spec.replicas of MachineDeployment md is not set");
    let mut unknown = deployment();
    unknown.metadata.uid = None;
    let words = "MachineDeployment \"md\" has no name or no uid, so nothing can belong to it";
    check(&unknown, &new(intent(0)), words);
    let mut existing = machine_set("old", 1);
    existing.metadata.labels = None;
    let decided = Decided { base: Base::Existing(&existing), intent: intent(0) };
    let words =
        "MachineSet old does not have the machine-template-hash label, so its machines cannot be told from others";
    check(&deployment(), &decided, words);
    existing.metadata.uid = None;
    let decided = Decided { base: Base::Existing(&existing), intent: intent(0) };
    check(&deployment(), &decided, "MachineSet old has no uid: it was not read from the API");
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let mut deployment = deployment();
    deployment.spec.replicas = Some(i32::MAX);
    let set =
        desired(&deployment, &new(Intent { max_surge: i32::MAX, ..intent(i32::MAX) })).expect("it must be computed");
    assert_eq!(set.metadata.annotations.expect("it must have some")[MAX_REPLICAS], i32::MAX.to_string());
}
