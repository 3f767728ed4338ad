//! The judge finds what is planted.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const RULES: Rules =
    Rules { on_delete: false, is_covered: true, is_required: true, may_update: true, keep_originals: true };

/// A history in the making: each line is one write.
#[derive(Default)]
struct Told(Vec<Entry>);

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
        self.0.push(Entry { version, at: Duration::ZERO, is_gone: false, object });
    }

    fn deployment(&mut self, template: &str, replicas: i32) {
        let rolling = json!({ "maxSurge": 0, "maxUnavailable": 1 });
        let rollout = json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling } });
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

    /// What is found, without what is said of the end.
    #[track_caller]
    fn check(&self, deleted_by_user: &[&str], expected: &[&str]) {
        let deleted_by_user = deleted_by_user.iter().map(|&name| name.to_owned()).collect();
        let case = Case { rules: RULES, settled_at: 4, deleted_by_user };
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
