//! Decisions as tables, and the steps played to their end.

use kube::core::ObjectMeta;
use refit_api::bootstrap::{Format, KubeadmConfig};
use refit_api::cluster::Machine;
use refit_api::conditions::get;
use refit_api::vocabulary::{annotations, labels};
use serde_json::{Value, json};

use super::*;
use crate::effect::{Effect, Patch};
use crate::testing::{at, cluster, labels_of, machine, metadata};
use token::Token;

const TOKEN: &str = "abcdef.0123456789abcdef";

/// A worker's, in a cluster that runs.
pub(super) fn observed() -> Observed {
    let mut cluster = cluster();
    cluster.status.initialization.infrastructure_provisioned = Some(true);
    cluster.status.initialization.control_plane_initialized = Some(true);
    cluster.spec.control_plane_endpoint.host = Some("c.example".to_owned());
    cluster.spec.control_plane_endpoint.port = Some(6443);
    let mut machine = machine("m");
    machine.status.node_ref = None;
    let config = KubeadmConfig { metadata: metadata("m"), ..KubeadmConfig::default() };
    let fresh_token = Token::parse(TOKEN).expect("it is a token");
    Observed { now: at(5_000), config, machine, cluster, data_secret: DataSecret::Missing, fresh_token }
}

/// One of a control plane that is to start.
fn first() -> Observed {
    let mut observed = control_plane();
    observed.cluster.status.initialization.control_plane_initialized = None;
    observed
}

fn control_plane() -> Observed {
    let mut observed = observed();
    observed.machine.metadata.labels = Some(labels_of(&[(labels::CONTROL_PLANE, "")]));
    observed
}

fn with(observed: Observed, change: impl FnOnce(&mut Observed)) -> Observed {
    let mut observed = observed;
    change(&mut observed);
    observed
}

fn bootstrapped(observed: &mut Observed) {
    observed.data_secret = DataSecret::Own;
    observed.config.status.data_secret_name = Some("m".to_owned());
    observed.config.status.initialization.data_secret_created = Some(true);
    observed.config.spec.join_configuration.discovery.bootstrap_token.token = Some(TOKEN.to_owned());
}

#[test]
fn what_is_due_follows_from_what_is_there() {
    let token = || Token::parse(TOKEN).expect("it is a token");
    let available = |name: &str| Decision::Report(Outcome::Available { data_secret: name.to_owned() });
    let joined = |it: &mut Observed| it.machine.status.node_ref = machine("m").status.node_ref;
    let cases = [
        ("a worker joins", observed(), Decision::Bootstrap(Role::JoinWorker)),
        ("a control plane Machine joins", control_plane(), Decision::Bootstrap(Role::JoinControlPlane)),
        ("the first one starts the cluster", first(), Decision::Bootstrap(Role::Init)),
        (
            "a worker waits for the control plane",
            with(observed(), |it| it.cluster.status.initialization.control_plane_initialized = None),
            Decision::Report(Outcome::WaitingForControlPlane),
        ),
        (
            "all wait for the infrastructure",
            with(first(), |it| it.cluster.status.initialization.infrastructure_provisioned = None),
            Decision::Report(Outcome::WaitingForInfrastructure),
        ),
        (
            "a Machine without a Node keeps its token",
            with(observed(), bootstrapped),
            Decision::KeepToken { token: token(), data_secret: "m".to_owned() },
        ),
        ("a Machine with a Node needs no token", with(with(observed(), bootstrapped), joined), available("m")),
        (
            "the Secret is made and the status does not say so yet",
            with(observed(), |it| it.data_secret = DataSecret::Own),
            available("m"),
        ),
        (
            "a restored status is taken from the Machine",
            with(first(), |it| it.machine.spec.bootstrap.data_secret_name = Some("of-machine".to_owned())),
            available("of-machine"),
        ),
        (
            "data that was made is not made again when its Secret is gone",
            with(with(first(), bootstrapped), |it| {
                it.data_secret = DataSecret::Missing;
                it.config.spec.join_configuration.discovery.bootstrap_token.token = None;
            }),
            available("m"),
        ),
        ("a restored Secret is adopted", with(observed(), |it| it.data_secret = DataSecret::Restored), Decision::Adopt),
        (
            "a Machine that is going needs nothing",
            with(observed(), |it| {
                it.machine.metadata.deletion_timestamp =
                    Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(1)));
            }),
            Decision::Rest,
        ),
    ];
    for (what, observed, expected) in cases {
        assert_eq!(decide(&observed), expected, "{what}");
    }
}

#[test]
fn what_stands_in_the_way_is_named() {
    let check = |change: &dyn Fn(&mut Observed), expected: &str| match decide(&with(observed(), change)) {
        Decision::Report(Outcome::Failed(words) | Outcome::Waiting(words)) => assert_eq!(words, expected),
        other => panic!("{other:?}"),
    };
    check(
        &|it| it.config.spec.format = Some(Format::Ignition),
        "spec.format ignition is not supported yet; use cloud-config",
    );
    check(&|it| it.data_secret = DataSecret::Foreign, "Secret m belongs to somebody else; delete or rename it");
    check(&|it| it.data_secret = DataSecret::Former, "Waiting for Secret m of an earlier KubeadmConfig to be deleted");
}

#[test]
fn a_paused_config_is_left_alone_and_says_so() {
    let paused = with(observed(), |it| {
        it.config.metadata.annotations = Some(labels_of(&[(annotations::PAUSED, "")]));
    });
    let decision = decide(&paused);
    let Some(Effect::Patch(patch)) = decision.report_paused(&paused) else { panic!("{decision:?}") };
    assert!(patch.body().to_string().contains("\"Paused\""), "{}", patch.body());
}

#[test]
fn a_secret_is_known_by_who_controls_it() {
    let (config, mut machine) = (observed().config, machine("m"));
    let secret = |owner: Option<Value>| -> ObjectMeta {
        let owners: Vec<Value> = owner.into_iter().collect();
        serde_json::from_value(json!({ "name": "m", "ownerReferences": owners })).expect("it must be metadata")
    };
    let owner = |kind: &str, uid: &str| {
        let group = if kind == "KubeadmConfig" { "bootstrap.cluster.x-k8s.io/v1beta1" } else { "v1" };
        Some(json!({ "apiVersion": group, "kind": kind, "name": "m", "uid": uid, "controller": true }))
    };
    let check = |machine: &Machine, owner, expected| {
        assert_eq!(data_secret(&config, machine, Some(&secret(owner))), expected);
    };
    assert_eq!(data_secret(&config, &machine, None), DataSecret::Missing);
    check(&machine, owner("KubeadmConfig", "uid-m"), DataSecret::Own);
    check(&machine, owner("KubeadmConfig", "uid-old"), DataSecret::Former);
    check(&machine, owner("ConfigMap", "uid-x"), DataSecret::Foreign);
    check(&machine, None, DataSecret::Foreign);
    machine.spec.bootstrap.data_secret_name = Some("m".to_owned());
    check(&machine, owner("KubeadmConfig", "uid-old"), DataSecret::Restored);
    check(&machine, owner("ConfigMap", "uid-x"), DataSecret::Foreign);
    check(&machine, None, DataSecret::Restored);
}

#[test]
fn the_lock_is_read_as_it_is_written() {
    assert_eq!(lock_holder(&lock_content("m")), Some("m".to_owned()));
    assert_eq!(lock_content("m"), r#"{"machineName":"m"}"#);
    for unreadable in ["", "{}", r#"{"machineName":""}"#, "no JSON"] {
        assert_eq!(lock_holder(unreadable), None, "{unreadable}");
    }
}

fn authority() -> Authority {
    Authority { certificate: "CERTIFICATE".to_owned(), hashes: vec!["sha256:1".to_owned()] }
}

/// What the shell would do, each step told in a word. `stored` has the data of the last step.
fn play(mut observed: Observed, role: Role, mut progress: Progress) -> (Vec<String>, Observed, Option<String>) {
    let mut told = Vec::new();
    for _ in 0..20 {
        let step = next_step(&observed, role, &progress);
        told.push(word(&step));
        match step {
            Step::LookAtLock => progress.lock = Some(InitLock::Free),
            Step::TakeLock => progress.lock = Some(InitLock::Held),
            Step::DeleteStaleLock => progress.lock = None,
            Step::Unlock => progress.is_unlocked = true,
            Step::FindPairs { .. } => {
                progress.pairs = Some(PairsSeen::Found { authority: authority(), files: Vec::new() });
            }
            Step::ReadSources => progress.sources = Some(Ok(Sources::default())),
            Step::WriteBack(patch) => {
                written(&mut observed.config, &patch);
                // The pass is over: the next one knows nothing of the steps.
                progress = Progress::default();
            }
            Step::MakeToken(_) => progress.token = Some(TokenStep::Good),
            Step::Store(data) => return (told, observed, Some(data.value)),
            Step::Stop(_) | Step::StopAndUnlock(_) => return (told, observed, None),
        }
    }
    panic!("it must come to an end: {told:?}");
}

fn word(step: &Step) -> String {
    match step {
        Step::LookAtLock => "look at lock".to_owned(),
        Step::TakeLock => "take lock".to_owned(),
        Step::DeleteStaleLock => "delete stale lock".to_owned(),
        Step::Unlock => "unlock".to_owned(),
        Step::FindPairs { needed, generation } => format!("find {} pairs, {generation:?}", needed.len()),
        Step::ReadSources => "read sources".to_owned(),
        Step::WriteBack(_) => "write back".to_owned(),
        Step::MakeToken(_) => "make token".to_owned(),
        Step::Store(_) => "store".to_owned(),
        Step::Stop(outcome) => format!("stop: {outcome:?}"),
        Step::StopAndUnlock(outcome) => format!("stop and unlock: {outcome:?}"),
    }
}

fn written(config: &mut KubeadmConfig, patch: &Patch) {
    assert!(patch.resource_version.is_some(), "another writer's spec must not be written over");
    let mut value = serde_json::to_value(&*config).expect("it must encode");
    crate::merge::apply(&mut value, &patch.merge);
    *config = serde_json::from_value(value).expect("it must decode");
}

#[test]
fn the_token_is_written_down_before_it_is_made_and_made_before_it_is_handed_out() {
    let (told, observed, data) = play(observed(), Role::JoinWorker, Progress::default());
    let steps = ["unlock", "find 1 pairs, Forbidden", "read sources"];
    let expected = [&steps[..], &["write back"], &steps[..], &["make token", "store"]].concat();
    assert_eq!(told, expected);
    let discovery = observed.config.spec.join_configuration.discovery.bootstrap_token;
    assert_eq!(discovery.token.as_deref(), Some(TOKEN));
    assert_eq!(discovery.api_server_endpoint.as_deref(), Some("c.example:6443"));
    assert_eq!(discovery.ca_cert_hashes, ["sha256:1"]);
    assert!(data.is_some_and(|data| data.contains(TOKEN)));
}

#[test]
fn a_second_try_uses_the_token_of_the_first() {
    let (_, mut observed, first) = play(observed(), Role::JoinWorker, Progress::default());
    observed.fresh_token = Token::from_random([1, 2, 3]);
    let (told, _, second) = play(observed, Role::JoinWorker, Progress::default());
    assert_eq!(told, ["unlock", "find 1 pairs, Forbidden", "read sources", "make token", "store"]);
    assert_eq!(first, second);
}

#[test]
fn the_first_machine_starts_the_cluster_under_the_lock() {
    let mut alone = first();
    alone.cluster.spec.control_plane_ref = None;
    let (told, observed, _) = play(alone, Role::Init, Progress::default());
    let steps = ["look at lock", "take lock", "find 4 pairs, Allowed", "read sources"];
    assert_eq!(told, [&steps[..], &["write back"], &steps[..], &["store"]].concat());
    let endpoint = observed.config.spec.cluster_configuration.control_plane_endpoint;
    assert_eq!(endpoint.as_deref(), Some("c.example:6443"));
    let (told, ..) = play(first(), Role::Init, Progress::default());
    assert_eq!(told[2], "find 4 pairs, Forbidden", "a control plane's own controller makes them");
}

#[test]
fn whoever_does_not_hold_the_lock_waits() {
    let next = |lock| word(&next_step(&first(), Role::Init, &Progress { lock: Some(lock), ..Progress::default() }));
    assert_eq!(
        next(InitLock::HeldByOther { machine: "other".to_owned() }),
        "stop: Waiting(\"Waiting for Machine other to initialize the control plane\")"
    );
    assert_eq!(next(InitLock::Stale { machine: "gone".to_owned() }), "delete stale lock");
    assert_eq!(
        next(InitLock::Unreadable),
        "stop: Waiting(\"ConfigMap c-lock does not say which Machine initializes the control plane; delete it\")"
    );
}

#[test]
fn what_keeps_the_first_machine_from_its_data_sets_the_lock_free() {
    let held = || Progress { lock: Some(InitLock::Held), ..Progress::default() };
    let missing = Progress { pairs: Some(PairsSeen::Missing(vec!["c-ca".to_owned()])), ..held() };
    let (told, ..) = play(first(), Role::Init, missing);
    assert_eq!(told, ["stop and unlock: NoCertificates(\"Waiting for Secrets c-ca\")"]);
    let no_version = with(first(), |it| it.machine.spec.version = None);
    let (told, ..) = play(no_version, Role::Init, held());
    let last = told.last().map(String::as_str);
    assert_eq!(last, Some("stop and unlock: Failed(\"Machine m has no spec.version; set it\")"));
}

#[test]
fn a_workload_cluster_that_does_not_answer_is_waited_for() {
    let (_, observed, _) = play(observed(), Role::JoinWorker, Progress::default());
    let progress = Progress {
        is_unlocked: true,
        pairs: Some(PairsSeen::Found { authority: authority(), files: Vec::new() }),
        sources: Some(Ok(Sources::default())),
        token: Some(TokenStep::Failed("no answer".to_owned())),
        ..Progress::default()
    };
    let (told, ..) = play(observed, Role::JoinWorker, progress);
    assert_eq!(told, ["stop: Waiting(\"no answer\")"]);
}

#[test]
fn a_users_own_discovery_is_kept() {
    let given = with(observed(), |it| {
        let discovery = &mut it.config.spec.join_configuration.discovery.bootstrap_token;
        discovery.api_server_endpoint = Some("own:1".to_owned());
        discovery.ca_cert_hashes = vec!["sha256:own".to_owned()];
    });
    let (_, given, _) = play(given, Role::JoinWorker, Progress::default());
    let discovery = given.config.spec.join_configuration.discovery.bootstrap_token;
    assert_eq!(discovery.api_server_endpoint.as_deref(), Some("own:1"));
    assert_eq!(discovery.ca_cert_hashes, ["sha256:own"]);
    let by_file = with(observed(), |it| {
        let file = json!({ "kubeConfigPath": "/k", "kubeConfig": { "user": { "exec": { "command": "login" } } } });
        let file = serde_json::from_value(file).expect("it must decode");
        it.config.spec.join_configuration.discovery.file = Some(file);
    });
    let (told, by_file, data) = play(by_file, Role::JoinWorker, Progress::default());
    assert!(!told.contains(&"make token".to_owned()), "{told:?}");
    let discovery = by_file.config.spec.join_configuration.discovery;
    assert_eq!(discovery.bootstrap_token.token, None);
    let cluster = discovery.file.and_then(|file| file.kube_config).expect("it must be there").cluster;
    assert_eq!(cluster.server.as_deref(), Some("https://c.example:6443"));
    assert!(data.is_some_and(|data| data.contains("command: login")));
}

#[test]
fn a_worker_with_the_configuration_of_a_control_plane_is_refused() {
    let wrong = with(observed(), |it| it.config.spec.join_configuration.control_plane = Some(Default::default()));
    let (told, ..) = play(wrong, Role::JoinWorker, Progress::default());
    let words = "stop: Failed(\"spec.joinConfiguration.controlPlane is set, and the Machine is a worker; unset it\")";
    assert_eq!(told.last().map(String::as_str), Some(words));
}

#[test]
fn the_status_says_what_has_come_of_it_and_then_stays() {
    let mut seen = with(observed(), |it| it.data_secret = DataSecret::Own);
    let check = |seen: &mut Observed, outcome: &Outcome, expected: &str| {
        let effect = report(seen, outcome).expect("it must be told");
        let Effect::Patch(patch) = effect else { panic!("{effect:?}") };
        let mut value = serde_json::to_value(&seen.config).expect("it must encode");
        crate::merge::apply(&mut value, &patch.merge);
        seen.config = serde_json::from_value(value).expect("it must decode");
        let ready = get(&seen.config.status.conditions, "Ready").expect("it must be there");
        assert_eq!(format!("{} {}", ready.status, ready.reason), expected);
        assert_eq!(report(seen, outcome), None, "it says so already");
    };
    check(&mut seen, &Outcome::WaitingForControlPlane, "False NotReady");
    check(&mut seen, &Outcome::NoCertificates("Waiting for Secrets c-ca".to_owned()), "False NotReady");
    check(&mut seen, &Outcome::Available { data_secret: "m".to_owned() }, "True Ready");
    assert_eq!(seen.config.status.data_secret_name.as_deref(), Some("m"));
    assert_eq!(seen.config.status.initialization.data_secret_created, Some(true));
}

/// What is left when the process dies: everything but what it knew.
#[derive(Debug, Default, Clone, PartialEq)]
struct World {
    lock: Option<String>,
    tokens: std::collections::BTreeSet<String>,
    stored: Vec<String>,
}

/// Takes steps in a world that outlives the process, which dies before its step of this number.
fn live_through(mut observed: Observed, role: Role, death: usize) -> World {
    let (mut world, mut progress) = (World::default(), Progress::default());
    for number in 0..40 {
        if number == death {
            progress = Progress::default();
            observed.fresh_token = Token::from_random([7, 8, 9]);
        }
        if !world.stored.is_empty() {
            observed.data_secret = DataSecret::Own;
            let due = decide(&observed);
            assert!(matches!(due, Decision::Report(Outcome::Available { .. })), "{due:?}");
            return world;
        }
        match next_step(&observed, role, &progress) {
            Step::LookAtLock => {
                progress.lock = Some(if world.lock.is_some() { InitLock::Held } else { InitLock::Free });
            }
            Step::TakeLock => {
                world.lock = Some("m".to_owned());
                progress.lock = Some(InitLock::Held);
            }
            Step::Unlock => progress.is_unlocked = true,
            Step::FindPairs { .. } => {
                progress.pairs = Some(PairsSeen::Found { authority: authority(), files: Vec::new() });
            }
            Step::ReadSources => progress.sources = Some(Ok(Sources::default())),
            Step::WriteBack(patch) => {
                written(&mut observed.config, &patch);
                progress = Progress::default();
            }
            Step::MakeToken(token) => {
                world.tokens.insert(token.text());
                progress.token = Some(TokenStep::Good);
            }
            Step::Store(data) => world.stored.push(data.value),
            step @ (Step::DeleteStaleLock | Step::Stop(_) | Step::StopAndUnlock(_)) => panic!("{}", word(&step)),
        }
    }
    panic!("it must come to an end");
}

#[test]
fn a_process_that_dies_before_any_step_leads_to_the_same_end() {
    for (observed, role) in
        [(first(), Role::Init), (observed(), Role::JoinWorker), (control_plane(), Role::JoinControlPlane)]
    {
        let tokens = usize::from(role != Role::Init);
        for death in 0..14 {
            let world = live_through(observed.clone(), role, death);
            assert_eq!((world.stored.len(), world.tokens.len()), (1, tokens), "{role:?} {death}");
            assert!(world.tokens.iter().all(|token| world.stored[0].contains(token)), "{role:?} {death}");
        }
    }
}
