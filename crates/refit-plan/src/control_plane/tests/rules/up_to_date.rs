//! Whether a Machine is what it should be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, DELETE_MACHINE, REMEDIATE_MACHINE};

use crate::control_plane::observed::Observed;
use crate::control_plane::tests::fixtures::{NEW, observed, start};
use crate::control_plane::up_to_date::Standing;

const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

/// The differences of machine `a`, and whether they may go away in place.
fn check(change: impl FnOnce(&mut Observed), differences: &[&str], is_eligible: bool) {
    let mut observed = observed(3);
    change(&mut observed);
    let standing = Standing::of(&observed, &observed.machines["a"]);
    assert_eq!(standing.differences, differences);
    assert_eq!(standing.ineligible.is_none(), is_eligible, "{:?}", standing.ineligible);
}

fn expiring(observed: &mut Observed, days: i32, in_hours: u32) {
    observed.control_plane.spec.rollout.before.certificates_expiry_days = Some(days);
    observed.at("a").machine.status.certificates_expiry_date = Some(Time(start() + HOUR * in_hours));
}

#[test]
fn versions_are_compared_as_text() {
    check(|_| (), &[], true);
    check(
        |observed| observed.control_plane.spec.version = NEW.to_owned(),
        &["Version v1.32.0, v1.33.0 required"],
        true,
    );
    check(
        |observed| observed.control_plane.spec.version = "v1.32.0+build".to_owned(),
        &["Version v1.32.0, v1.32.0+build required"],
        true,
    );
}

#[test]
fn a_kubeadm_config_that_is_not_there_matches_but_forbids_in_place() {
    check(|observed| observed.at("a").kubeadm_config_matches = false, &["KubeadmConfig is not up-to-date"], true);
    let missing = |observed: &mut Observed| {
        observed.at("a").kubeadm_config_matches = false;
        observed.at("a").kubeadm_config = None;
    };
    check(missing, &[], false);
}

fn template(observed: &mut Observed) -> &mut String {
    &mut observed.control_plane.spec.machine_template.spec.infrastructure_ref.name
}

#[test]
fn infrastructure_is_compared_by_the_template_that_it_came_from() {
    check(|observed| *template(observed) = "t2".to_owned(), &["DevMachine is not up-to-date"], true);
    let kind = |observed: &mut Observed| {
        observed.control_plane.spec.machine_template.spec.infrastructure_ref.kind = "OtherTemplate".to_owned();
    };
    check(kind, &["DevMachine is not up-to-date"], true);
    let content = |observed: &mut Observed| observed.at("a").infrastructure.as_mut().unwrap()["spec"] = "x".into();
    check(content, &[], true);
    for annotation in [CLONED_FROM_NAME, CLONED_FROM_GROUP_KIND] {
        let unknown = |observed: &mut Observed| {
            *template(observed) = "t2".to_owned();
            let object = observed.at("a").infrastructure.as_mut().unwrap();
            object["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation);
        };
        check(unknown, &[], false);
    }
    let missing = |observed: &mut Observed| {
        *template(observed) = "t2".to_owned();
        observed.at("a").infrastructure = None;
    };
    check(missing, &[], false);
}

#[test]
fn certificates_that_expire_soon_need_a_new_machine() {
    check(|observed| expiring(observed, 7, 7 * 24), &[], true);
    check(|observed| expiring(observed, 7, 7 * 24 - 1), &["Certificates will expire soon"], false);
    let unknown = |observed: &mut Observed| {
        expiring(observed, 7, 1);
        observed.at("a").machine.status.certificates_expiry_date = None;
    };
    check(unknown, &[], true);
}

#[test]
fn rollout_after_counts_for_older_machines_once_it_has_passed() {
    let at = |offset: i64| {
        move |observed: &mut Observed| {
            let time = jiff::Timestamp::from_second(start().as_second() + offset).unwrap();
            observed.control_plane.spec.rollout.after = Some(Time(time));
        }
    };
    check(at(-3600), &["KubeadmControlPlane spec.rolloutAfter expired"], false);
    check(at(3600), &[], true);
    check(at(-100 * 86_400), &[], true);
}

#[test]
fn users_who_want_a_machine_gone_do_not_want_it_updated() {
    for annotation in [DELETE_MACHINE, REMEDIATE_MACHINE] {
        check(|observed| observed.at("a").annotate(annotation, ""), &[], false);
    }
}

#[test]
fn what_changes_without_an_update_is_not_compared() {
    let change = |observed: &mut Observed| {
        let template = &mut observed.control_plane.spec.machine_template;
        template.metadata.labels.insert("x".to_owned(), "y".to_owned());
        template.spec.deletion.node_drain_timeout_seconds = Some(7);
        observed.at("a").machine.spec.failure_domain = Some("fd9".to_owned());
    };
    check(change, &[], true);
}
