use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use refit_api::vocabulary::annotations;
use serde_json::Value;

use super::*;
use crate::control_plane::tests::fixtures;

/// A Machine of the old version that nobody controls, and its KubeadmConfig.
fn orphan(name: &str) -> Candidate {
    let found = fixtures::machine(name, 0);
    Candidate { machine: found.machine, kubeadm_config: found.kubeadm_config }
}

fn ours(name: &str) -> Candidate {
    controlled_by(name, "cp-uid")
}

fn controlled_by(name: &str, uid: &str) -> Candidate {
    let mut candidate = orphan(name);
    let mut reference = ownership::controller(&fixtures::control_plane(1)).expect("it has a uid");
    reference.uid = uid.to_owned();
    candidate.machine.metadata.owner_references = Some(vec![reference]);
    candidate
}

fn with(mut candidate: Candidate, change: impl FnOnce(&mut Candidate)) -> Candidate {
    change(&mut candidate);
    candidate
}

fn of_version(version: &str) -> Candidate {
    with(orphan("a"), |candidate| candidate.machine.spec.version = Some(version.to_owned()))
}

/// A secret that the KubeadmConfig of this name controls.
fn secret(name: &str, config: &str) -> Secret {
    let mut secret = Secret::default();
    let reference = ownership::controller(&fixtures::kubeadm_config(config)).expect("it has a uid");
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.namespace = Some("ns".to_owned());
    secret.metadata.uid = Some(format!("{name}-uid"));
    secret.metadata.resource_version = Some("7".to_owned());
    secret.metadata.owner_references = Some(vec![reference]);
    secret
}

/// The writes as `Kind name: controller`, an event as its message.
fn told(effects: &[Effect]) -> Vec<String> {
    let owner = |merge: &Value| {
        let all: Vec<OwnerReference> =
            serde_json::from_value(merge["metadata"]["ownerReferences"].clone()).expect("owners must decode");
        owners::controller_of(&all).map(|owner| owner.kind.clone()).unwrap_or_default()
    };
    let tell = |effect: &Effect| match effect {
        Effect::Patch(patch) => {
            assert!(patch.target.uid.is_some() && patch.resource_version.is_some(), "{patch:?}");
            format!("{} {}: {}", patch.target.kind, patch.target.name, owner(&patch.merge))
        }
        Effect::Emit(event) => format!("{}: {}", event.reason, event.message),
        Effect::Apply(_) | Effect::Delete(_) => panic!("nothing is applied or deleted: {effect:?}"),
    };
    effects.iter().map(tell).collect()
}

#[track_caller]
fn check(candidates: &[Candidate], secrets: &[Secret], expected: &[&str]) {
    check_of(&fixtures::control_plane(3), &fixtures::cluster(), candidates, secrets, expected);
}

#[track_caller]
fn check_of(
    control_plane: &KubeadmControlPlane,
    cluster: &Cluster,
    candidates: &[Candidate],
    secrets: &[Secret],
    expected: &[&str],
) {
    let found = match claim(control_plane, cluster, candidates, secrets) {
        Ok(Claim::Complete) => vec!["complete".to_owned()],
        Ok(Claim::Adopt(effects)) => told(&effects),
        Ok(Claim::Refused { machines, effects }) => {
            [vec![format!("refused {}", machines.join(", "))], told(&effects)].concat()
        }
        Err(error) => vec![error.to_string()],
    };
    assert_eq!(found, expected);
}

#[test]
fn machines_that_nobody_controls_are_taken_on_with_their_secrets() {
    check(
        &[ours("a"), orphan("c"), orphan("b")],
        &[],
        &["Machine b: KubeadmControlPlane", "Machine c: KubeadmControlPlane"],
    );
    let secrets = [secret("c1-ca", "a"), secret("c1-etcd", "a"), secret("other", "x")];
    check(
        &[orphan("a")],
        &secrets,
        &["Secret c1-ca: KubeadmControlPlane", "Secret c1-etcd: KubeadmControlPlane", "Machine a: KubeadmControlPlane"],
    );
    check(&[ours("a"), ours("b")], &secrets, &["complete"]);
}

#[test]
fn bootstrap_data_and_secrets_that_moved_already_are_left_alone() {
    let started = with(orphan("a"), |candidate| {
        candidate.kubeadm_config.as_mut().expect("it has one").status.data_secret_name = Some("data".to_owned());
    });
    let mut moved = secret("moved", "a");
    let references = moved.metadata.owner_references.get_or_insert_default();
    references[0].controller = None;
    references.push(ownership::controller(&fixtures::control_plane(3)).expect("it has a uid"));
    check(&[started], &[secret("data", "a"), moved], &["Machine a: KubeadmControlPlane"]);
}

#[test]
fn other_owners_of_a_machine_stay() {
    let owned = with(orphan("a"), |candidate| {
        let reference = OwnerReference { kind: "Cluster".to_owned(), uid: "c".to_owned(), ..OwnerReference::default() };
        candidate.machine.metadata.owner_references = Some(vec![reference]);
    });
    let claim = claim(&fixtures::control_plane(3), &fixtures::cluster(), &[owned], &[]);
    let Ok(Claim::Adopt(effects)) = claim else { panic!("{claim:?}") };
    let [Effect::Patch(patch)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(patch.merge["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_version_may_be_one_minor_away_and_not_more() {
    for version in ["v1.31.9", "v1.32.0", "v1.33.1", "1.33.1", ""] {
        check(&[of_version(version)], &[], &["Machine a: KubeadmControlPlane"]);
    }
    for version in ["v1.30.0", "v1.34.0", "v2.32.0"] {
        let message = format!(
            "AdoptionFailed: Could not adopt Machine ns/a: its version ({version:?}) is outside supported +/- one minor version skew from KCP's (\"v1.32.0\")"
        );
        check(&[of_version(version), orphan("b")], &[], &["refused a", &message]);
    }
}

#[test]
fn nobody_is_taken_on_while_something_speaks_against_it() {
    let check_with = |change: fn(&mut KubeadmControlPlane, &mut Cluster)| {
        let (mut control_plane, mut cluster) = (fixtures::control_plane(3), fixtures::cluster());
        change(&mut control_plane, &mut cluster);
        check_of(&control_plane, &cluster, &[orphan("a"), controlled_by("b", "x")], &[], &["complete"]);
    };
    check_with(|it, _| it.metadata.deletion_timestamp = Some(Time(fixtures::start())));
    check_with(|it, _| it.metadata.finalizers = None);
    check_with(|it, _| it.metadata.annotations = Some([(annotations::PAUSED.to_owned(), String::new())].into()));
    check_with(|_, cluster| cluster.spec.paused = Some(true));
    check_with(|_, cluster| cluster.status.initialization.infrastructure_provisioned = None);
    check_with(|_, cluster| cluster.spec.control_plane_endpoint.host = None);
}

#[test]
fn two_managers_of_one_control_plane_are_refused() {
    let mixed = "not all control plane machines are owned by this KubeadmControlPlane, refusing to operate in mixed \
                 management mode: b";
    check(&[ours("a"), controlled_by("b", "made-anew")], &[], &[mixed]);
}

#[test]
fn what_cannot_be_taken_on_is_told_in_words() {
    let check_error =
        |change: fn(&mut Candidate), expected: &str| check(&[with(orphan("a"), change)], &[], &[expected]);
    check_error(
        |it| it.machine.spec.bootstrap.config_ref = None,
        "machine a has no controller and cannot be taken on: its bootstrap configuration is none, not a KubeadmConfig",
    );
    check_error(
        |it| it.machine.spec.bootstrap.config_ref = Some(fixtures::reference("TalosConfig", "t")),
        "machine a has no controller and cannot be taken on: its bootstrap configuration is TalosConfig t, not a KubeadmConfig",
    );
    check_error(
        |it| it.kubeadm_config = None,
        "machine a has no controller and cannot be taken on yet: KubeadmConfig a is not there",
    );
    check_error(
        |it| it.machine.spec.version = Some("new".to_owned()),
        "spec.version of machine a, which nobody controls, makes no sense",
    );
    let mut control_plane = fixtures::control_plane(3);
    control_plane.spec.version = String::new();
    let expected = "spec.version of KubeadmControlPlane cp makes no sense";
    check_of(&control_plane, &fixtures::cluster(), &[orphan("a")], &[], &[expected]);
    control_plane = fixtures::control_plane(3);
    control_plane.metadata.uid = None;
    let expected = "KubeadmControlPlane \"cp\" has no name or no uid, so nothing can belong to it";
    check_of(&control_plane, &fixtures::cluster(), &[orphan("a")], &[], &[expected]);
}
