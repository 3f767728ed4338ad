//! The judge finds what is planted.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const RULES: Rules = Rules {
    on_delete: false,
    is_paused: false,
    is_covered: true,
    is_known: true,
    is_required: true,
    may_update: true,
    keep_originals: true,
};

/// A history in the making: each line is one write.
#[derive(Default)]
struct Told(Vec<Entry>, Duration);

impl Told {
    /// Two machines of `ms1`, and `ms2` of the template that the user has just asked for.
    fn begin() -> Self {
        let mut told = Self::default();
        told.deployment("v1", 2);
        told.set("ms1", "v1", 2);
        told.machine("m1", "ms1", &[]);
        told.machine("m2", "ms1", &[]);
        told.deployment("v2", 2);
        told.set("ms2", "v2", 0);
        told
    }

    fn add(&mut self, object: Object) {
        let version = u64::try_from(self.0.len()).unwrap() + 1;
        self.0.push(Entry { version, at: self.1, is_gone: false, object });
    }

    fn deployment(&mut self, template: &str, replicas: i32) {
        let rolling = json!({ "maxSurge": 0, "maxUnavailable": 1 });
        self.deployment_with(template, replicas, &json!({ "type": "RollingUpdate", "rollingUpdate": rolling }));
    }

    fn deployment_with(&mut self, template: &str, replicas: i32, strategy: &Value) {
        let rollout = json!({ "strategy": strategy });
        let spec =
            json!({ "clusterName": "c", "replicas": replicas, "rollout": rollout, "template": machine(template) });
        self.add(Object::Deployment(read(json!({ "metadata": { "name": "md" }, "spec": spec }))));
    }

    fn set(&mut self, name: &str, template: &str, replicas: i32) {
        let spec = json!({ "clusterName": "c", "replicas": replicas, "template": machine(template) });
        self.add(Object::Set(read(json!({ "metadata": { "name": name }, "spec": spec }))));
    }

    /// A machine that is available, with these fields of its metadata.
    fn machine(&mut self, name: &str, owner: &str, more: &[(&str, Value)]) {
        let owner =
            json!({ "apiVersion": "v1", "kind": "MachineSet", "name": owner, "uid": owner, "controller": true });
        let mut metadata = json!({ "name": name, "uid": name, "ownerReferences": [owner] });
        more.iter().for_each(|(key, value)| metadata[*key] = value.clone());
        let available = json!({
            "type": "Available", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let spec = machine("any")["spec"].clone();
        let status = json!({ "conditions": [available] });
        self.add(Object::Machine(read(json!({ "metadata": metadata, "spec": spec, "status": status }))));
    }

    /// So many seconds go by.
    fn wait(&mut self, seconds: u64) {
        self.1 += Duration::from_secs(seconds);
    }

    fn extension(&mut self, discovered: &str) {
        let condition = json!({
            "type": "Discovered", "status": discovered, "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status = json!({ "conditions": [condition] });
        let spec = json!({ "clientConfig": { "url": "https://e" } });
        self.add(Object::Extension(read(json!({ "metadata": { "name": "e" }, "spec": spec, "status": status }))));
    }

    fn rollout(&mut self, message: &str) {
        let target = json!({ "apiGroup": "g", "kind": "MachineDeployment", "name": "md" });
        let spec = json!({ "targetRef": target, "revision": "ms2", "policy": "Require", "keepOriginals": true });
        let status = json!({ "message": message });
        self.add(Object::Rollout(read(json!({ "metadata": { "name": "ms2-2" }, "spec": spec, "status": status }))));
    }

    /// What is found, without what is said of the end.
    #[track_caller]
    fn check(&self, deleted_by_user: &[&str], expected: &[&str]) {
        self.check_under(RULES, deleted_by_user, expected);
    }

    #[track_caller]
    fn check_under(&self, rules: Rules, deleted_by_user: &[&str], expected: &[&str]) {
        let deleted_by_user = deleted_by_user.iter().map(|&name| name.to_owned()).collect();
        let case = Case { rules, settled_at: 4, deleted_by_user };
        let found = judge(&case, &self.0);
        let found: Vec<&str> = found.iter().filter_map(|what| what.split_once(": ")).map(|(_, what)| what).collect();
        let found: Vec<&str> = found.into_iter().filter(|what| what.starts_with('I')).collect();
        assert_eq!(found, expected);
    }
}

fn machine(template: &str) -> Value {
    let reference = json!({ "apiGroup": "g", "kind": "K", "name": template });
    json!({ "spec": { "clusterName": "c", "bootstrap": {}, "infrastructureRef": reference } })
}

fn read<K: serde::de::DeserializeOwned>(object: Value) -> Box<K> {
    Box::new(serde_json::from_value(object).expect("it must be an object"))
}

fn deleting() -> (&'static str, Value) {
    ("deletionTimestamp", json!("2026-01-01T00:00:00Z"))
}

fn moved() -> (&'static str, Value) {
    let marks = ["in-place-updates.internal.cluster.x-k8s.io/update-in-progress", PENDING];
    ("annotations", marks.into_iter().map(|mark| (mark.to_owned(), json!(""))).collect())
}

const PENDING: &str = "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move";

#[test]
fn a_move_is_in_order() {
    let mut told = Told::begin();
    told.machine("m1", "ms2", &[moved()]);
    told.check(&[], &[]);
}

#[test]
fn a_deletion_for_a_rollout_is_found_and_the_users_own_is_not() {
    let mut told = Told::begin();
    told.machine("m1", "ms1", &[deleting()]);
    told.check(&["m1"], &[]);
    told.check(&[], &["I1: m1 was there before the rollout and was deleted"]);
    let mut told = Told::begin();
    told.deployment("v2", 1);
    told.machine("m1", "ms1", &[deleting()]);
    told.check(&[], &[]);
}

#[test]
fn a_machine_deleted_on_its_way_is_found() {
    let mut told = Told::begin();
    told.machine("m1", "ms2", &[moved()]);
    told.machine("m1", "ms2", &[moved(), deleting()]);
    let lost = "I5: m1 was deleted on its way from one MachineSet to another";
    told.check(&[], &[lost, "I1: m1 was there before the rollout and was deleted"]);
}

#[test]
fn a_machine_with_two_owners_is_found() {
    let mut told = Told::begin();
    let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "M", "name": name, "uid": name, "controller": true });
    told.machine("m1", "ms1", &[("ownerReferences", json!([owner("ms1"), owner("ms2")]))]);
    told.check(&[], &["I5: m1 is controlled by [\"ms1\", \"ms2\"]"]);
}

#[test]
fn too_many_machines_and_too_few_available_ones_are_found() {
    let mut told = Told::begin();
    told.machine("m3", "ms2", &[]);
    told.check(&[], &["I2: there are 3 machines, 2 may be"]);
    let mut told = Told::begin();
    told.machine("m1", "ms2", &[moved()]);
    told.machine("m2", "ms2", &[moved()]);
    told.check(&[], &["I2: 0 machines are available, 1 must be"]);
    // Whoever updates machines by deleting them says how many are away.
    let mut told = Told::begin();
    told.deployment_with("v2", 2, &json!({ "type": "OnDelete" }));
    told.machine("m1", "ms2", &[moved()]);
    told.machine("m2", "ms2", &[moved()]);
    told.check(&[], &[]);
}

#[test]
fn a_plan_that_is_exchanged_in_the_middle_is_found() {
    let marks = |question: &str| {
        let (_, mut marks) = moved();
        marks["refit.dev/update-plan"] = json!(json!({ "question": question }).to_string());
        ("annotations", marks)
    };
    let mut told = Told::begin();
    told.machine("m1", "ms2", &[marks("a")]);
    told.machine("m1", "ms2", &[marks("b")]);
    told.check(&[], &["I4: m1 is updated by another plan than was accepted"]);
}

/// Machines may be replaced for a change that no extension covers.
const UNCOVERED: Rules = Rules { is_required: false, is_covered: false, ..RULES };

/// The machines are there, this happens to an extension, and after so many seconds a machine is replaced for a change.
#[track_caller]
fn check_replaced(happens: impl Fn(&mut Told), seconds: u64, expected: &[&str]) {
    let mut told = Told::begin();
    // The change is yet to come.
    told.0.truncate(4);
    happens(&mut told);
    told.wait(seconds);
    told.deployment("v2", 2);
    told.set("ms2", "v2", 0);
    told.set("ms1", "v1", 1);
    told.machine("m1", "ms1", &[deleting()]);
    told.check_under(UNCOVERED, &[], expected);
}

const UNKNOWN: [&str; 1] = ["I8: m1 was deleted, and nobody knew that it had to be"];

#[test]
fn a_deletion_while_an_extension_is_not_discovered_is_found() {
    check_replaced(|_| {}, 0, &[]);
    check_replaced(|told| told.extension("True"), 40, &[]);
    check_replaced(|told| told.extension("False"), 40, &UNKNOWN);
}

#[test]
fn a_deletion_right_after_an_extension_came_or_went_is_found() {
    check_replaced(|told| told.extension("True"), 10, &UNKNOWN);
    let goes = |told: &mut Told| {
        told.extension("True");
        told.wait(100);
        told.extension("True");
        told.0.last_mut().expect("it was added").is_gone = true;
    };
    check_replaced(goes, 10, &UNKNOWN);
    check_replaced(goes, 40, &[]);
}

#[test]
fn a_rollout_that_waits_and_does_not_say_why_is_found() {
    let silent = "I7: nothing has moved for 31s, and nothing says what is waited for";
    let mut told = Told::begin();
    told.wait(31);
    told.machine("m1", "ms2", &[moved()]);
    told.check(&[], &[silent]);
    // It says so in time.
    let mut told = Told::begin();
    told.wait(20);
    told.rollout("no extension covers spec.cpus");
    told.wait(11);
    told.machine("m1", "ms2", &[moved()]);
    told.check(&[], &[]);
    // Too late, and with nothing to say.
    let mut told = Told::begin();
    told.rollout("");
    told.wait(31);
    told.rollout("no extension covers spec.cpus");
    told.check(&[], &[silent]);
}
