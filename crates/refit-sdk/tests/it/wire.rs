//! The extension's side of the protocol, line by line, as controllers written in Go meet it.

use refit_api::hooks::{CanUpdateMachineResponse, DiscoveryResponse, discovered_handlers};
use serde_json::{Value, json};

use crate::support::{HOOKS, Served, exchange, parsed, post, request};

async fn call(path: &str, body: &str) -> (u16, Value) {
    let served = Served::local().await;
    parsed(&exchange(served.address, &post(&format!("{HOOKS}{path}"), body)).await)
}

fn question() -> Value {
    let side = |version: &str, memory: &str| {
        json!({
            "machine": { "kind": "Machine", "metadata": { "name": "m", "creationTimestamp": null }, "spec": { "version": version } },
            "infrastructureMachine": { "kind": "SimMachine", "metadata": {}, "spec": { "memory": memory } },
        })
    };
    json!({ "current": side("v1", "1Gi"), "desired": side("v2", "2Gi"), "unknown": [1] })
}

#[tokio::test]
async fn a_body_is_read_whatever_its_content_type_and_method() {
    let served = Served::local().await;
    let path = format!("{HOOKS}/discovery?timeout=10s");
    for method in ["POST", "GET", "PUT"] {
        for header in ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
            let request = request(method, &path, &format!("{header}Content-Length: 2\r\n"), "{}");
            let (code, body) = parsed(&exchange(served.address, &request).await);
            assert_eq!((code, &body["status"]), (200, &json!("Success")), "{method} {header}");
        }
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_read() {
    let served = Served::local().await;
    let request = request(
        "POST",
        &format!("{HOOKS}/discovery"),
        "Transfer-Encoding: chunked\r\n",
        "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    );
    assert_eq!(parsed(&exchange(served.address, &request).await).1["status"], "Success");
}

#[tokio::test]
async fn a_path_without_a_handler_gets_404_as_from_go() {
    for path in
        ["/updatemachine/other", "/updatemachine", "/UpdateMachine/update-machine", "/discovery/", "/generatepatches/x"]
    {
        assert_eq!(call(path, "{}").await, (404, json!("404 page not found\n")), "{path}");
    }
}

#[tokio::test]
async fn handled_paths_answer_200_and_a_status_whatever_comes() {
    for path in [
        "/discovery",
        "/canupdatemachine/can-update-machine",
        "/canupdatemachineset/can-update-machineset",
        "/updatemachine/update-machine",
    ] {
        for body in ["{}", "null", "", "[]", "{\"settings\":5}", "garbage"] {
            let (code, answer) = call(path, body).await;
            let status = answer["status"].as_str().unwrap_or_default();
            assert!(code == 200 && ["Success", "Failure"].contains(&status), "{path} {body}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_request_of_almost_20_mib_is_answered_and_a_larger_one_refused() {
    let path = "/canupdatemachine/can-update-machine?timeout=30s";
    let mut large = question();
    let room = (20 << 20) - large.to_string().len() - ",\"padding\":\"\"".len();
    large["padding"] = json!("x".repeat(room));
    assert_eq!(large.to_string().len(), 20 << 20);
    assert_eq!(call(path, &large.to_string()).await.1["status"], "Success");
    large["padding"] = json!("x".repeat(room + 1));
    let (code, answer) = call(path, &large.to_string()).await;
    let message = "error reading request: http: request body too large";
    assert_eq!((code, &answer["status"], &answer["message"]), (200, &json!("Failure"), &json!(message)));
}

#[tokio::test]
async fn patches_are_what_go_reads() {
    let (_, answer) = call("/canupdatemachine/can-update-machine", &question().to_string()).await;
    for (patch, expected) in [
        ("machinePatch", json!([{ "op": "replace", "path": "/spec/version", "value": "v2" }])),
        ("infrastructureMachinePatch", json!([{ "op": "replace", "path": "/spec/memory", "value": "2Gi" }])),
    ] {
        assert_eq!(answer[patch]["patchType"], "JSONPatch");
        let base64 = answer[patch]["patch"].as_str().expect("a patch must be a string");
        let alphabet = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
        assert!(base64.chars().all(alphabet) && base64.len().is_multiple_of(4), "{base64}");
        let alone = json!({ "status": "Success", "machinePatch": answer[patch] });
        let decoded: CanUpdateMachineResponse = serde_json::from_value(alone).expect("the patch must decode");
        let decoded = decoded.into_patches().expect("it is a success").machine.expect("there is a patch");
        assert_eq!(serde_json::from_slice::<Value>(decoded.document()).expect("it must be JSON"), expected);
    }
    assert_eq!(answer.get("bootstrapConfigPatch"), None, "no claim has no patch, rather than an empty one");
}

#[tokio::test]
async fn discovery_passes_the_rules_of_controllers() {
    let (_, answer) = call("/discovery", "{\"kind\":\"DiscoveryRequest\"}").await;
    let response: DiscoveryResponse = serde_json::from_value(answer).expect("the response must decode");
    let handlers = discovered_handlers(&response, "config").expect("the handlers must be right");
    let names: Vec<String> = handlers.iter().map(|handler| handler.name.to_string()).collect();
    assert_eq!(names, ["can-update-machine.config", "can-update-machineset.config", "update-machine.config"]);
}

#[tokio::test]
async fn an_update_that_is_done_stays_done() {
    let served = Served::local().await;
    let body = json!({ "desired": { "machine": { "metadata": { "name": "m" } } } }).to_string();
    for _ in 0..3 {
        let (_, answer) =
            parsed(&exchange(served.address, &post(&format!("{HOOKS}/updatemachine/update-machine"), &body)).await);
        assert_eq!((&answer["status"], &answer["retryAfterSeconds"]), (&json!("Success"), &json!(0)));
    }
}
