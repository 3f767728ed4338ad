//! Whatever an extension answers, only what says so completes an update. The judge reads plain JSON.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use refit_api::hooks::{Hook, UpdateOutcome};
use refit_hooks::client::{BoxError, Client, Outgoing};
use refit_hooks::metrics::HookMetrics;
use serde_json::{Value, json};
use tower::util::BoxCloneSyncService;

use crate::objects::{config_at, extensions, namespace, update_request};

/// What an answer comes to.
#[derive(Debug, PartialEq)]
enum Judged {
    Done,
    AskAgainAfter(i64),
    Failed,
}

/// Only success, with a number of seconds that is there or not, counts.
fn judge(answer: &Value) -> Judged {
    let Some(fields) = answer.as_object() else { return Judged::Failed };
    let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let is_success = field("status").is_some_and(|status| status == "Success");
    if !is_success || field("message").is_some_and(|message| !message.is_string()) {
        return Judged::Failed;
    }
    match field("retryAfterSeconds").map_or(Some(0), Value::as_i64) {
        Some(0) => Judged::Done,
        Some(seconds @ 1..=0x7fff_ffff) => Judged::AskAgainAfter(seconds),
        _ => Judged::Failed,
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0_i64), -3..40_i64, any::<i64>()].prop_map(Value::from),
        (-3.0..3.0).prop_map(|number: f64| json!(number)),
        prop_oneof![Just("Success".to_owned()), Just("Failure".to_owned()), ".{0,8}"].prop_map(Value::from),
        Just(json!([])),
        Just(json!({ "status": "Success" })),
    ]
}

fn any_answer() -> impl Strategy<Value = Value> {
    let name = prop_oneof![Just("status"), Just("retryAfterSeconds"), Just("message"), Just("kind"), Just("other")];
    let fields = proptest::collection::btree_map(name, any_value(), 0..5);
    let object = fields.prop_map(|fields| json!(fields));
    let good = (object, any::<bool>()).prop_map(|(mut object, is_success)| {
        if is_success {
            object["status"] = json!("Success");
        }
        object
    });
    prop_oneof![8 => good, 1 => any_value()]
}

async fn outcome(answer: Value) -> Judged {
    let transport = BoxCloneSyncService::new(tower::service_fn(move |_: Outgoing| {
        let body = Full::new(Bytes::from(answer.to_string())).map_err(|never| match never {});
        async move { Ok::<_, BoxError>(http::Response::new(body.boxed_unsync())) }
    }));
    let config = config_at("ext", json!({ "url": "https://ext" }), "", &[Hook::UpdateMachine]);
    let extensions = extensions(Client::new(transport, HookMetrics::default()), &[config]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let response = extensions.update_machine(&name, &namespace(), update_request()).await;
    match response.map(|response| response.outcome()) {
        Ok(UpdateOutcome::Done) => Judged::Done,
        Ok(UpdateOutcome::InProgress { retry_after }) => Judged::AskAgainAfter(retry_after.get().into()),
        Ok(other) => panic!("{other:?} must be an error"),
        Err(_) => Judged::Failed,
    }
}

proptest! {
    #[test]
    fn only_a_success_that_says_so_completes_an_update(answer in any_answer()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
        let expected = judge(&answer);
        prop_assert_eq!(runtime.block_on(outcome(answer)), expected);
    }
}
