use refit_api::cluster::{Machine, MachineSet};
use refit_api::naming::RandomSuffix;
use refit_api::vocabulary::managers;
use serde_json::{Value, json};

use super::*;
use crate::machine_set::orphans::{ProviderObjects, orphans};
use crate::machine_set::sync::{MachineParts, sync};
use crate::reading::{Listed, Read};
use crate::testing::{Store, machine_set, template};

fn host_template() -> Value {
    let mut template = template("HostTemplate", "ms-host", json!({ "cpus": 2 }));
    template["spec"]["template"]["metadata"] = json!({ "labels": { "rack": "r1" }, "annotations": { "note": "n" } });
    template
}

fn boot_template() -> Value {
    template("BootTemplate", "ms-boot", json!({ "files": ["a"] }))
}

/// A pass that creates what is missing, as the shell would go about it.
fn pass(set: &MachineSet, store: &Store, random: u64) -> Vec<Effect> {
    let (host, boot) = (host_template(), boot_template());
    let templates = Templates { infrastructure: &host, bootstrap: Some(&boot) };
    let machines: Vec<Machine> = store.list_typed();
    let objects = ProviderObjects {
        infrastructure: Listed::All(store.list("Host")),
        bootstrap: Some(Listed::All(store.list("Boot"))),
    };
    let wanted = usize::try_from(set.spec.replicas.unwrap_or(0)).unwrap_or(0);
    let missing = wanted.saturating_sub(machines.len());
    let orphans = orphans(set, &machines.iter().collect::<Vec<_>>(), &objects, missing).expect("all was read");
    let mut effects = Vec::new();
    for machine in &machines {
        let host = store.get("Host", &machine.spec.infrastructure_ref.name).map_or(Read::Missing, Read::Found);
        let boot = store.get("Boot", crate::fleet::name(machine)).map_or(Read::Missing, Read::Found);
        let parts = MachineParts { machine, infrastructure: &host, bootstrap: Some(&boot) };
        effects.extend(sync(set, parts).expect("it must sync").effects);
    }
    effects.extend(orphans.delete.clone());
    for unfinished in &orphans.unfinished {
        effects.extend(finish(set, templates, unfinished, Purpose::Wanted).expect("it must be finished"));
    }
    for number in orphans.unfinished.len()..missing {
        let suffix = RandomSuffix::from_random(random + number as u64);
        effects.extend(create(set, templates, suffix).expect("it must be created"));
    }
    effects
}

fn settle(set: &MachineSet, store: &mut Store, random: u64) {
    for round in 0..10 {
        let effects = pass(set, store, random + 100 * round);
        if effects.is_empty() {
            return;
        }
        store.carry_out(&effects);
    }
    panic!("it must settle");
}

#[test]
fn objects_come_in_the_order_bootstrap_host_machine() {
    let set = machine_set("ms", 1);
    let effects = pass(&set, &Store::default(), 0);
    let order: Vec<(&str, &str)> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Apply(apply) => Some((apply.target.kind.as_str(), apply.manager)),
            Effect::Patch(_) | Effect::Delete(_) | Effect::Emit(_) => None,
        })
        .collect();
    let expected = [
        ("Boot", managers::MACHINE_SET),
        ("Boot", managers::MACHINE_SET_METADATA),
        ("Host", managers::MACHINE_SET),
        ("Host", managers::MACHINE_SET_METADATA),
        ("Machine", managers::MACHINE_SET),
    ];
    assert_eq!(order, expected);
    let Some(Effect::Emit(event)) = effects.last() else { panic!("it must be told") };
    assert_eq!((event.reason, event.message.as_str()), ("SuccessfulCreate", "Created Machine \"ms-bbbbb\""));
}

#[test]
fn objects_are_made_from_templates_and_owned_by_the_machine_set() {
    let set = machine_set("ms", 1);
    let mut store = Store::default();
    store.carry_out(&pass(&set, &store, 0));
    let host = store.get("Host", "ms-bbbbb").expect("it must be there");
    assert_eq!((&host["apiVersion"], &host["spec"]), (&json!("x.io/v1"), &json!({ "cpus": 2 })));
    let owners =
        json!([{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms", "uid": "uid-ms" }]);
    assert_eq!(host["metadata"]["ownerReferences"], owners, "no controller flag");
    let labels = json!({
        "cluster.x-k8s.io/cluster-name": "c",
        "cluster.x-k8s.io/deployment-name": "md",
        "cluster.x-k8s.io/set-name": "ms",
        "machine-template-hash": "1-ms",
        "rack": "r1",
    });
    assert_eq!(host["metadata"]["labels"], labels);
    let annotations = json!({
        "cluster.x-k8s.io/cloned-from-name": "ms-host",
        "cluster.x-k8s.io/cloned-from-groupkind": "HostTemplate.x.io",
        "note": "n",
    });
    assert_eq!(host["metadata"]["annotations"], annotations);
    let machine: Machine = store.typed("ms-bbbbb").expect("it must be there");
    assert_eq!(machine.spec.infrastructure_ref, crate::testing::reference("Host", "ms-bbbbb"));
    assert_eq!(machine.spec.bootstrap.config_ref, Some(crate::testing::reference("Boot", "ms-bbbbb")));
    assert_eq!(machine.metadata.finalizers, Some(vec!["machine.cluster.x-k8s.io".to_owned()]));
    assert_eq!(machine.spec.version.as_deref(), Some("v1.31.0"));
}

#[test]
fn after_creation_a_settled_world_is_not_written_to() {
    let set = machine_set("ms", 3);
    let mut store = Store::default();
    settle(&set, &mut store, 0);
    assert_eq!(store.list("Machine").len(), 3);
    assert_eq!(pass(&set, &store, 7), []);
}

#[test]
fn labels_that_leave_the_template_leave_the_objects() {
    let mut set = machine_set("ms", 1);
    set.spec.template.metadata.labels.insert("gone".to_owned(), "soon".to_owned());
    let mut store = Store::default();
    settle(&set, &mut store, 0);
    let label = |store: &Store, kind: &str| store.list(kind)[0]["metadata"]["labels"]["gone"].clone();
    assert_eq!(label(&store, "Host"), json!("soon"));
    set.spec.template.metadata.labels.remove("gone");
    settle(&set, &mut store, 0);
    for kind in ["Host", "Boot", "Machine"] {
        assert_eq!(label(&store, kind), Value::Null, "{kind}");
        assert_eq!(store.list(kind)[0]["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], json!("c"));
    }
    assert_eq!(store.list("Host")[0]["metadata"]["labels"]["rack"], json!("r1"), "the provider's own labels stay");
}

/// DESIGN 5.13: creation that runs out of its time leaves no infrastructure without a Machine.
#[test]
fn a_crash_at_any_write_of_a_creation_leaks_nothing() {
    let set = machine_set("ms", 2);
    let all = pass(&set, &Store::default(), 0);
    for crash in 0..=all.len() {
        let mut store = Store::default();
        store.carry_out(&all[..crash]);
        settle(&set, &mut store, 1_000);
        let names = |kind: &str| -> Vec<Value> {
            store.list(kind).iter().map(|object| object["metadata"]["name"].clone()).collect()
        };
        assert_eq!(names("Machine").len(), 2, "after {crash} writes");
        assert_eq!(names("Host"), names("Machine"), "after {crash} writes");
        assert_eq!(names("Boot"), names("Machine"), "after {crash} writes");
    }
}

#[test]
fn an_interrupted_creation_goes_on_with_what_is_there() {
    let set = machine_set("ms", 1);
    let all = pass(&set, &Store::default(), 0);
    for crash in 1..=4 {
        let mut store = Store::default();
        store.carry_out(&all[..crash]);
        let rest = pass(&set, &store, 1_000);
        let is_repeated = |effect: &Effect| matches!(effect, Effect::Apply(apply) if store.get(&apply.target.kind, &apply.target.name).is_some());
        assert!(!rest.iter().any(is_repeated), "what is there is not written again: {rest:?}");
        store.carry_out(&rest);
        assert!(store.get("Machine", "ms-bbbbb").is_some(), "after {crash} writes");
    }
}

#[test]
fn bootstrap_data_of_the_user_needs_no_configuration() {
    let mut set = machine_set("ms", 1);
    set.spec.template.spec.bootstrap.config_ref = None;
    set.spec.template.spec.bootstrap.data_secret_name = Some("data".to_owned());
    let host = host_template();
    let templates = Templates { infrastructure: &host, bootstrap: None };
    let effects = create(&set, templates, RandomSuffix::from_random(0)).expect("it must be created");
    let mut store = Store::default();
    store.carry_out(&effects);
    let machine: Machine = store.typed("ms-bbbbb").expect("it must be there");
    assert_eq!(
        (machine.spec.bootstrap.data_secret_name.as_deref(), machine.spec.bootstrap.config_ref),
        (Some("data"), None)
    );
    assert!(store.list("Boot").is_empty());
}

#[test]
fn a_template_without_content_makes_empty_objects() {
    let set = machine_set("ms", 1);
    let host = json!({ "apiVersion": "x.io/v1", "kind": "HostTemplate", "metadata": { "name": "ms-host" } });
    let boot = boot_template();
    let templates = Templates { infrastructure: &host, bootstrap: Some(&boot) };
    let effects = create(&set, templates, RandomSuffix::from_random(0)).expect("it must be created");
    let Effect::Apply(apply) = &effects[2] else { panic!("it must be the host") };
    assert_eq!(apply.intent.get("spec"), None);
}

#[test]
fn nonsense_is_told_in_words() {
    let check = |change: &dyn Fn(&mut MachineSet), host: Value, expected: &str| {
        let mut set = machine_set("ms", 1);
        change(&mut set);
        let boot = boot_template();
        let templates = Templates { infrastructure: &host, bootstrap: Some(&boot) };
        let error = create(&set, templates, RandomSuffix::from_random(0)).expect_err("it must be refused");
        assert_eq!(error.to_string(), expected);
    };
    check(
        &|set| set.metadata.uid = None,
        host_template(),
        "MachineSet \"ms\" has no name or no uid, so nothing can belong to it",
    );
    let naming = |template: &'static str| {
        move |set: &mut MachineSet| set.spec.machine_naming.template = Some(template.to_owned())
    };
    check(
        &naming("fixed"),
        host_template(),
        "spec.machineNaming.template must contain {{ .random }}, or all Machines would have one name",
    );
    check(&naming("{{ .random }}{{ .x }}"), host_template(), "spec.machineNaming.template cannot be used");
    check(
        &|_| (),
        json!({ "kind": "HostTemplate", "metadata": { "name": "h" }, "spec": 3 }),
        "HostTemplate h is no template",
    );
    check(&|_| (), json!(null), "  was read for a reference to HostTemplate");
    let set = machine_set("ms", 1);
    let host = host_template();
    let templates = Templates { infrastructure: &host, bootstrap: None };
    let error = create(&set, templates, RandomSuffix::from_random(0)).expect_err("it must be refused");
    assert_eq!(error.to_string(), "MachineSet ms has no bootstrap template, although it refers to one");
}

#[test]
fn names_have_at_most_63_characters() {
    let mut set = machine_set(&"m".repeat(80), 1);
    set.spec.machine_naming.template = Some("{{ .cluster.name }}-{{ .machineSet.name }}-{{ .random }}".to_owned());
    let name = machine_name(&set, RandomSuffix::from_random(0)).expect("it must render");
    assert_eq!(name.len(), 63);
    assert!(name.ends_with("bbbbb"));
}
