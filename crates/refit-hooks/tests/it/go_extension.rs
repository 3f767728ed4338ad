//! An extension written in Go, on upstream's own server library, through all three hooks.

use rcgen::{CertificateParams, KeyPair};
use refit_api::hooks::{CanonicalName, Hook, HookResponse, RetryAfterSeconds, UpdateOutcome};
use refit_api::runtime::ExtensionConfig;
use refit_hooks::Extensions;
use refit_hooks::discovery::{discover, to_status};
use refit_peers::{GoExtension, require_extension};
use refit_plan::coverage::{Coverage, Question};
use serde_json::json;

use crate::objects::{config_at, extensions, machine_question, machine_set_question, namespace, update_request};
use crate::peer::client;

/// The extension, and the ExtensionConfig that its discovery leads to.
async fn discovered() -> Option<(GoExtension, ExtensionConfig)> {
    let program = require_extension()?;
    let key = KeyPair::generate().expect("a key must be made");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("the name must be right");
    let certificate = params.self_signed(&key).expect("it must be signed").pem();
    let extension = GoExtension::start(&program, &certificate, &key.serialize_pem()).expect("it must start");
    let url = json!({ "url": format!("https://localhost:{}", extension.port()) });
    let mut config = config_at("go", url, &certificate, &[]);
    let handlers = discover(&client(), &config).await.expect("it must be discovered");
    config.status.handlers = handlers.iter().map(to_status).collect();
    Some((extension, config))
}

async fn steps(extensions: &Extensions, question: Question) -> Vec<String> {
    let asked = extensions.coverage(question, &namespace()).await.expect("it must be asked");
    let Coverage::Covered { plan, .. } = asked.coverage else { panic!("not covered: {asked:?}") };
    plan.steps.iter().map(|step| step.name.to_string()).collect()
}

#[tokio::test]
async fn a_go_extension_is_discovered_asked_and_told_to_update() {
    let Some((_extension, config)) = discovered().await else { return };
    let names: Vec<&str> = config.status.handlers.iter().map(|handler| handler.name.as_str()).collect();
    assert_eq!(names, ["can-update-machine.go", "can-update-machineset.go", "update-machine.go"]);

    let extensions = extensions(client(), &[config]);
    assert_eq!(steps(&extensions, machine_question()).await, ["can-update-machine.go"]);
    assert_eq!(steps(&extensions, machine_set_question()).await, ["can-update-machineset.go"]);

    let asked: CanonicalName = "can-update-machine.go".parse().expect("the name must be right");
    let updaters = extensions.registry().beside(&asked, Hook::UpdateMachine);
    let [updater] = updaters.as_slice() else { panic!("there must be one updater: {updaters:?}") };
    let mut said = Vec::new();
    for _ in 0..3 {
        let response = extensions.update_machine(&updater.name, &namespace(), update_request()).await;
        let response = response.expect("the update must be answered");
        said.push((response.outcome(), response.message().to_owned()));
    }
    let retry_after = RetryAfterSeconds::new(1).expect("a second must be right");
    let at_work = |words: &str| (UpdateOutcome::InProgress { retry_after }, words.to_owned());
    assert_eq!(said, [at_work("call 1 of 3"), at_work("call 2 of 3"), (UpdateOutcome::Done, String::new())]);
}
