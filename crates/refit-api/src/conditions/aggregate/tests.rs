use std::collections::BTreeMap;

use jiff::Timestamp;

use super::*;
use Status::{False, True, Unknown};

const AGGREGATE: Aggregate<'static> = Aggregate {
    target: "MachinesFine",
    source: "Fine",
    polarity: ConditionPolarity::Positive,
    reasons: Reasons::GENERIC,
};

struct Object {
    kind: &'static str,
    metadata: ObjectMeta,
    condition: Option<NewCondition>,
}

fn object(kind: &'static str, name: &str, condition: Option<(Status, &'static str)>) -> Object {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let condition = condition.map(|(status, message)| NewCondition::new("Fine", status, "Why").with_message(message));
    Object { kind, metadata, condition }
}

fn machine(name: &str, status: Status, message: &'static str) -> Object {
    object("Machine", name, Some((status, message)))
}

fn control_plane(mut object: Object) -> Object {
    object.metadata.labels = Some(BTreeMap::from([(labels::CONTROL_PLANE.to_owned(), String::new())]));
    object
}

/// The object's condition changed at this second.
fn since(mut object: Object, second: i64) -> Object {
    let since = Timestamp::from_second(second).expect("a small number must be a timestamp");
    object.condition = object.condition.map(|condition| condition.with_since(Some(since)));
    object
}

fn check_with(aggregate: Aggregate<'_>, objects: &[Object], expected: &str) {
    let sources: Vec<Source<'_>> =
        objects.iter().map(|o| Source::new(o.kind, &o.metadata, o.condition.as_ref())).collect();
    let found = aggregate.of(&sources).map_or("nothing".to_owned(), |condition| condition.to_string());
    assert_eq!(found, expected);
}

fn check(objects: &[Object], expected: &str) {
    check_with(AGGREGATE, objects, expected);
}

#[test]
fn no_objects_aggregate_to_nothing() {
    check(&[], "nothing");
}

#[test]
fn all_good_is_true_and_says_nothing_without_messages() {
    check(&[machine("a", True, ""), machine("b", True, "")], "MachinesFine=True InfoReported");
}

#[test]
fn an_issue_counts_for_more_than_unknown_and_that_for_more_than_info() {
    let objects = [machine("a", True, "fine"), machine("b", Unknown, "who knows"), machine("c", False, "broken")];
    check(&objects, "MachinesFine=False IssuesReported: * Machine c: broken\n* Machine b: who knows");
    check(&objects[..2], "MachinesFine=Unknown UnknownReported: * Machine b: who knows");
    check(&objects[..1], "MachinesFine=True InfoReported: * Machine a: fine");
}

#[test]
fn negative_polarity_turns_source_and_target_around() {
    let aggregate = Aggregate { polarity: ConditionPolarity::Negative, ..AGGREGATE };
    let objects = [machine("a", True, "busy"), machine("b", False, "idle")];
    check_with(aggregate, &objects, "MachinesFine=True IssuesReported: * Machine a: busy");
    check_with(aggregate, &objects[1..], "MachinesFine=False InfoReported: * Machine b: idle");
}

#[test]
fn missing_condition_counts_as_unknown() {
    let objects = [machine("a", True, ""), object("Machine", "b", None)];
    check(&objects, "MachinesFine=Unknown UnknownReported: * Machine b: Condition Fine not yet reported");
}

#[test]
fn objects_that_say_the_same_share_a_line_and_three_are_named() {
    let objects = ["d", "b", "e", "a", "c"].map(|name| machine(name, False, "broken"));
    check(&objects[..2], "MachinesFine=False IssuesReported: * Machines b, d: broken");
    check(&objects, "MachinesFine=False IssuesReported: * Machines a, b, c, ... (2 more): broken");
}

#[test]
fn three_messages_are_shown_and_the_rest_is_counted() {
    let objects = [
        machine("a", Unknown, "u"),
        machine("b", Unknown, "u"),
        machine("c", Unknown, "u"),
        machine("d", False, "1"),
        machine("e", False, "2"),
        machine("f", False, "2"),
        machine("g", False, "3"),
        machine("h", False, "4"),
        machine("i", True, "fine"),
    ];
    let expected = "MachinesFine=False IssuesReported: * Machines e, f: 2\n* Machine d: 1\n* Machine g: 3\n\
                    And 1 Machine with other issues\nAnd 3 Machines with status unknown";
    check(&objects, expected);
}

#[test]
fn additional_info_is_counted_where_all_is_good() {
    let objects = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "")].map(|(name, m)| machine(name, True, m));
    let expected = "MachinesFine=True InfoReported: * Machine a: 1\n* Machine b: 2\n* Machine c: 3\n\
                    And 1 Machine with additional info";
    check(&objects, expected);
}

#[test]
fn control_plane_machines_go_first_among_messages_and_names() {
    let objects = [
        machine("a", Unknown, "shared"),
        control_plane(machine("z", Unknown, "shared")),
        machine("b", False, "broken"),
        machine("c", False, "broken"),
    ];
    check(&objects, "MachinesFine=False IssuesReported: * Machines z, a: shared\n* Machines b, c: broken");
}

#[test]
fn the_label_of_control_planes_means_nothing_on_other_kinds() {
    let objects =
        [control_plane(object("MachineSet", "z", Some((Unknown, "u")))), object("MachineSet", "a", Some((False, "f")))];
    check(&objects, "MachinesFine=False IssuesReported: * MachineSet a: f\n* MachineSet z: u");
}

#[test]
fn a_message_that_is_an_issue_for_one_ranks_as_an_issue_for_all() {
    let objects = [machine("a", Unknown, "x"), machine("b", False, "x"), machine("c", False, "y")];
    check(&objects, "MachinesFine=False IssuesReported: * Machines a, b: x\n* Machine c: y");
}

#[test]
fn kinds_come_in_alphabetical_order_and_share_the_three_messages() {
    let objects = [
        object("MachineSet", "s", Some((False, "3"))),
        object("MachineSet", "t", Some((False, "4"))),
        object("KubeadmControlPlane", "k", Some((False, "1"))),
        object("MachineDeployment", "d", Some((False, "2"))),
    ];
    let expected = "MachinesFine=False IssuesReported: * KubeadmControlPlane k: 1\n* MachineDeployment d: 2\n\
                    * MachineSet s: 3\nAnd 1 MachineSet with other issues";
    check(&objects, expected);
}

#[test]
fn a_message_of_several_lines_is_indented() {
    let objects = [machine("a", False, "* NodeHealthy: Node is gone"), machine("b", False, "head\n* detail")];
    let expected = "MachinesFine=False IssuesReported: * Machine a:\n  * NodeHealthy: Node is gone\n\
                    * Machine b:\n  * head\n    * detail";
    check(&objects, expected);
}

#[test]
fn among_equals_the_names_decide_with_the_oldest_report_in_front() {
    let objects = [
        since(machine("a", False, "x"), 9),
        since(machine("c", False, "x"), 1),
        since(machine("b", False, "y"), 5),
        since(machine("d", False, "y"), 6),
    ];
    check(&objects, "MachinesFine=False IssuesReported: * Machines b, d: y\n* Machines a, c: x");
}

#[test]
fn an_issue_without_a_message_names_its_object() {
    check(&[machine("a", False, "")], "MachinesFine=False IssuesReported: * Machine a: ");
}

#[test]
fn kinds_have_a_plural() {
    for (kind, expected) in
        [("MachineDeployment", "MachineDeployments"), ("Proxy", "Proxies"), ("Key", "Keys"), ("Mesh", "Meshes")]
    {
        assert_eq!(plural(kind), expected);
    }
}
