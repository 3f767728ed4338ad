use super::*;
use crate::effect::Apply;
use crate::testing::{at, machine};

fn existing() -> Value {
    json!({ "kind": "Host", "spec": { "cpus": 2, "disks": [{ "size": 1 }, { "size": 2 }], "providerID": "sim://1" } })
}

fn write() -> Write {
    let intent = json!({ "kind": "Host", "spec": { "cpus": 4, "disks": [{ "size": 1 }, { "size": 9 }] } });
    Write::Apply(Apply { target: Target::of_value(&intent), manager: "m", intent })
}

fn refusal(code: u16, fields: &[&str]) -> Refusal {
    let fields = fields.iter().map(|&field| field.to_owned()).collect();
    Refusal { code, words: "no".to_owned(), fields, takes_new_object: true }
}

/// Only the provider's own validation of what this very change touches is a reason to replace a machine.
#[test]
fn a_refusal_is_for_good_only_where_the_provider_names_a_field_of_the_change() {
    let check = |code: u16, fields: &[&str], expected: bool| {
        let found = refusal(code, fields).is_for_good(&write(), Some(&existing()));
        assert_eq!(found, expected, "{code} {fields:?}");
    };
    check(422, &["spec.cpus"], true);
    check(422, &["spec"], true);
    check(422, &["spec.disks[1].size"], true);
    check(422, &["spec.cpus", "spec.disks"], true);
    check(422, &["spec.disks[0].size"], false);
    check(422, &["spec.providerID"], false);
    check(422, &["spec.other"], false);
    check(422, &["spec.cpus", "metadata.labels"], false);
    check(422, &["metadata.ownerReferences"], false);
    check(422, &["metadata"], false);
    check(422, &[""], false);
    check(422, &[], false);
    for code in [400, 403, 404, 409, 429, 500, 503, 504, 0] {
        check(code, &["spec.cpus"], false);
    }
}

/// Where a new object of the same template is refused, too, nothing would come in the place of a machine that went.
#[test]
fn a_template_that_makes_no_object_is_no_reason_to_delete_one() {
    let refused = Refusal { takes_new_object: false, ..refusal(422, &["spec.cpus"]) };
    assert!(!refused.is_for_good(&write(), Some(&existing())));
}

/// The Machine is not the provider's: what is refused of it would be refused of a new one.
#[test]
fn a_refused_machine_or_one_without_objects_is_not_replaced() {
    let patch = Write::Patch(Patch::object(Target::of(&machine("m")), json!({ "spec": { "version": "x" } })));
    assert!(!refusal(422, &["spec.version"]).is_for_good(&patch, Some(&existing())));
    assert!(!refusal(422, &["spec.cpus"]).is_for_good(&write(), None));
}

#[test]
fn a_refusal_that_goes_on_keeps_its_time_and_is_written_once() {
    let mut machine = machine("m");
    let note = |machine: &Machine, to: &str, now: i64, for_good: bool, words: &str| {
        let effect = MoveRefusal::note(machine, to, at(now), for_good, words)?;
        let Effect::Patch(patch) = effect else { panic!("it must be a patch") };
        patch.merge["metadata"]["annotations"][MOVE_REFUSED].as_str().map(str::to_owned)
    };
    let mut written = |to: &str, now: i64, for_good: bool, words: &str| {
        let text = note(&machine, to, now, for_good, words)?;
        machine.metadata.annotations.get_or_insert_default().insert(MOVE_REFUSED.to_owned(), text);
        MoveRefusal::of(&machine)
    };
    assert_eq!(written("new", 10, true, "no").expect("it must be written").since(), Some(at(10)));
    assert_eq!(written("new", 20, true, "no"), None, "it stands there already");
    assert_eq!(written("new", 30, true, "never").expect("other words").since(), Some(at(10)));
    assert_eq!(written("new", 40, false, "never").expect("it is not for good").since(), Some(at(40)));
    assert_eq!(written("newer", 50, false, "never").expect("another target").since(), Some(at(50)));
    assert!(MoveRefusal::of_move_to(&machine, "newer").is_some() && MoveRefusal::of_move_to(&machine, "new").is_none());
    assert!(MoveRefusal::forget(&machine).is_some());
    machine.metadata.annotations.get_or_insert_default().insert(MOVE_REFUSED.to_owned(), "nonsense".to_owned());
    assert_eq!(MoveRefusal::of(&machine), None);
}
