//! What upstream's servers are sent, and what is taken of their answers: the caller's side of the compatibility list.

use std::sync::Arc;

use refit_api::hooks::{Hook, HookResponse, UpdateOutcome};
use refit_hooks::client::ClientIdentity;
use refit_hooks::discovery::discover;
use refit_hooks::metrics::HookMetrics;
use refit_plan::coverage::Coverage;
use serde_json::{Value, json};

use crate::certificates::Authority;
use crate::objects::{
    TOKEN, config, config_at, covers_all, extensions, machine_question, machine_set_question, merge_patch, namespace,
    update_request,
};
use crate::peer::{HOST, Peer, Received, Reply, answer, client, client_counting, server_config};

const HOOKS: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1";
const IN_PLACE: [Hook; 3] = [Hook::CanUpdateMachine, Hook::CanUpdateMachineSet, Hook::UpdateMachine];

async fn peer_with(answer: Value) -> Peer {
    Peer::always(Reply::Json(answer)).await
}

async fn asked_about_a_machine(reply: Value) -> (Received, Coverage) {
    let peer = peer_with(reply).await;
    let extensions = extensions(client(), &[config("ext", &peer, &IN_PLACE)]);
    let asked = extensions.coverage(machine_question(), &namespace()).await.expect("it must be asked");
    (peer.received().remove(0), asked.coverage)
}

async fn update(answer: Value) -> (Received, Result<UpdateOutcome, String>) {
    let peer = peer_with(answer).await;
    let extensions = extensions(client(), &[config("ext", &peer, &IN_PLACE)]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let response = extensions.update_machine(&name, &namespace(), update_request()).await;
    let outcome = response.map(|response| response.outcome()).map_err(|error| error.words());
    (peer.received().remove(0), outcome)
}

#[tokio::test]
async fn a_call_is_a_post_with_a_timeout_to_the_lowercase_path_of_the_short_name() {
    let (request, _) = update(json!({ "status": "Success" })).await;
    assert_eq!(request.line, format!("POST {HOOKS}/updatemachine/update-machine?timeout=10s HTTP/1.1"));
    let (request, _) = asked_about_a_machine(covers_all()).await;
    assert_eq!(request.line, format!("POST {HOOKS}/canupdatemachine/can-update-machine?timeout=10s HTTP/1.1"));
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(request.headers.contains_key("content-length"), "upstream's servers are sent no chunks");
    assert!(!request.headers.contains_key("accept-encoding"), "compressed answers are not understood");
    assert!(request.headers["user-agent"].starts_with("refit/"));
}

#[tokio::test]
async fn a_request_has_its_type_and_settings_and_stripped_objects() {
    let (request, _) = asked_about_a_machine(covers_all()).await;
    let body = request.body;
    assert_eq!(body["apiVersion"], "hooks.runtime.cluster.x-k8s.io/v1alpha1");
    assert_eq!(body["kind"], "CanUpdateMachineRequest");
    assert_eq!(body["settings"], json!({ "mode": "gentle" }));
    assert_eq!(body["current"]["infrastructureMachine"]["spec"], json!({ "memory": 1 }));
    assert_eq!(body["desired"]["infrastructureMachine"]["metadata"], json!({ "name": "m", "namespace": "ns" }));
    assert_eq!(body["desired"]["infrastructureMachine"].get("status"), None);
    assert_eq!(body["desired"]["machine"]["spec"]["version"], "v1.35.0");
    let (request, _) = update(json!({ "status": "Success" })).await;
    assert_eq!(request.body["kind"], "UpdateMachineRequest");
    assert_eq!(request.body.get("current"), None);
}

#[tokio::test]
async fn no_join_token_goes_to_an_extension() {
    let (request, _) = asked_about_a_machine(covers_all()).await;
    let config = &request.body["current"]["bootstrapConfig"]["spec"]["joinConfiguration"];
    assert_eq!(config["discovery"]["bootstrapToken"], json!({ "caCertHashes": ["h"] }), "only the token is taken out");
    assert!(!request.body.to_string().contains(TOKEN));
    let (request, _) = update(json!({ "status": "Success" })).await;
    assert!(request.body["desired"]["bootstrapConfig"].is_object());
    assert!(!request.body.to_string().contains(TOKEN));
}

#[tokio::test]
async fn machine_sets_are_asked_about_with_their_templates() {
    let template = |spec: Value| merge_patch(json!({ "spec": { "template": { "spec": spec } } }));
    let answer = json!({
        "status": "Success",
        "machineSetPatch": template(json!({ "version": "v1.35.0" })),
        "infrastructureMachineTemplatePatch": template(json!({ "memory": 2 })),
    });
    let peer = peer_with(answer).await;
    let extensions = extensions(client(), &[config("ext", &peer, &IN_PLACE)]);
    let asked = extensions.coverage(machine_set_question(), &namespace()).await.expect("it must be asked");
    assert!(matches!(asked.coverage, Coverage::Covered { .. }), "{:?}", asked.coverage);
    let request = peer.received().remove(0);
    assert_eq!(request.line, format!("POST {HOOKS}/canupdatemachineset/can-update-machineset?timeout=10s HTTP/1.1"));
    assert!(request.body["current"]["bootstrapConfigTemplate"].is_object());
    assert!(!request.body.to_string().contains(TOKEN));
}

#[tokio::test]
async fn absent_fields_of_an_answer_are_empty_and_unknown_ones_are_ignored() {
    let (_, outcome) = update(json!({ "status": "Success" })).await;
    assert_eq!(outcome, Ok(UpdateOutcome::Done));
    let (_, outcome) =
        update(json!({ "status": "Success", "retryAfterSeconds": 0, "x": { "y": [1] }, "kind": 5 })).await;
    assert_eq!(outcome, Ok(UpdateOutcome::Done));
    let (_, coverage) = asked_about_a_machine(json!({ "status": "Success", "machinePatch": null })).await;
    assert!(matches!(coverage, Coverage::Uncovered { .. }), "an extension can say that it covers nothing");
}

#[tokio::test]
async fn operations_outside_of_the_spec_are_tolerated() {
    let operations = json!([
        { "op": "replace", "path": "/spec/version", "value": "v1.35.0" },
        { "op": "add", "path": "/status", "value": {} },
        { "op": "add", "path": "/metadata/labels", "value": { "a": "b" } },
    ]);
    let mut answer = covers_all();
    let encoded = k8s_openapi::ByteString(operations.to_string().into_bytes());
    answer["machinePatch"] = json!({ "patchType": "JSONPatch", "patch": encoded });
    let (_, coverage) = asked_about_a_machine(answer).await;
    assert!(matches!(coverage, Coverage::Covered { .. }), "{coverage:?}");
}

#[tokio::test]
async fn an_update_in_progress_says_when_to_ask_again() {
    let (_, outcome) = update(json!({ "status": "Success", "message": "draining", "retryAfterSeconds": 30 })).await;
    let Ok(UpdateOutcome::InProgress { retry_after }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(retry_after.get(), 30);
}

#[tokio::test]
async fn bytes_after_the_answer_are_not_read() {
    let body = "{\"status\":\"Success\",\"handlers\":[]}\n{trailing";
    let peer = Peer::always(Reply::Raw(answer("200 OK", "", body))).await;
    let found = discover(&client(), &config("ext", &peer, &[])).await.expect("the answer must be good");
    assert!(found.is_empty());
}

#[tokio::test]
async fn a_service_is_reached_and_checked_by_its_name_in_the_cluster() {
    let peer = peer_with(json!({ "status": "Success" })).await;
    let service = json!({ "service": { "name": "ext", "namespace": "system", "path": "/prefix/", "port": peer.port } });
    let config = config_at("ext", service, &peer.ca, &[]);
    discover(&client(), &config).await.expect("the extension must be discovered");
    let request = peer.received().remove(0);
    assert_eq!(request.line, format!("POST /prefix{HOOKS}/discovery?timeout=10s HTTP/1.1"));
    assert_eq!(request.server_name.as_deref(), Some(HOST));
    assert_eq!(request.headers["host"], format!("{HOST}:{}", peer.port));
    assert_eq!(
        request.body,
        json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "kind": "DiscoveryRequest" })
    );
}

#[tokio::test]
async fn connections_are_used_again() {
    let peer = peer_with(json!({ "status": "Success" })).await;
    let (client, config) = (client(), config("ext", &peer, &[]));
    for _ in 0..3 {
        discover(&client, &config).await.expect("the extension must be discovered");
    }
    assert_eq!((peer.connections(), peer.received().len()), (1, 3));
}

async fn http2_peer(script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Peer {
    let authority = Authority::new();
    let mut tls = server_config(&authority.sign(&[HOST]), None);
    tls.alpn_protocols = vec![b"h2".to_vec()];
    Peer::start_with(authority.pem(), tls, Arc::new(script)).await
}

#[tokio::test]
async fn http_2_is_spoken_where_the_server_does() {
    let peer = http2_peer(|_, _| Reply::Json(json!({ "status": "Success" }))).await;
    let (client, config) = (client(), config("ext", &peer, &[]));
    for _ in 0..2 {
        discover(&client, &config).await.expect("the extension must be discovered");
    }
    let line = peer.received().remove(0).line;
    assert!(line.starts_with("POST https://ext.system.svc:"), "{line}");
    assert!(line.ends_with("/discovery?timeout=10s HTTP/2.0"), "{line}");
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn a_connection_on_which_a_call_was_lost_is_not_used_again() {
    let peer = http2_peer(|number, _| match number {
        1 => Reply::Hang,
        _ => Reply::Json(json!({ "status": "Success" })),
    })
    .await;
    let extensions = extensions(client(), &[config("ext", &peer, &IN_PLACE)]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let namespace = namespace();
    let call = async || extensions.update_machine(&name, &namespace, update_request()).await;
    call().await.expect("it must be answered");
    let has_arrived = async {
        while peer.received().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    // The caller gives up when the call has arrived, as it does when its time is over.
    tokio::select! {
        _ = call() => panic!("there must be no answer"),
        () = has_arrived => {}
    }
    assert_eq!(peer.connections(), 1);
    call().await.expect("it must be answered");
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn every_call_is_counted() {
    let peer = Peer::start(|number, _| match number {
        0 => Reply::Json(json!({ "status": "Success" })),
        1 => Reply::Raw(answer("404 Not Found", "", "")),
        _ => Reply::Close,
    })
    .await;
    let metrics = HookMetrics::default();
    let client = client_counting(ClientIdentity::none(), metrics.clone());
    for is_good in [true, false, false] {
        assert_eq!(discover(&client, &config("ext", &peer, &[])).await.is_ok(), is_good);
    }
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("metrics must encode");
    let host = format!("host=\"{HOST}:{}\"", peer.port);
    for (code, status) in [("200", "Success"), ("404", "Unknown"), ("<error>", "Unknown")] {
        let is_line = |line: &&str| {
            let parts = [format!("code=\"{code}\""), format!("status=\"{status}\""), host.clone()];
            line.starts_with("capi_runtime_sdk_requests_total{")
                && line.ends_with("} 1")
                && parts.iter().all(|part| line.contains(part))
        };
        assert!(text.lines().any(|line| is_line(&line)), "{code}: {text}");
    }
}

#[tokio::test]
async fn a_password_in_the_url_is_sent_as_basic_authorization() {
    let peer = peer_with(json!({ "status": "Success" })).await;
    let url = json!({ "url": format!("https://me:secret@{HOST}:{}/", peer.port) });
    discover(&client(), &config_at("ext", url, &peer.ca, &[])).await.expect("the extension must be discovered");
    assert_eq!(peer.received()[0].headers["authorization"], "Basic bWU6c2VjcmV0");
}

#[tokio::test]
async fn the_message_of_a_success_is_kept() {
    let peer = peer_with(json!({ "status": "Success", "message": "draining", "retryAfterSeconds": 5 })).await;
    let extensions = extensions(client(), &[config("ext", &peer, &IN_PLACE)]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let response = extensions.update_machine(&name, &namespace(), update_request()).await.expect("it must succeed");
    assert_eq!(response.message(), "draining");
}
