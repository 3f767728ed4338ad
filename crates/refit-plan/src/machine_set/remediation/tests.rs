use refit_api::cluster::MachineDeployment;

use super::*;
use crate::testing::{CREATED, Store, at, condition, labels_of, machine, machine_deployment, machine_set};

/// A machine that a health check has given up on.
fn unhealthy(name: &str, age: i64) -> Machine {
    let mut machine = machine(name);
    let created = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(CREATED - age));
    machine.metadata.creation_timestamp = Some(created);
    machine.metadata.finalizers = Some(vec!["held".to_owned()]);
    machine.status.conditions.push(condition(types::HEALTH_CHECK_SUCCEEDED, "False"));
    machine.status.conditions.push(condition(types::OWNER_REMEDIATED, "False"));
    machine
}

fn limited(machines: usize) -> Owner {
    Owner::Current { limit: Some(Limit { written: machines.to_string(), machines }) }
}

fn pass(store: &Store, owner: &Owner, preflight: &Preflight, spared: &[&str]) -> Plan {
    let machines: Vec<Machine> = store.list_typed();
    let spared = spared.iter().map(|&name| (name.to_owned(), health::waiting_for_the_update())).collect();
    remediate(Remediation {
        machines: &machines.iter().collect::<Vec<_>>(),
        owner,
        preflight,
        spared: &spared,
        now: at(CREATED),
    })
}

/// What each machine says in the end, and whether it is being deleted.
fn check(
    machines: &[Machine],
    owner: &Owner,
    preflight: &Preflight,
    updating: &[&str],
    expected: &[(&str, &str, bool)],
) {
    let mut store = Store::default();
    machines.iter().for_each(|machine| store.insert_typed(machine));
    store.carry_out(&pass(&store, owner, preflight, updating).effects);
    let found: Vec<(String, String, bool)> = store
        .list_typed::<Machine>()
        .iter()
        .map(|machine| {
            let told = conditions::get(&machine.status.conditions, types::OWNER_REMEDIATED);
            let reason = told.map(|condition| condition.reason.clone()).unwrap_or_default();
            (fleet::name(machine).to_owned(), reason, fleet::is_deleting(machine))
        })
        .collect();
    let expected: Vec<(String, String, bool)> =
        expected.iter().map(|(name, reason, going)| ((*name).to_owned(), (*reason).to_owned(), *going)).collect();
    assert_eq!(found, expected);
    let again = pass(&store, owner, preflight, updating).effects;
    assert_eq!(again, [], "a second pass writes nothing");
}

#[test]
fn unhealthy_machines_are_deleted_and_say_so_before() {
    check(
        &[machine("ok"), unhealthy("a", 0)],
        &Owner::Nobody,
        &Preflight::Passed,
        &[],
        &[("a", "MachineDeleting", true), ("ok", "", false)],
    );
    let mut store = Store::default();
    store.insert_typed(&unhealthy("a", 0));
    let effects = pass(&store, &Owner::Nobody, &Preflight::Passed, &[]).effects;
    assert!(matches!(&effects[..], [Effect::Patch(_), Effect::Delete(_)]), "{effects:?}");
    store.carry_out(&effects[..1]);
    let after_crash = pass(&store, &Owner::Nobody, &Preflight::Passed, &[]).effects;
    assert!(matches!(&after_crash[..], [Effect::Delete(delete)] if delete.target.uid.is_some()), "{after_crash:?}");
}

#[test]
fn a_machine_that_got_well_is_replaced_no_more() {
    let mut well = unhealthy("a", 0);
    well.status.conditions[0].status = "True".to_owned();
    check(&[well], &Owner::Nobody, &Preflight::Passed, &[], &[("a", "", false)]);
}

#[test]
fn as_many_as_allowed_are_replaced_at_a_time() {
    let mut going = unhealthy("going", 0);
    going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
    going.status.conditions[1].reason = reasons::MACHINE_DELETING.to_owned();
    check(
        &[unhealthy("a", 0), going.clone()],
        &limited(1),
        &Preflight::Passed,
        &[],
        &[("a", "RemediationDeferred", false), ("going", "MachineDeleting", true)],
    );
    check(&[unhealthy("a", 0)], &limited(0), &Preflight::Passed, &[], &[("a", "RemediationDeferred", false)]);
}

#[test]
fn those_asked_for_go_first_then_the_youngest() {
    let mut asked = unhealthy("asked", 900);
    asked.metadata.annotations = Some(labels_of(&[(REMEDIATE_MACHINE, "")]));
    let machines = [unhealthy("old", 500), unhealthy("young-b", 10), unhealthy("young-a", 10), asked];
    let given = Remediation {
        machines: &machines.iter().collect::<Vec<_>>(),
        owner: &Owner::Nobody,
        preflight: &Preflight::Passed,
        spared: &BTreeMap::new(),
        now: at(0),
    };
    let order: Vec<&str> = given.candidates().1.into_iter().map(fleet::name).collect();
    assert_eq!(order, ["asked", "young-a", "young-b", "old"]);
}

#[test]
fn checks_that_fail_defer_and_are_made_again() {
    let failed = Preflight::Failed(vec!["not stable".to_owned()]);
    check(&[unhealthy("a", 0)], &Owner::Nobody, &failed, &[], &[("a", "RemediationDeferred", false)]);
    let mut store = Store::default();
    store.insert_typed(&unhealthy("a", 0));
    let plan = pass(&store, &Owner::Nobody, &failed, &[]);
    assert_eq!(plan.requeue_after, Some(PREFLIGHT_RETRY));
    assert_eq!(plan.waiting_on, [WaitingOn::Preflight { problems: vec!["not stable".to_owned()] }]);
}

/// DESIGN 5.10: a health check does not replace a machine because it is being updated.
#[test]
fn a_machine_under_update_is_not_replaced_while_it_has_time() {
    for owner in [Owner::Nobody, Owner::Outgoing { limit: None }, limited(1)] {
        check(&[unhealthy("a", 0)], &owner, &Preflight::Passed, &["a"], &[("a", "RemediationDeferred", false)]);
    }
}

#[test]
fn the_owner_is_told_by_label_and_revision() {
    let revision = |text: &str| Some(labels_of(&[(REVISION, text)]));
    let mut set = machine_set("ms", 1);
    set.metadata.annotations = revision("2");
    let mut deployment = machine_deployment(10);
    deployment.metadata.annotations = revision("2");
    let owner = |set: &MachineSet, deployment: &MachineDeployment| Owner::of(set, &Read::Found(deployment.clone()));
    assert_eq!(owner(&set, &deployment), Ok(Owner::Current { limit: None }));
    deployment.spec.remediation.max_in_flight = Some(IntOrString::String("25%".to_owned()));
    let limit = Limit { written: "25%".to_owned(), machines: 3 };
    assert_eq!(owner(&set, &deployment), Ok(Owner::Current { limit: Some(limit) }));
    deployment.spec.remediation.max_in_flight = Some(IntOrString::Int(-4));
    let limit = Limit { written: "-4".to_owned(), machines: 0 };
    assert_eq!(owner(&set, &deployment), Ok(Owner::Current { limit: Some(limit) }));
    deployment.spec.remediation.max_in_flight = Some(IntOrString::String("many".to_owned()));
    let error = owner(&set, &deployment).expect_err("it must be refused");
    assert_eq!(error.to_string(), "spec.remediation.maxInFlight of MachineDeployment md cannot be used");
    deployment.spec.remediation.max_in_flight = None;
    deployment.metadata.annotations = revision("3");
    assert_eq!(owner(&set, &deployment), Ok(Owner::Outgoing { limit: None }));
    let error = Owner::of(&set, &Read::Missing).expect_err("it must be refused");
    assert_eq!(error.to_string(), "MachineSet ms is of a MachineDeployment that is not there");
    set.metadata.labels = None;
    assert_eq!(Owner::of(&set, &Read::Missing), Ok(Owner::Nobody));
}
