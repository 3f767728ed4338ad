//! What new Machines and their objects are.

use refit_api::vocabulary::annotations::{REMEDIATION_FOR, REMEDIATION_IN_PROGRESS};
use serde_json::{Value, json};

use crate::control_plane::desired;
use crate::control_plane::observed::Observed;
use crate::control_plane::tests::fixtures::{infrastructure, observed};
use crate::control_plane::{Step, decide};
use crate::coverage::kubeadm_config::Flavour;
use crate::effect::{Apply, Effect, Part};

fn applies(observed: &Observed) -> Vec<Apply> {
    let apply = |step| match step {
        Step::Write(Effect::Apply(apply)) => Some(apply),
        _ => None,
    };
    decide(observed).steps.into_iter().filter_map(apply).collect()
}

/// An empty control plane that wants its first machine.
fn empty() -> Observed {
    let mut observed = observed(0);
    observed.control_plane.spec.replicas = Some(1);
    observed
}

#[test]
fn a_machine_is_created_after_its_objects() {
    let applies = applies(&empty());
    let kinds: Vec<&str> = applies.iter().map(|apply| apply.target.kind.as_str()).collect();
    assert_eq!(kinds, ["DevMachine", "KubeadmConfig", "Machine"]);
    assert!(applies.iter().all(|apply| apply.target.uid.is_none() && apply.target.name == "cp-bbbbb"));
    let machine = &applies[2].intent;
    assert_eq!(machine["spec"]["bootstrap"]["configRef"]["name"], "cp-bbbbb");
    assert_eq!(machine["spec"]["infrastructureRef"]["kind"], "DevMachine");
    assert_eq!(machine["metadata"]["ownerReferences"][0]["controller"], true);
    assert!(applies[0].intent["metadata"]["ownerReferences"][0].get("controller").is_none());
}

#[test]
fn labels_that_find_a_machine_win_over_the_templates() {
    let mut observed = empty();
    let labels = &mut observed.control_plane.spec.machine_template.metadata.labels;
    labels.insert("cluster.x-k8s.io/cluster-name".to_owned(), "wrong".to_owned());
    labels.insert("team".to_owned(), "x".to_owned());
    let expected = json!({
        "cluster.x-k8s.io/cluster-name": "c1",
        "cluster.x-k8s.io/control-plane": "",
        "cluster.x-k8s.io/control-plane-name": "cp",
        "team": "x",
    });
    for apply in applies(&observed) {
        assert_eq!(apply.intent["metadata"]["labels"], expected, "{}", apply.target.kind);
    }
}

#[test]
fn gates_are_mandatory_ones_then_users_and_each_once() {
    let mut observed = empty();
    let gate =
        |name: &str| refit_api::cluster::MachineReadinessGate { condition_type: name.to_owned(), polarity: None };
    observed.control_plane.spec.machine_template.spec.readiness_gates = vec![gate("EtcdPodHealthy"), gate("Mine")];
    let gates = |observed: &Observed| -> Vec<String> {
        let machine = applies(observed).remove(2).intent;
        let gates = machine["spec"]["readinessGates"].as_array().unwrap().clone();
        gates.iter().map(|gate| gate["conditionType"].as_str().unwrap().to_owned()).collect()
    };
    let mandatory = [
        "NodeKubeadmLabelsAndTaintsSet",
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "SchedulerPodHealthy",
        "EtcdPodHealthy",
        "EtcdMemberHealthy",
        "Mine",
    ];
    assert_eq!(gates(&observed), mandatory);
}

#[test]
fn the_flavour_shows_in_the_config() {
    let mut observed = observed(1);
    let spec = &mut observed.control_plane.spec.kubeadm_config_spec;
    spec.init_configuration.skip_phases = vec!["i".to_owned()];
    spec.join_configuration.skip_phases = vec!["j".to_owned()];
    let config = |flavour| desired::kubeadm_config(&observed, "x", flavour, None)["spec"].clone();
    assert_eq!(config(Flavour::Init)["initConfiguration"], json!({ "skipPhases": ["i"] }));
    assert_eq!(config(Flavour::Init).get("joinConfiguration"), None);
    assert_eq!(config(Flavour::Join)["joinConfiguration"], json!({ "controlPlane": {}, "skipPhases": ["j"] }));
    assert_eq!(config(Flavour::Join).get("initConfiguration"), None);
}

#[test]
fn kubelets_are_local_between_1_31_and_1_36_unless_the_user_says_otherwise() {
    let gate = |version: &str, own: Option<bool>| {
        let mut observed = observed(1);
        observed.control_plane.spec.version = version.to_owned();
        let gates = &mut observed.control_plane.spec.kubeadm_config_spec.cluster_configuration.feature_gates;
        gates.extend(own.map(|own| ("ControlPlaneKubeletLocalMode".to_owned(), own)));
        let config = desired::kubeadm_config(&observed, "x", Flavour::Join, None);
        config.pointer("/spec/clusterConfiguration/featureGates/ControlPlaneKubeletLocalMode").and_then(Value::as_bool)
    };
    assert_eq!(gate("v1.30.9", None), None);
    assert_eq!(gate("v1.31.0-rc.1", None), Some(true));
    assert_eq!(gate("v1.35.9", None), Some(true));
    assert_eq!(gate("v1.36.0-alpha.1", None), None);
    assert_eq!(gate("v1.33.0", Some(false)), Some(false));
    assert_eq!(gate("nonsense", None), None);
}

#[test]
fn the_successor_of_an_unhealthy_machine_inherits_the_record() {
    let mut observed = empty();
    observed.annotate(REMEDIATION_IN_PROGRESS, r#"{"machine":"z","timestamp":"2026-01-01T00:00:00Z","retryCount":1}"#);
    let machine = applies(&observed).remove(2).intent;
    assert!(machine["metadata"]["annotations"][REMEDIATION_FOR].as_str().unwrap().contains("\"retryCount\":1"));
    let is_end = |step: &Step| match step {
        Step::Write(Effect::Patch(patch)) => {
            patch.part == Part::Object && patch.merge["metadata"]["annotations"][REMEDIATION_IN_PROGRESS].is_null()
        }
        _ => false,
    };
    assert!(decide(&observed).steps.iter().any(is_end));
}

#[test]
fn a_taken_name_is_not_taken_again() {
    let mut observed = empty();
    observed.leftovers.push(infrastructure("cp-bbbbb", "another template"));
    let machine = applies(&observed).pop().unwrap();
    assert_eq!(machine.target.name, "cp-cbbbb");
}

#[test]
fn without_its_template_nothing_is_created() {
    let mut observed = empty();
    observed.infrastructure_template = None;
    assert_eq!(applies(&observed), []);
    assert!(decide(&observed).waiting_on.iter().any(|why| why.to_string() == "DevMachineTemplate does not exist"));
}
