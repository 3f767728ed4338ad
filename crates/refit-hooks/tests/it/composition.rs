//! Several extensions for one change, in one process and under a clock that stands still.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use refit_api::hooks::Hook;
use refit_api::runtime::ExtensionConfig;
use refit_hooks::Extensions;
use refit_hooks::client::{BoxError, Client, Outgoing, Transport};
use refit_hooks::extensions::{ANSWER_LIFETIME, ASK_AGAIN_AFTER, Asked, MAX_ASKING};
use refit_hooks::metrics::HookMetrics;
use refit_plan::coverage::{Coverage, Verdict};
use serde_json::{Value, json};
use tower::util::BoxCloneSyncService;

use crate::objects::{
    config_at, covers_all, covers_memory, covers_version, extensions, machine_question, namespace, update_request,
};

/// What an extension in this process does when it is called.
#[derive(Clone)]
enum Does {
    Answer(Value),
    AnswerAfter(Duration, Value),
    Hang,
    Break,
}

/// The extensions of a test, by the host they are at, and the calls they got.
#[derive(Clone, Default)]
struct World {
    extensions: Arc<Mutex<BTreeMap<String, Does>>>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new(extensions: &[(&str, Does)]) -> Self {
        let world = Self::default();
        extensions.iter().for_each(|(host, does)| world.set(host, does.clone()));
        world
    }

    fn set(&self, host: &str, does: Does) {
        self.extensions.lock().expect("nobody panics with the lock").insert(host.to_owned(), does);
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("nobody panics with the lock").clone()
    }

    fn client(&self) -> Client {
        let world = self.clone();
        let transport: Transport = BoxCloneSyncService::new(tower::service_fn(move |outgoing: Outgoing| {
            let world = world.clone();
            async move { world.answer(outgoing).await }
        }));
        Client::new(transport, HookMetrics::default())
    }

    async fn answer(&self, outgoing: Outgoing) -> Result<http::Response<refit_hooks::client::ResponseBody>, BoxError> {
        let host = outgoing.endpoint.host().to_owned();
        self.calls.lock().expect("nobody panics with the lock").push(host.clone());
        let does = self.extensions.lock().expect("nobody panics with the lock").get(&host).cloned();
        let body = match does {
            None | Some(Does::Break) => return Err("connection reset".into()),
            Some(Does::Hang) => std::future::pending().await,
            Some(Does::Answer(body)) => body,
            Some(Does::AnswerAfter(pause, body)) => {
                tokio::time::sleep(pause).await;
                body
            }
        };
        let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
        Ok(http::Response::new(body.boxed_unsync()))
    }
}

fn config(name: &str) -> ExtensionConfig {
    config_at(name, json!({ "url": format!("https://{name}") }), "", &[Hook::CanUpdateMachine, Hook::UpdateMachine])
}

fn ordered(name: &str, order: i32) -> ExtensionConfig {
    let mut config = config(name);
    config.metadata.annotations = Some(BTreeMap::from([("refit.dev/order".to_owned(), order.to_string())]));
    config
}

async fn ask(extensions: &Extensions) -> Asked {
    extensions.coverage(machine_question(), &namespace()).await.expect("the extensions must be asked")
}

fn plan(asked: &Asked) -> Vec<String> {
    let Coverage::Covered { plan, .. } = &asked.coverage else { panic!("not covered: {:?}", asked.coverage) };
    plan.steps.iter().map(|step| step.name.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn two_extensions_cover_a_change_together_in_their_order() {
    let world = World::new(&[("a", Does::Answer(covers_version())), ("b", Does::Answer(covers_memory()))]);
    let extensions = extensions(world.client(), &[ordered("a", 2), ordered("b", 1)]);
    let asked = ask(&extensions).await;
    assert_eq!(plan(&asked), ["can-update-machine.b", "can-update-machine.a"]);
    assert_eq!((world.calls(), asked.ask_again), (vec!["b".to_owned(), "a".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_when_nothing_is_left() {
    let world = World::new(&[("a", Does::Answer(covers_all())), ("b", Does::Break)]);
    let asked = ask(&extensions(world.client(), &[config("a"), config("b")])).await;
    assert_eq!((plan(&asked), world.calls()), (vec!["can-update-machine.a".to_owned()], vec!["a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_broken_extension_that_is_not_needed_does_not_matter() {
    let world = World::new(&[("a", Does::Break), ("b", Does::Answer(covers_all()))]);
    let asked = ask(&extensions(world.client(), &[config("a"), config("b")])).await;
    assert_eq!((plan(&asked), asked.ask_again), (vec!["can-update-machine.b".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn a_broken_extension_that_might_be_needed_leaves_the_change_undecided() {
    for (does, says) in
        [(Does::Break, "http call failed: connection reset"), (Does::Hang, "http request timeout expired")]
    {
        let world = World::new(&[("a", does), ("b", Does::Answer(covers_version()))]);
        let asked = ask(&extensions(world.client(), &[config("a"), config("b")])).await;
        let Coverage::Undecided { answers, left, .. } = &asked.coverage else { panic!("{:?}", asked.coverage) };
        assert!(asked.ask_again.is_some() && answers[0].words.contains(says), "{}", answers[0].words);
        assert_eq!(left.count(), 1, "what the other one covers is known");
        assert!(matches!(answers[1].verdict, Verdict::Covers(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn everybody_can_say_no() {
    let no = Does::Answer(json!({ "status": "Success" }));
    let world = World::new(&[("a", no.clone()), ("b", no)]);
    let asked = ask(&extensions(world.client(), &[config("a"), config("b")])).await;
    assert!(matches!(asked.coverage, Coverage::Uncovered { .. }), "{:?}", asked.coverage);
}

#[tokio::test(start_paused = true)]
async fn asking_many_slow_extensions_ends_in_time() {
    let names: Vec<String> = (0..20).map(|number| format!("slow{number:02}")).collect();
    let world = World::new(&names.iter().map(|name| (name.as_str(), Does::Hang)).collect::<Vec<_>>());
    let configs: Vec<ExtensionConfig> = names.iter().map(|name| slow(name)).collect();
    let begin = tokio::time::Instant::now();
    let asked = ask(&extensions(world.client(), &configs)).await;
    assert_eq!(begin.elapsed(), MAX_ASKING);
    let Coverage::Undecided { answers, .. } = &asked.coverage else { panic!("{:?}", asked.coverage) };
    assert_eq!(answers.len(), 20);
    assert!(answers[19].words.contains("no answer within the 60s for asking"), "{}", answers[19].words);
    assert_eq!(world.calls().len(), 2, "nobody is called when the time is over");
}

fn slow(name: &str) -> ExtensionConfig {
    let mut config = config(name);
    config.status.handlers.iter_mut().for_each(|handler| handler.timeout_seconds = Some(30));
    config
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_remembered_by_its_content() {
    let world = World::new(&[("a", Does::Answer(covers_all()))]);
    let extensions = extensions(world.client(), &[config("a")]);
    let calls_after = async |change: &dyn Fn()| {
        change();
        ask(&extensions).await;
        world.calls().len()
    };
    assert_eq!(calls_after(&|| {}).await, 1);
    assert_eq!(calls_after(&|| {}).await, 1, "the same question is answered from memory");
    let register = |edit: &dyn Fn(&mut ExtensionConfig)| {
        let mut changed = config("a");
        edit(&mut changed);
        extensions.register(&changed).expect("it must be registered");
    };
    let settings = || register(&|config| drop(config.spec.settings.insert("mode".to_owned(), "rough".to_owned())));
    assert_eq!(calls_after(&settings).await, 2, "other settings, another answer");
    let generation = || register(&|config| config.metadata.generation = Some(2));
    assert_eq!(calls_after(&generation).await, 3, "another ExtensionConfig, another answer");
    let handlers = || register(&|config| config.status.handlers[0].timeout_seconds = Some(7));
    assert_eq!(calls_after(&handlers).await, 4, "another discovery, another answer");
    let same_again = || register(&|_| {});
    assert_eq!(calls_after(&same_again).await, 4, "what was asked before is still known");
    tokio::time::advance(ANSWER_LIFETIME).await;
    assert_eq!(calls_after(&|| {}).await, 5, "an extension may have been replaced without a sign");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_remembered() {
    let world = World::new(&[("a", Does::Break)]);
    let extensions = extensions(world.client(), &[config("a")]);
    assert!(matches!(ask(&extensions).await.coverage, Coverage::Undecided { .. }));
    world.set("a", Does::Answer(json!({ "status": "Failure", "message": "starting" })));
    assert!(matches!(ask(&extensions).await.coverage, Coverage::Undecided { .. }));
    world.set("a", Does::Answer(covers_all()));
    assert_eq!(plan(&ask(&extensions).await), ["can-update-machine.a"]);
}

/// Whoever mends an extension need not wait for ten minutes.
#[tokio::test(start_paused = true)]
async fn a_wrong_patch_that_was_mended_is_noticed_when_it_is_asked_again() {
    let wrong = json!({ "patchType": "JSONPatch", "patch": "bm9uc2Vuc2U=" });
    let answers = [
        json!({ "status": "Success", "infrastructureMachinePatch": wrong }),
        json!({ "status": "Success", "message": "not mine" }),
    ];
    for answer in answers {
        let world = World::new(&[("a", Does::Answer(answer))]);
        let extensions = extensions(world.client(), &[config("a")]);
        assert!(!matches!(ask(&extensions).await.coverage, Coverage::Covered { .. }));
        world.set("a", Does::Answer(covers_all()));
        tokio::time::advance(ASK_AGAIN_AFTER).await;
        assert_eq!(plan(&ask(&extensions).await), ["can-update-machine.a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn callers_with_one_question_share_a_call() {
    let world = World::new(&[("a", Does::AnswerAfter(Duration::from_millis(500), covers_all()))]);
    let extensions = extensions(world.client(), &[config("a")]);
    let asked = futures::future::join_all((0..50).map(|_| ask(&extensions))).await;
    assert_eq!((asked.len(), world.calls().len()), (50, 1));
    assert!(asked.iter().all(|asked| plan(asked) == ["can-update-machine.a"]));
}

#[tokio::test(start_paused = true)]
async fn an_update_is_never_answered_from_memory() {
    let world = World::new(&[("a", Does::Answer(json!({ "status": "Success" })))]);
    let extensions = extensions(world.client(), &[config("a")]);
    let name = "update-machine.a".parse().expect("the name must parse");
    for _ in 0..2 {
        extensions.update_machine(&name, &namespace(), update_request()).await.expect("it must succeed");
    }
    assert_eq!(world.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_for_a_namespace_is_neither_asked_nor_told() {
    let world = World::new(&[("a", Does::Answer(covers_all()))]);
    let mut config = config("a");
    let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": "other" } });
    config.spec.namespace_selector = Some(serde_json::from_value(selector).expect("the selector must decode"));
    let extensions = extensions(world.client(), &[config]);
    let mut here = namespace();
    let name = "update-machine.a".parse().expect("the name must parse");
    let error = extensions.coverage(machine_question(), &here).await.expect_err("the labels are not known");
    let expected =
        "the extensions that could be asked are not known: failed to match namespace: failed to get namespace ns";
    assert_eq!(refit_hooks::chain(&error), expected);
    here.labels = Some(BTreeMap::new());
    let asked = extensions.coverage(machine_question(), &here).await.expect("the labels are known");
    assert!(matches!(asked.coverage, Coverage::Uncovered { .. }));
    let error = extensions.update_machine(&name, &here, update_request()).await.expect_err("it is not for this one");
    let expected = "failed to call extension handler \"update-machine.a\": namespaceSelector did not match object ns/m";
    assert_eq!(error.words(), expected);
    assert!(world.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cold_registry_is_no_reason_to_replace_machines() {
    let extensions = Extensions::new(World::default().client());
    let error = extensions.coverage(machine_question(), &namespace()).await.expect_err("nobody is known yet");
    assert!(refit_hooks::chain(&error).contains("which has not been warmed up"));
}
