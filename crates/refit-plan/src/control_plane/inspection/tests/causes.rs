//! What each thing that can be wrong makes of the conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

/// A Machine's conditions that are not True, where this was seen.
fn check(case: &Case, machine: &str, expected: &[&str]) {
    assert_eq!(case.bad(machine), expected);
}

/// What the Pod of the API server on b makes of its condition; all other conditions stay True.
fn check_pod(seen: SeenPod, expected: &str) {
    let case = Case::seen(|all| drop(all.pods.insert(("b".to_owned(), Component::ApiServer), seen)));
    check(&case, "b", &[&format!("APIServerPodHealthy={expected}")]);
    check(&case, "a", &[]);
}

fn waiting(reason: &str, last_exit: Value) -> SeenPod {
    let container = json!({
        "name": "c", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
        "state": { "waiting": { "reason": reason } },
        "lastState": { "terminated": last_exit },
    });
    pod(json!({ "phase": "Running", "containerStatuses": [container] }))
}

#[test]
fn pods_say_what_kubelets_say_of_them() {
    let met = |type_: &str| json!({ "type": type_, "status": "True" });
    check_pod(SeenPod::Missing, "False DoesNotExist: Pod does not exist");
    check_pod(
        SeenPod::Unreadable { why: "timeout".to_owned() },
        "Unknown InspectionFailed: Failed to get the Pod: timeout",
    );
    check_pod(pod(json!({ "phase": "Pending" })), "False Provisioning: Waiting to be scheduled");
    let scheduled = json!({ "phase": "Pending", "conditions": [met("PodScheduled")] });
    check_pod(pod(scheduled), "False Provisioning: Running init containers");
    let initialized = json!({ "phase": "Pending", "conditions": [met("PodScheduled"), met("Initialized")] });
    check_pod(pod(initialized), "False Provisioning");
    check_pod(pod(json!({ "phase": "Running" })), "False Provisioning: Waiting for startup or readiness probes");
    check_pod(waiting("ContainerCreating", Value::Null), "False Provisioning: ContainerCreating");
    check_pod(waiting("Restarting", json!({ "exitCode": 0 })), "False Provisioning: Restarting");
    check_pod(waiting("CrashLoopBackOff", json!({ "exitCode": 1 })), "False Failed: CrashLoopBackOff");
    let terminated = json!({
        "name": "c", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
        "state": { "terminated": { "reason": "Error", "exitCode": 1 } },
    });
    check_pod(pod(json!({ "phase": "Running", "containerStatuses": [terminated] })), "False Failed: Error");
    for phase in ["Succeeded", "Failed"] {
        check_pod(pod(json!({ "phase": phase })), "False Failed: All the containers have been terminated");
    }
    check_pod(pod(json!({ "phase": "Unknown" })), "Unknown InspectionFailed: Pod is reporting Unknown status");
    check_pod(pod(json!({})), "Unknown InspectionFailed: Pod does not report its phase");
}

#[test]
fn what_others_say_does_not_grow_conditions_without_a_bound() {
    let case = Case::seen(|seen| seen.etcd = SeenEtcd::Unknown { why: "ä".repeat(100_000) });
    let bad = case.bad("a");
    assert!(bad[0].starts_with("EtcdMemberHealthy=Unknown InspectionFailed: Failed to get etcd members: ää"));
    assert!(bad[0].len() < 2 * LONGEST_WORDS + 100, "{}", bad[0].len());
    check_pod(
        waiting(&"x".repeat(10_000), Value::Null),
        &format!("False Provisioning: {}...", "x".repeat(LONGEST_WORDS)),
    );
}

#[test]
fn members_are_healthy_when_they_vote_without_alarms() {
    let with = |change: fn(&mut Vec<SeenMember>)| {
        Case::seen(|seen| {
            if let SeenEtcd::Known { members, .. } = &mut seen.etcd {
                change(members);
            }
        })
    };
    let check = |change, expected: &str| {
        check(&with(change), "b", &[&format!("EtcdMemberHealthy=False NotHealthy: {expected}")])
    };
    check(|members| drop(members.remove(1)), "Etcd doesn't have an etcd member for Node b");
    check(|members| members[1].is_learner = true, "Waiting for learner etcd member to be promoted");
    let alarms = |members: &mut Vec<SeenMember>| members[1].alarms = vec!["NOSPACE".to_owned(), "CORRUPT".to_owned()];
    check(alarms, "Etcd reports alarms: NOSPACE, CORRUPT");
    let EtcdMembers::Known(members) = with(alarms).read().etcd else { panic!("the members must be known") };
    assert_eq!(members.iter().map(|member| member.is_healthy).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn members_are_known_only_when_etcd_has_agreed_on_them() {
    let check = |etcd: SeenEtcd, why: &str| {
        let case = Case::seen(|seen| seen.etcd = etcd);
        check(&case, "a", &[&format!("EtcdMemberHealthy=Unknown InspectionFailed: Failed to get etcd members: {why}")]);
        assert_eq!(case.read().etcd, EtcdMembers::Unknown { why: why.to_owned() });
    };
    let member = SeenMember { id: 1, name: "a".to_owned(), ..SeenMember::default() };
    check(SeenEtcd::Known { members: vec![member], leader: None }, "etcd has no leader");
    check(SeenEtcd::Known { members: Vec::new(), leader: Some(1) }, "etcd names no members");
    check(SeenEtcd::Unknown { why: "timeout".to_owned() }, "timeout");
}

fn check_node(change: impl Fn(&mut Node), expected: &[&str]) {
    let case = Case::seen(|seen| {
        let nodes = seen.nodes.as_mut().expect("the Nodes are known");
        change(nodes.get_mut("b").expect("there is such a Node"));
    });
    check(&case, "b", expected);
}

/// What is said of everything that a kubelet reports.
fn all_pods(words: &str) -> Vec<String> {
    let pods = Component::ALL.map(|component| component.pod().condition_type());
    pods.iter().map(|type_| format!("{type_}=Unknown InspectionFailed: {words}")).collect()
}

#[test]
fn pods_of_a_node_that_does_not_answer_are_unknown() {
    let of = |words: &str, change: fn(&mut Node)| {
        let expected = all_pods(words);
        check_node(change, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    };
    of("Node b is unreachable", |node| {
        let taint = json!({ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute" });
        node.spec.get_or_insert_default().taints.get_or_insert_default().push(object(taint));
    });
    of("Node Ready condition is Unknown, Pod data might be stale", |node| {
        node.status = Some(object(json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] })));
    });
    // A kubelet that says that its Node is not ready is there.
    check_node(
        |node| node.status = Some(object(json!({ "conditions": [{ "type": "Ready", "status": "False" }] }))),
        &[],
    );
}

#[test]
fn what_kubeadm_puts_on_a_node_must_be_there() {
    let prefix = "NodeKubeadmLabelsAndTaintsSet=False NotSet: Node b lacks";
    let label = format!("{prefix} label {ROLE}");
    check_node(|node| node.metadata.labels = None, &[&label]);
    let taint = format!("{prefix} taint {ROLE}:NoSchedule");
    check_node(|node| node.spec = None, &[&taint]);

    // What it was told instead counts, and where nobody knows what that was, nothing is asked for.
    let told = |taints: Option<Value>, expected: &[&str]| {
        let mut case = Case::seen(|seen| {
            seen.nodes.as_mut().expect("the Nodes are known").get_mut("b").expect("there is one").spec = None;
        });
        let machine = case.observed.machines.get_mut("b").expect("there is such a Machine");
        match (taints, &mut machine.kubeadm_config) {
            (Some(taints), Some(config)) => {
                let join = &mut config.spec.join_configuration;
                join.control_plane.get_or_insert_default();
                join.node_registration.taints = object(taints);
            }
            (None, config) => *config = None,
            (Some(_), None) => panic!("the Machine must have a KubeadmConfig"),
        }
        check(&case, "b", expected);
    };
    told(Some(json!([])), &[]);
    told(None, &[]);
    told(Some(json!([{ "key": "own", "effect": "NoExecute" }])), &[&format!("{prefix} taint own:NoExecute")]);
}

#[test]
fn a_machine_without_its_node_says_what_it_waits_for() {
    let of = |words: &str, change: &dyn Fn(&mut Case)| {
        let case = Case::with(change);
        let bad = case.bad("b");
        assert_eq!(bad.len(), 6);
        assert!(bad.iter().all(|line| line.ends_with(words)), "{bad:?}");
        assert!(bad.iter().all(|line| line.contains("=Unknown InspectionFailed: ")), "{bad:?}");
    };
    of("Waiting for a Node with spec.providerID dev://b to exist", &|case| case.machine("b").status.node_ref = None);
    of("Waiting for DevMachine to report spec.providerID", &|case| {
        case.machine("b").status.node_ref = None;
        case.machine("b").spec.provider_id = None;
    });
    of("Node b does not exist", &|case| case.inspection = Inspection::Seen(Box::new(healthy(&["a", "c"]))));
}

#[test]
fn nothing_is_expected_of_a_machine_that_goes() {
    let case = Case::with(|case| {
        case.machine("b").metadata.deletion_timestamp = Some(Time(start()));
        case.inspection = Inspection::Seen(Box::new(healthy(&["a", "c"])));
    });
    let bad = case.bad("b");
    assert_eq!(bad.len(), 6);
    assert!(bad.iter().all(|line| line.ends_with("=False Deleting: Machine is deleting")), "{bad:?}");
    check(&case, "a", &[]);
}

#[test]
fn nodes_that_cannot_be_listed_make_everything_unknown() {
    let case = Case::seen(|seen| seen.nodes = Err("timeout".to_owned()));
    let mut expected = all_pods("Failed to get the Node hosting the Pod: timeout");
    expected
        .push("EtcdMemberHealthy=Unknown InspectionFailed: Failed to get the Node hosting the etcd member".to_owned());
    expected.push("NodeKubeadmLabelsAndTaintsSet=Unknown InspectionFailed: Failed to get the Node: timeout".to_owned());
    assert_eq!(case.bad("a"), expected);
}
