//! Each rule of a MachineSet's pass, by tables.

use super::*;

const DAY: i64 = 86_400;
const NOW: i64 = 1000 * DAY;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A machine as `m1 deleting`, with any of the words below; ten days old.
fn machine(text: &str) -> MachineView {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is = |word: &str| words.contains(&word);
    MachineView {
        name: words[0].to_owned(),
        created: Some(at(NOW - 10 * DAY)),
        pending_acknowledge: is("pending"),
        acknowledged: is("acknowledged"),
        scaffolding: is("scaffolding"),
        updating: is("updating") || is("pending") || is("failed"),
        update_failed: is("failed"),
        update_over: is("failed") || is("over"),
        update_retried: is("retried"),
        deleting: is("deleting"),
        delete_requested: is("unwanted"),
        has_node: !is("nodeless"),
        unhealthy: is("unhealthy"),
        to_be_remediated: is("remediated"),
    }
}

/// A MachineSet `ms1` with machines as `m1, m2 updating`.
fn set(spec_replicas: i32, machines: &str) -> Observed {
    Observed {
        name: "ms1".to_owned(),
        now: at(NOW),
        spec_replicas,
        handover: Handover::default(),
        disable_machine_create: false,
        order: MachineSetDeletionOrder::Random,
        keeps_originals: false,
        is_required: false,
        target: None,
        machines: machines.split(", ").filter(|text| !text.is_empty()).map(machine).collect(),
    }
}

/// The same, which gives machines to `ms2`.
fn moving(spec_replicas: i32, machines: &str) -> Observed {
    let mut observed = set(spec_replicas, machines);
    observed.handover.move_to = Some("ms2".to_owned());
    observed.target = Some(MoveTarget { name: "ms2".to_owned(), receive_from: NameSet::parse("ms1,ms3") });
    observed
}

/// The same, which takes machines from `ms0` and has acknowledgements for some.
fn receiving(spec_replicas: i32, machines: &str, acknowledged: &str) -> Observed {
    let mut observed = set(spec_replicas, machines);
    observed.handover.receive_from = NameSet::parse("ms0");
    observed.handover.acknowledged = NameSet::parse(acknowledged);
    observed
}

fn names(list: &str) -> Vec<String> {
    list.split_whitespace().map(str::to_owned).collect()
}

#[track_caller]
fn check_deleted(observed: &Observed, expected: &str) {
    let found = match decide(observed).replicas {
        Replicas::Delete(names) => names,
        Replicas::Settled => Vec::new(),
        other => panic!("{other:?}"),
    };
    assert_eq!(found.join(" "), expected);
}

#[track_caller]
fn check_moved(observed: &Observed, moved: &str, deleted: &str) {
    let found = match decide(observed).replicas {
        Replicas::Move { to, machines, delete, .. } if to == "ms2" => (machines, delete),
        Replicas::Settled => (Vec::new(), Vec::new()),
        other => panic!("{other:?}"),
    };
    assert_eq!(found, (names(moved), names(deleted)));
}

#[test]
fn missing_machines_are_created_unless_that_is_off() {
    assert_eq!(decide(&set(3, "m1")).replicas, Replicas::Create { missing: 2, scaffolding: 0 });
    assert_eq!(
        decide(&Observed { disable_machine_create: true, ..set(3, "m1") }).replicas,
        Replicas::CreateDisabled(2)
    );
    assert_eq!(decide(&set(1, "m1")).replicas, Replicas::Settled);
    assert_eq!(decide(&set(-1, "")).replicas, Replicas::Settled);
}

#[test]
fn the_first_in_order_go_and_equal_ones_by_name() {
    check_deleted(&set(1, "m1, m2, m3"), "m1 m2");
    let order = "m1, m2 unhealthy, m3 updating, m4 unwanted, m5 deleting";
    check_deleted(&set(3, order), "m4");
    check_deleted(&set(2, order), "m4 m3");
    check_deleted(&set(1, order), "m4 m3 m2");
    check_deleted(&set(1, "m1, m2 nodeless"), "m2");
}

#[test]
fn a_machine_that_is_being_deleted_takes_up_a_place() {
    check_deleted(&set(2, "m1, m2, m3 deleting"), "");
    check_deleted(&set(1, "m1, m2, m3 deleting"), "m1");
}

#[test]
fn age_decides_among_healthy_machines() {
    let mut observed = set(2, "m1, m2, m3");
    observed.machines[1].created = Some(at(NOW - 20 * DAY));
    observed.machines[2].created = Some(at(NOW - DAY));
    observed.order = MachineSetDeletionOrder::Oldest;
    check_deleted(&observed, "m2");
    observed.order = MachineSetDeletionOrder::Newest;
    check_deleted(&observed, "m3");
}

#[test]
fn priorities_are_upstreams() {
    let check = |text: &str, order: MachineSetDeletionOrder, expected: f64| {
        let observed = Observed { order, ..set(0, "") };
        assert!((priority(&machine(text), &observed) - expected).abs() < 1e-9, "{text}");
    };
    let ten_days = 50.0 * (1.0 - (-1.0_f64).exp());
    check("m1 deleting unwanted", MachineSetDeletionOrder::Oldest, 100.0);
    check("m1 unwanted updating", MachineSetDeletionOrder::Oldest, 80.0);
    check("m1 updating unhealthy", MachineSetDeletionOrder::Oldest, 75.0);
    check("m1 unhealthy", MachineSetDeletionOrder::Newest, 50.0);
    check("m1", MachineSetDeletionOrder::Random, 20.0);
    check("m1", MachineSetDeletionOrder::Oldest, ten_days);
    check("m1", MachineSetDeletionOrder::Newest, 50.0 - ten_days);
}

#[test]
fn a_machine_from_the_future_or_of_unknown_age_is_new() {
    for created in [None, Some(at(NOW + DAY))] {
        let machine = MachineView { created, ..machine("m1") };
        let observed = |order| Observed { order, ..set(0, "") };
        assert_eq!(priority(&machine, &observed(MachineSetDeletionOrder::Oldest)), 0.0);
        assert_eq!(priority(&machine, &observed(MachineSetDeletionOrder::Newest)), 50.0);
    }
}

#[test]
fn an_update_begins_when_the_move_is_acknowledged() {
    let started = |observed: &Observed| decide(observed).start_updates.join(" ");
    assert_eq!(started(&receiving(2, "m1 pending, m2 pending", "m1")), "m1");
    assert_eq!(started(&receiving(2, "m1 pending", "")), "");
    assert_eq!(started(&set(2, "m1 pending, m2 pending")), "m1 m2", "it receives no more");
    assert_eq!(started(&receiving(2, "m1 updating, m2", "m1,m2")), "", "they are not pending");
}

#[test]
fn machines_that_wait_for_their_acknowledgement_are_no_surplus() {
    check_deleted(&receiving(1, "m1, m2 pending", ""), "");
    check_deleted(&receiving(1, "m1, m2 pending, m3", ""), "m1");
    check_deleted(&receiving(1, "m1, m2 pending acknowledged", "m2"), "m2");
}

/// Upstream releases the machine, takes it for surplus in the same pass, and deletes it first as it is being updated.
#[test]
fn a_machine_that_nobody_has_counted_is_not_deleted_when_receiving_ends() {
    check_deleted(&set(1, "m1, m2 pending"), "");
    check_deleted(&set(0, "m1, m2 pending"), "m1");
    check_deleted(&set(1, "m1, m2 pending acknowledged"), "m2");
}

#[test]
fn surplus_moves_when_both_sides_agree() {
    check_moved(&moving(1, "m1, m2, m3"), "m1 m2", "");
    check_moved(&moving(3, "m1, m2, m3"), "", "");
}

#[test]
fn a_move_that_the_target_does_not_expect_is_refused() {
    let mut observed = moving(0, "m1");
    observed.target = Some(MoveTarget { name: "ms2".to_owned(), receive_from: NameSet::parse("ms3") });
    let accepts = NameSet::parse("ms3");
    assert_eq!(decide(&observed).replicas, Replicas::Refused { target: "ms2".to_owned(), accepts });
    observed.target = None;
    let accepts = NameSet::default();
    assert_eq!(decide(&observed).replicas, Replicas::Refused { target: "ms2".to_owned(), accepts });
}

#[test]
fn what_cannot_move_stays_and_another_moves_in_its_place() {
    check_moved(&moving(2, "m1 updating, m2, m3"), "m2", "");
    check_moved(&moving(2, "m1 nodeless, m2, m3"), "m2", "");
    check_moved(&moving(0, "m1 updating"), "", "");
}

#[test]
fn a_machine_that_is_being_deleted_takes_up_a_place_in_a_move() {
    check_moved(&moving(2, "m1, m2, m3 deleting"), "", "");
    check_moved(&moving(1, "m1, m2, m3 deleting"), "m1", "");
}

#[test]
fn a_broken_machine_is_deleted_instead_of_moved() {
    check_moved(&moving(1, "m1, m2 unhealthy remediated, m3"), "m1", "m2");
    check_moved(&moving(1, "m1, m2 unhealthy remediated deleting"), "", "");
}

#[test]
fn a_machine_that_the_user_wants_to_go_is_moved_first() {
    check_moved(&moving(1, "m1, m2 unwanted"), "m2", "");
}

#[test]
fn scaffolding_goes_first_and_never_moves() {
    use crate::handover::Scaffolding;
    let with = |mut observed: Observed| {
        observed.handover.scaffolding = Some(Scaffolding::Machine("m3".to_owned()));
        observed
    };
    check_deleted(&with(set(2, "m1 updating, m2, m3")), "m3");
    check_deleted(&with(set(2, "m1 unwanted, m2, m3")), "m1");
    let keeping = |observed: Observed| Observed { keeps_originals: true, ..with(observed) };
    check_moved(&keeping(moving(1, "m1, m2, m3")), "m1 m2", "");
    check_moved(&keeping(moving(0, "m3")), "", "");
}

#[test]
fn nonsense_deletes_nothing() {
    let decided = |observed: &Observed| decide(observed).replicas;
    assert_eq!(decided(&set(-1, "m1, m2")), Replicas::Settled);
    assert_eq!(decided(&set(i32::MIN, "m1")), Replicas::Settled);
    let mut circle = moving(0, "m1, m2");
    circle.handover.move_to = Some("ms1".to_owned());
    circle.target = Some(MoveTarget { name: "ms1".to_owned(), receive_from: NameSet::parse("ms1") });
    assert_eq!(decided(&circle), Replicas::Refused { target: "ms1".to_owned(), accepts: NameSet::default() });
    let mut dangling = moving(0, "m1, m2");
    dangling.target = None;
    assert_eq!(decided(&dangling), Replicas::Refused { target: "ms2".to_owned(), accepts: NameSet::default() });
}

/// Found by the model checker: it was made after the MachineDeployment had looked, and is to go at once.
#[test]
fn scaffolding_that_nobody_has_named_says_so_itself() {
    let mut observed = Observed { keeps_originals: true, ..set(2, "m1, m2 scaffolding, m3") };
    observed.handover.scaffolding = Some(crate::handover::Scaffolding::Requested);
    check_deleted(&observed, "m2");
}

#[test]
fn a_machine_that_is_made_beyond_those_wanted_says_so() {
    let made = |text: &str, change: fn(&mut Handover)| {
        let mut observed = set(4, text);
        change(&mut observed.handover);
        match decide(&observed).replicas {
            Replicas::Create { missing, scaffolding } => (missing, scaffolding),
            other => panic!("{other:?}"),
        }
    };
    let requested: fn(&mut Handover) = |handover| handover.scaffolding = Some(crate::handover::Scaffolding::Requested);
    let gone: fn(&mut Handover) =
        |handover| handover.scaffolding = Some(crate::handover::Scaffolding::Machine("m9".to_owned()));
    assert_eq!(made("m1, m2", |_| {}), (2, 0));
    assert_eq!(made("m1, m2", requested), (2, 1));
    assert_eq!(made("m1, m2 scaffolding", requested), (2, 0), "it is there already");
    assert_eq!(made("m1, m2", gone), (2, 1), "the user has deleted it, so another one stands in");
    assert_eq!(made("m1, m2", |handover| handover.surge = true), (2, 2));
}

/// What is too many goes only where somebody knows why: a mark, or the user's own wish.
#[test]
fn where_originals_stay_nothing_goes_without_a_reason() {
    let keeping = |is_required: bool, scaled_down: u32, replaced: u32, text: &str| {
        let mut observed = Observed { keeps_originals: true, is_required, ..set(1, text) };
        (observed.handover.scaled_down, observed.handover.replaced) = (scaled_down, replaced);
        observed
    };
    assert_eq!(decide(&keeping(true, 0, 0, "m1, m2, m3")).replicas, Replicas::Keep(2));
    check_deleted(&keeping(true, 0, 0, "m1, m2 scaffolding, m3"), "m2");
    check_deleted(&keeping(true, 1, 0, "m1, m2, m3"), "m1");
    check_deleted(&keeping(true, 1, 0, "m1, m2 scaffolding, m3"), "m2 m1");
    // One permission is used once: the next pass finds one machine less, and the order is the same.
    let mut again = keeping(true, 1, 0, "m2, m3");
    again.handover.keep_at_least = 2;
    assert_eq!(decide(&again).replicas, Replicas::Keep(1));
    // Somebody wants a certain one to go. That is a reason to choose it, and none to delete one.
    assert_eq!(decide(&keeping(true, 0, 0, "m1, m2 unwanted")).replicas, Replicas::Keep(1));
    check_deleted(&keeping(true, 1, 0, "m1, m2 unwanted"), "m2");
    // An order of before `Require` was set.
    assert_eq!(decide(&keeping(true, 0, 2, "m1, m2, m3")).replicas, Replicas::Keep(2));
    check_deleted(&keeping(false, 0, 2, "m1, m2, m3"), "m1 m2");
    // Those that are going already are the surplus.
    assert_eq!(decide(&keeping(true, 0, 0, "m1, m2 deleting, m3 deleting")).replicas, Replicas::Settled);
}

#[test]
fn on_hold_no_machine_comes_moves_or_goes_and_updates_begin() {
    for mut observed in [set(3, "m1"), set(0, "m1, m2"), moving(0, "m1, m2")] {
        observed.handover.hold = Some("17".to_owned());
        assert_eq!(decide(&observed).replicas, Replicas::Settled);
    }
    let mut observed = set(1, "m1 pending acknowledged");
    observed.handover.acknowledged = NameSet::parse("m1");
    observed.handover.hold = Some("17".to_owned());
    assert_eq!(decide(&observed).start_updates, ["m1"]);
}

/// Nobody has counted it, and its mark went when its update began: the pass after that took it for surplus.
#[test]
fn a_machine_in_the_middle_of_an_update_is_no_surplus_where_originals_stay() {
    let keeping = |text: &str| {
        let mut observed = Observed { keeps_originals: true, ..set(1, text) };
        observed.handover.scaled_down = 1;
        observed
    };
    let first = keeping("m1, m2 pending");
    assert_eq!(decide(&first).start_updates, ["m2"]);
    check_deleted(&first, "");
    check_deleted(&keeping("m1, m2 updating"), "");
    check_deleted(&set(1, "m1, m2 updating"), "m2");
    // What the user wants to go goes, and one that failed is worth no more than others.
    check_deleted(&keeping("m1, m2 updating unwanted"), "m2");
    check_deleted(&keeping("m1, m2 failed"), "m2");
    check_deleted(&keeping("m1, m2 updating over"), "m2");
    check_deleted(&keeping("m1, m2 updating retried"), "");
}

#[test]
fn a_machine_whose_update_failed_moves_first() {
    check_moved(&moving(1, "m1, m2 failed"), "m2", "");
    check_moved(&moving(1, "m1, m2 updating"), "m1", "");
    check_moved(&moving(1, "m1, m2 updating over"), "m2", "");
    // The order may have been given for it while it was free. Another one in its place would be one too many.
    assert_eq!(decide(&moving(1, "m1, m2 updating retried")).replicas, Replicas::Settled);
    check_moved(&moving(0, "m1, m2 updating retried"), "m1", "");
    // Without a permission it stays, like any other.
    let keeping = Observed { keeps_originals: true, ..set(1, "m1, m2 updating over") };
    assert_eq!(decide(&keeping).replicas, Replicas::Keep(1));
}
