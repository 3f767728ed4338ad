use refit_api::hooks::MachineSetPatches;
use serde_json::{Value, json};

use super::super::testing::*;
use super::*;
use crate::coverage::{Accepted, OperationProblem};

/// A Machine whose version, memory and files are to change.
fn question() -> Question {
    let objects = |version: &str, memory: u64, files: Value| {
        machine_objects(version, json!({ "memoryMiB": memory, "cpus": 1 }), Some(json!({ "files": files })))
    };
    let desired = objects("v1.35.0", 2, json!([{ "path": "/a" }]));
    Question::about_machine(objects("v1.34.0", 1, json!([])), desired).expect("the question must be fine")
}

fn version() -> Value {
    json!({ "spec": { "version": "v1.35.0" } })
}

fn memory() -> Value {
    json!({ "spec": { "memoryMiB": 2 } })
}

fn files() -> Value {
    json!({ "spec": { "files": [{ "path": "/a" }] } })
}

/// Every extension claims one object: `machine`, `infra` or `boot`, by the name of its handler.
fn specialist(name: &CanonicalName) -> Answer {
    match name.handler().as_str() {
        "machine" => claims(version(), json!(null), json!(null)),
        "infra" => claims(json!(null), memory(), json!(null)),
        "boot" => claims(json!(null), json!(null), files()),
        "down" => Answer::Failed { words: "http call failed".to_owned() },
        "failing" => failure("busy"),
        "silent" => claims(json!(null), json!({}), json!(null)),
        "broken" => claims(version(), json!([]), json!(null)),
        other => panic!("{other} must not be asked"),
    }
}

fn extensions(names: &[&str]) -> Vec<Extension> {
    names.iter().map(|name| extension(name, 0)).collect()
}

fn paths(changes: &Changes) -> Vec<&str> {
    changes.listed.iter().map(|change| change.path.as_str()).collect()
}

fn covered(coverage: &Coverage) -> Vec<String> {
    let Coverage::Covered { plan, .. } = coverage else { panic!("it must be covered: {coverage:?}") };
    plan.steps.iter().map(|step| format!("{} {}", step.name, paths(&step.claims).join(","))).collect()
}

#[test]
fn extensions_cover_a_change_together() {
    let coverage = compose(question(), extensions(&["machine.c", "infra.b", "boot.a"]), |name, _| specialist(name));
    assert_eq!(covered(&coverage), ["boot.a spec.files[0]", "infra.b spec.memoryMiB", "machine.c spec.version"]);
    let Coverage::Covered { plan, .. } = &coverage else { panic!("it must be covered") };
    assert_eq!((&plan.question, &plan.target), (&question().hash(), &question().target_hash()));
    assert_eq!(plan.freeze().next_extension(), Some(&name("boot.a")));
    let fields = coverage.field_changes();
    let memory = fields.iter().find(|field| field.path == "spec.memoryMiB").expect("memory must be listed");
    assert_eq!((memory.from.as_deref(), memory.to.as_deref()), (Some("1"), Some("2")));
    assert_eq!(memory.covered_by.as_deref(), Some("infra.b"));
}

#[test]
fn the_order_is_the_annotation_then_the_name() {
    let check = |extensions: &[(&str, i32)], expected: &[&str]| {
        let extensions = extensions.iter().map(|(name, order)| extension(name, *order));
        let ordered: Vec<String> = in_order(extensions).iter().map(ToString::to_string).collect();
        assert_eq!(ordered, expected);
    };
    check(&[("b.x", 0), ("a.y", 0), ("a.x", 0)], &["a.x", "a.y", "b.x"]);
    check(&[("a.x", 10), ("b.x", 9), ("c.x", -1)], &["c.x", "b.x", "a.x"]);
    check(&[("a.x", 5), ("b.x", 3), ("a.x", 1)], &["a.x", "b.x"]);
    check(&[("a.x", 1), ("b.x", 3), ("a.x", 5)], &["a.x", "b.x"]);
}

#[test]
fn each_is_asked_about_what_is_left_and_nobody_when_nothing_is() {
    let mut asked = Vec::new();
    let everything = || claims(version(), memory(), files());
    let coverage = compose(question(), extensions(&["a.x", "b.x", "c.x"]), |name, request| {
        let Request::Machine(request) = request else { panic!("a Machine was asked about") };
        let memory = request.current.infrastructure_machine.spec().expect("a spec")["memoryMiB"].clone();
        asked.push((name.to_string(), memory));
        if name.to_string() == "a.x" { claims(json!(null), self::memory(), json!(null)) } else { everything() }
    });
    assert_eq!(asked, [("a.x".to_owned(), json!(1)), ("b.x".to_owned(), json!(2))]);
    assert_eq!(covered(&coverage), ["a.x spec.memoryMiB", "b.x spec.version,spec.files[0]"]);
}

#[test]
fn who_changes_nothing_is_not_in_the_plan_but_its_words_are_kept() {
    let extensions = extensions(&["boot.b", "infra.b", "machine.b", "down.a", "silent.a", "broken.a"]);
    let coverage = compose(question(), extensions, |name, _| specialist(name));
    assert_eq!(covered(&coverage).len(), 3);
    let answers: Vec<_> = coverage.answers().iter().map(ExtensionAnswer::to_status).collect();
    let words = |name: &str| {
        let answer = answers.iter().find(|answer| answer.name == name).expect("the answer must be kept");
        (answer.covers, answer.message.clone().unwrap_or_default())
    };
    assert_eq!(words("boot.b"), (1, String::new()));
    assert_eq!(words("down.a"), (0, "http call failed".to_owned()));
    let broken =
        "the patch of broken.a for the InfrastructureMachine is wrong: the patched object is no object any more";
    assert_eq!(words("broken.a"), (0, broken.to_owned()));
}

#[test]
fn what_nobody_covers_is_named() {
    let coverage = compose(question(), extensions(&["machine.a", "silent.a"]), |name, _| specialist(name));
    let Coverage::Uncovered { left, answers } = &coverage else { panic!("it must be uncovered: {coverage:?}") };
    assert_eq!(paths(left), ["spec.files[0]", "spec.memoryMiB"]);
    assert_eq!(answers[1].verdict, Verdict::CoversNothing);
    let by: Vec<_> = coverage.field_changes().into_iter().map(|field| (field.path, field.covered_by)).collect();
    assert_eq!(by[0], ("spec.files[0]".to_owned(), None));
    assert_eq!(by[2], ("spec.version".to_owned(), Some("machine.a".to_owned())));
}

#[test]
fn without_extensions_nothing_is_covered() {
    let coverage = compose(question(), [], |name, _| specialist(name));
    assert!(matches!(coverage, Coverage::Uncovered { answers, .. } if answers.is_empty()));
}

#[test]
fn an_extension_that_is_down_or_fails_leaves_it_undecided() {
    for failing in ["down.a", "failing.a"] {
        let coverage = compose(question(), extensions(&["machine.b", failing]), |name, _| specialist(name));
        let Coverage::Undecided { left, answers, .. } = &coverage else { panic!("{failing}: {coverage:?}") };
        assert_eq!(paths(left), ["spec.files[0]", "spec.memoryMiB"]);
        assert_eq!(answers[0].verdict, Verdict::Unknown);
    }
    let coverage = compose(question(), extensions(&["failing.a"]), |name, _| specialist(name));
    assert_eq!(coverage.answers()[0].words, "got failure response with message: busy");
}

/// An ExtensionConfig with a wrong certificate is there, and may be the very one that covers the change.
#[test]
fn an_extension_that_was_never_discovered_leaves_it_undecided() {
    let beside = |names: &[&str]| {
        let undiscovered = Undiscovered { extension_config: "memory".to_owned(), words: "bad certificate".to_owned() };
        let composition = Composition::new(question(), extensions(names)).expect("the extensions must be accepted");
        let mut composition = composition.beside(vec![undiscovered]);
        while let Step::Ask { extension, .. } = composition.next_step() {
            let extension = extension.clone();
            composition.answer(&extension, specialist(&extension)).expect("the answer must be awaited");
        }
        let Step::Done(coverage) = composition.next_step() else { panic!("nobody is left to be asked") };
        coverage
    };
    let none = beside(&[]);
    assert_eq!(none.left().map(Changes::count), Some(3));
    let Accepted::Undecided { answers } = Accepted::from(&none) else { panic!("it must be undecided: {none:?}") };
    let words = "is registered, and it is not known what it covers: bad certificate";
    assert_eq!((&*answers[0].extension, &*answers[0].words), ("ExtensionConfig memory", words));
    assert!(matches!(beside(&["machine.a", "silent.a"]), Coverage::Undecided { .. }));
    assert!(matches!(beside(&["machine.a", "boot.a", "infra.a"]), Coverage::Covered { .. }), "it is not needed");
}

#[test]
fn a_bad_patch_covers_nothing_and_leaves_it_undecided() {
    let coverage = compose(question(), extensions(&["broken.a", "boot.b", "infra.b"]), |name, _| specialist(name));
    let Coverage::Undecided { left, answers, .. } = coverage else { panic!("it must be undecided") };
    assert_eq!(paths(&left), ["spec.version"], "the good patch beside the bad one does not count");
    let bad = answers.iter().find(|answer| answer.extension == name("broken.a")).expect("the answer must be kept");
    let Verdict::BadPatch(error) = &bad.verdict else { panic!("the patch is bad: {bad:?}") };
    assert_eq!((&error.extension, error.object), (&name("broken.a"), rollout::ChangedObject::InfrastructureMachine));
}

/// An answer that changes a field too many says exactly that, and is no "no".
#[test]
fn a_field_too_many_is_named_and_leaves_it_undecided() {
    let objects = |memory: u64| machine_set_objects("v1", json!({ "memoryMiB": memory, "cpus": 1 }), None);
    let question = || Question::about_machine_set(objects(1), objects(2)).expect("the question must be fine");
    let patch = |spec: Value| {
        let template = merge_patch(json!({ "spec": { "template": { "spec": spec } } }));
        let patches = MachineSetPatches::default();
        set_claims(MachineSetPatches { infrastructure_machine_template: Some(template), ..patches })
    };
    let coverage = compose(question(), extensions(&["a.b"]), |_, _| patch(json!({ "memoryMiB": 2, "cpus": 4 })));
    let Accepted::Undecided { answers } = Accepted::from(&coverage) else {
        panic!("it must be undecided: {coverage:?}")
    };
    let expected =
        "the patch of a.b is wrong: it changes spec.template.spec.cpus to something else than what is wanted";
    assert_eq!((&*answers[0].extension, &*answers[0].words), ("a.b", expected));
    let mended = compose(question(), extensions(&["a.b", "c.d"]), |name, _| match name.extension_config() {
        "b" => patch(json!({ "memoryMiB": 2, "cpus": 4 })),
        _ => patch(json!({ "cpus": 1 })),
    });
    assert!(matches!(mended, Coverage::Covered { .. }), "another one has put it right: {mended:?}");
    let named = compose(question(), extensions(&["a.b"]), |_, _| patch(json!({ "memoryMiB": 2, "\u{1b}[2J": 4 })));
    let Accepted::Undecided { answers } = Accepted::from(&named) else { panic!("it must be undecided: {named:?}") };
    assert!(!answers[0].words.contains('\u{1b}'), "{:?}", answers[0].words);
}

#[test]
fn a_bad_operation_is_named_by_extension_object_index_and_path() {
    let operations = json!([
        { "op": "test", "path": "/spec/template/spec/memoryMiB", "value": 1 },
        { "op": "remove", "path": "/spec/template/spec/none" },
    ]);
    let objects = |memory: u64| machine_set_objects("v1", json!({ "memoryMiB": memory }), None);
    let question = Question::about_machine_set(objects(1), objects(2)).expect("the question must be fine");
    let coverage = compose(question, extensions(&["a.b"]), |_, _| {
        set_claims(MachineSetPatches {
            infrastructure_machine_template: Some(json_patch(operations.clone())),
            ..MachineSetPatches::default()
        })
    });
    let Verdict::BadPatch(error) = &coverage.answers()[0].verdict else { panic!("the patch is bad") };
    let expected = "the patch of a.b for the InfrastructureMachine is wrong: operation 1 at \
        \"/spec/template/spec/none\": there is nothing at the path";
    assert_eq!(error.to_string(), expected);
    assert!(error.to_string().ends_with(&OperationProblem::NotFound.to_string()));
}

#[test]
fn the_templates_of_a_machine_set_are_covered_by_their_inner_spec() {
    let objects = |version: &str, memory: u64| machine_set_objects(version, json!({ "memoryMiB": memory }), None);
    let question = Question::about_machine_set(objects("v1", 1), objects("v2", 2)).expect("the question must be fine");
    let inner = |spec: Value| Some(merge_patch(json!({ "spec": { "template": { "spec": spec }, "replicas": 9 } })));
    let coverage = compose(question, extensions(&["a.b"]), |_, _| {
        set_claims(MachineSetPatches {
            machine_set: inner(json!({ "version": "v2" })),
            infrastructure_machine_template: inner(json!({ "memoryMiB": 2 })),
            bootstrap_config_template: inner(json!({ "ignored": 1 })),
        })
    });
    assert_eq!(covered(&coverage), ["a.b spec.template.spec.version,spec.template.spec.memoryMiB"]);
}

#[test]
fn nobody_is_asked_about_what_nobody_can_cover() {
    let current = machine_objects("v1", json!({}), None);
    let mut desired = machine_objects("v2", json!({}), None);
    desired.infrastructure_machine = provider_object("infrastructure", "OtherMachine", json!({ "spec": {} }));
    let question = Question::about_machine(current, desired).expect("the question must be fine");
    let coverage = compose(question, extensions(&["machine.a"]), |name, _| panic!("{name} must not be asked"));
    let Coverage::Uncovered { left, answers } = coverage else { panic!("it must be uncovered") };
    assert_eq!((paths(&left), answers.len()), (vec!["spec.version", "kind"], 0));
}

#[test]
fn equal_objects_need_no_extension() {
    let objects = machine_objects("v1", json!({}), None);
    let question = Question::about_machine(objects.clone(), objects).expect("the question must be fine");
    let coverage = compose(question, extensions(&["machine.a"]), |name, _| panic!("{name} must not be asked"));
    assert_eq!(covered(&coverage), Vec::<String>::new());
}

#[test]
fn an_answer_that_nobody_awaits_is_refused() {
    let mut composition = Composition::new(question(), extensions(&["infra.a", "machine.a"])).expect("two extensions");
    let late = composition.answer(&name("machine.a"), specialist(&name("machine.a")));
    assert_eq!(late, Err(CompositionError::NotAsked(name("machine.a"))));
    composition.answer(&name("infra.a"), specialist(&name("infra.a"))).expect("it is its turn");
    let twice = composition.answer(&name("infra.a"), specialist(&name("infra.a")));
    assert_eq!(twice, Err(CompositionError::NotAsked(name("infra.a"))));
    assert_eq!(composition.next_step(), composition.clone().next_step());
}

#[test]
fn extensions_are_limited_in_number_and_words_in_length() {
    let many = |count: usize| (0..count).map(|number| extension(&format!("h{number}.x"), 0));
    assert!(Composition::new(question(), many(MAX_EXTENSIONS)).is_ok());
    let found = MAX_EXTENSIONS + 1;
    let error = Composition::new(question(), many(found)).expect_err("there are too many");
    assert_eq!(error, CompositionError::TooManyExtensions { found });
    let coverage = compose(question(), extensions(&["a.b"]), |_, _| Answer::Failed { words: "é".repeat(5000) });
    assert_eq!(coverage.answers()[0].words.chars().count(), 1024);
}
