//! Extensions that misbehave. Whatever they do, a change stays undecided, an update is not done, the reason is said in a
//! bounded number of words, no secret is in them, and the caller is back in time.

use std::time::Duration;

use futures::StreamExt;
use refit_api::hooks::{Hook, MAX_TIMEOUT_SECONDS};
use refit_hooks::extensions::ASK_AGAIN_AFTER;
use refit_plan::coverage::{Coverage, Verdict};
use serde_json::{Value, json};

use crate::objects::{TOKEN, config, covers_all, extensions, machine_question, merge_patch, namespace, update_request};
use crate::peer::{Peer, Reply, answer, client};

/// How long calls may take that are to run out of time. The others end by themselves, however busy the machine is.
const SHORT_SECONDS: i32 = 1;
/// Much longer than two calls take at most.
const PATIENCE: Duration = Duration::from_secs(180);
/// How many extensions are called at a time. On a slow machine, more of them would wait for each other and not for what
/// they are called for.
const PARALLEL: usize = 4;
/// No reason is longer.
const MAX_REASON_BYTES: usize = 2048;

/// An extension that does this to every call, and what the reason must say.
struct Case {
    does: &'static str,
    reply: Reply,
    says: &'static str,
}

fn case(does: &'static str, reply: Reply, says: &'static str) -> Case {
    Case { does, reply, says }
}

fn raw(does: &'static str, bytes: impl Into<Vec<u8>>, says: &'static str) -> Case {
    case(does, Reply::Raw(bytes.into()), says)
}

fn status(does: &'static str, line: &str, says: &'static str) -> Case {
    raw(does, answer(line, "", &covers_all().to_string()), says)
}

fn body(does: &'static str, body: &str, says: &'static str) -> Case {
    raw(does, answer("200 OK", "", body), says)
}

fn wire_cases() -> Vec<Case> {
    const DECODE: &str = "http call failed: failed to decode response";
    let huge = format!("{{\"status\":\"Failure\",\"message\":\"{}\"}}", "x".repeat(3 << 20));
    let location = "Location: https://169.254.169.254/latest/meta-data\r\n";
    vec![
        case("hangs", Reply::Hang, "http call failed: http request timeout expired after 1s"),
        case("closes the connection", Reply::Close, "http call failed: client error (SendRequest)"),
        case(
            "sends a byte every 300 ms",
            Reply::Trickle(answer("200 OK", "", "{}"), Duration::from_millis(300)),
            "http call failed: http request timeout expired after 1s",
        ),
        case(
            "sends headers without end",
            Reply::Endless {
                head: b"HTTP/1.1 200 OK\r\n".to_vec(),
                piece: b"X-Filler: filler filler filler\r\n".to_vec(),
            },
            "http call failed: client error (SendRequest)",
        ),
        raw("ends within the headers", "HTTP/1.1 200 OK\r\nContent-", "http call failed"),
        raw(
            "ends within the body",
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"status\":",
            "failed to read response",
        ),
        raw(
            "sends a wrong chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "failed to read response",
        ),
        raw("speaks no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", "http call failed: client error (SendRequest)"),
        raw(
            "sends two lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "http call failed",
        ),
        raw("switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "http call failed"),
        raw(
            "redirects",
            answer("301 Moved Permanently", location, ""),
            "got response with status code 301 != 200: response : \"\"",
        ),
        raw("redirects and keeps the method", answer("307 Temporary Redirect", location, ""), "status code 307 != 200"),
        status("created something", "201 Created", "got response with status code 201 != 200"),
        raw("has no content", "HTTP/1.1 204 No Content\r\n\r\n", "got response with status code 204 != 200"),
        status("wants a login", "401 Unauthorized", "got response with status code 401 != 200"),
        raw(
            "knows no such path",
            answer("404 Not Found", "", "404 page not found\n"),
            "http call failed: got response with status code 404 != 200: response : \"404 page not found\\n\"",
        ),
        raw(
            "paints the terminal",
            answer("500 Oops", "", "\u{1b}[31mred\u{7}"),
            "got response with status code 500 != 200: response : \"\\u{1b}[31mred\\u{7}\"",
        ),
        raw("fails at length", answer("500 Oops", "", &"y".repeat(1 << 20)), "yyy...\""),
        raw(
            "fails without end",
            "HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\nx",
            "got response with status code 503 != 200: failed to read response body",
        ),
        body("says nothing", "", DECODE),
        body("sends HTML", "<html>it works</html>", DECODE),
        body("sends half of its JSON", "{\"status\":\"Success\"", DECODE),
        body("sends a list", "[{\"status\":\"Success\"}]", DECODE),
        body("sends a word", "\"Success\"", DECODE),
        body("sends null", "null", "http call failed"),
        body("nests without end", &"[".repeat(100_000), DECODE),
        body("nests fields without end", &"{\"a\":".repeat(100_000), DECODE),
        body("begins with a byte order mark", "\u{feff}{\"status\":\"Success\"}", DECODE),
        body("says its status twice", "{\"status\":\"Success\",\"status\":\"Failure\"}", DECODE),
        body("sends a number for a status", "{\"status\":1}", DECODE),
        body("sends a list for a message", "{\"status\":\"Success\",\"message\":[]}", DECODE),
        raw(
            "sends no UTF-8",
            [b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"status\":\"".to_vec(), vec![0xff, b'"', b'}']].concat(),
            DECODE,
        ),
        raw(
            "compresses without being asked",
            [
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n".to_vec(),
                vec![0x1f, 0x8b, 8, 0],
            ]
            .concat(),
            DECODE,
        ),
        body(
            "fails",
            "{\"status\":\"Failure\",\"message\":\"disk full\"}",
            "got failure response with message: disk full",
        ),
        body("fails at length and says so", &huge, "got failure response with message: xxx"),
        body("forgets its status", "{}", "got unknown response status \"\" with message: "),
        body("is done, it says", "{\"status\":\"Done\"}", "got unknown response status \"Done\" with message: "),
        body("whispers", "{\"status\":\"success\"}", "got unknown response status \"success\" with message: "),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_that_misbehaves_is_neither_a_no_nor_a_done() {
    let cases = wire_cases();
    assert!(cases.len() >= 35, "{} cases", cases.len());
    futures::stream::iter(cases).map(check).buffer_unordered(PARALLEL).collect::<()>().await;
}

async fn check(case: Case) {
    let Case { does, reply, says } = case;
    let peer = Peer::always(reply).await;
    let mut config = config("ext", &peer, &[Hook::CanUpdateMachine, Hook::UpdateMachine]);
    let timeout = if says.contains("timeout") { SHORT_SECONDS } else { MAX_TIMEOUT_SECONDS };
    config.status.handlers.iter_mut().for_each(|handler| handler.timeout_seconds = Some(timeout));
    let extensions = extensions(client(), &[config]);
    let (question, namespace) = (machine_question(), namespace());
    let name = "update-machine.ext".parse().expect("the name must parse");
    let calls = async {
        tokio::join!(
            extensions.coverage(question, &namespace),
            extensions.update_machine(&name, &namespace, update_request())
        )
    };
    let (asked, updated) = tokio::time::timeout(PATIENCE, calls).await.unwrap_or_else(|_| panic!("{does}: hung"));
    let asked = asked.unwrap_or_else(|error| panic!("{does}: {error}"));
    assert_eq!(asked.ask_again, Some(ASK_AGAIN_AFTER), "{does}");
    let Coverage::Undecided { answers, .. } = asked.coverage else { panic!("{does}: {:?}", asked.coverage) };
    assert_eq!(answers[0].verdict, Verdict::Unknown, "{does}");
    check_words(does, "can-update-machine", &answers[0].words, says);
    let error = updated.err().unwrap_or_else(|| panic!("{does}: the update must not be done"));
    check_words(does, "update-machine", &error.words(), says);
}

fn check_words(does: &str, handler: &str, words: &str, says: &str) {
    assert!(words.starts_with(&format!("failed to call extension handler \"{handler}.ext\": ")), "{does}: {words}");
    assert!(words.contains(says), "{does}: {words}");
    assert!(words.len() <= MAX_REASON_BYTES, "{does}: {} bytes", words.len());
    assert!(!words.contains(TOKEN), "{does}: {words}");
    assert!(!words.contains('\u{1b}'), "{does}: {words}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"".to_vec();
    let peer = Peer::always(Reply::Endless { head, piece: vec![b'x'; 1 << 16] }).await;
    let mut config = config("ext", &peer, &[Hook::UpdateMachine]);
    config.status.handlers[0].timeout_seconds = Some(30);
    let extensions = extensions(client(), &[config]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let error = extensions.update_machine(&name, &namespace(), update_request()).await.expect_err("it must be refused");
    let expected = "failed to call extension handler \"update-machine.ext\": http call failed: the response has more \
                    than 20971520 bytes";
    assert_eq!(error.words(), expected);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_not_sent() {
    let peer = Peer::always(Reply::Json(json!({ "status": "Success" }))).await;
    let extensions = extensions(client(), &[config("ext", &peer, &[Hook::UpdateMachine])]);
    let mut request = update_request();
    let huge = json!({ "kind": "DevMachine", "spec": { "data": "x".repeat(21 << 20) } });
    request.desired.infrastructure_machine = huge.try_into().expect("it must be an object");
    let name = "update-machine.ext".parse().expect("the name must parse");
    let error = extensions.update_machine(&name, &namespace(), request).await.expect_err("it must be refused");
    assert!(error.words().contains("more than the 20971520 that extensions take"), "{}", error.words());
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn an_extension_that_lies_about_an_update_is_not_believed() {
    let lies: [(&str, &str); 5] = [
        (
            "{\"status\":\"Success\",\"retryAfterSeconds\":-1}",
            "got a negative retryAfterSeconds of -1, which means nothing",
        ),
        (
            "{\"status\":\"Success\",\"retryAfterSeconds\":-2147483648}",
            "got a negative retryAfterSeconds of -2147483648",
        ),
        ("{\"status\":\"Success\",\"retryAfterSeconds\":99999999999}", "failed to decode response: invalid value"),
        ("{\"status\":\"Success\",\"retryAfterSeconds\":\"0\"}", "failed to decode response: invalid type"),
        (
            "{\"status\":\"Failure\",\"retryAfterSeconds\":0,\"message\":\"done\"}",
            "got failure response with message: done",
        ),
    ];
    for (lie, says) in lies {
        let peer = Peer::always(Reply::Raw(answer("200 OK", "", lie))).await;
        let extensions = extensions(client(), &[config("ext", &peer, &[Hook::UpdateMachine])]);
        let name = "update-machine.ext".parse().expect("the name must parse");
        let error = extensions.update_machine(&name, &namespace(), update_request()).await;
        let words = error.err().unwrap_or_else(|| panic!("{lie} must not be believed")).words();
        assert!(words.contains(says), "{lie}: {words}");
    }
}

#[tokio::test]
async fn ignore_completes_no_update_and_is_no_answer() {
    let peer = Peer::always(Reply::Close).await;
    let mut config = config("ext", &peer, &[Hook::CanUpdateMachine, Hook::UpdateMachine]);
    for handler in &mut config.status.handlers {
        handler.failure_policy = Some(refit_api::runtime::FailurePolicy::Ignore);
    }
    let extensions = extensions(client(), &[config]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    assert!(extensions.update_machine(&name, &namespace(), update_request()).await.is_err());
    let asked = extensions.coverage(machine_question(), &namespace()).await.expect("it must be asked");
    assert!(matches!(asked.coverage, Coverage::Undecided { .. }), "{:?}", asked.coverage);
}

#[tokio::test]
async fn an_extension_that_contradicts_itself_covers_nothing() {
    let patch = |patch_type: &str, document: &str| {
        let encoded = k8s_openapi::ByteString(document.as_bytes().to_vec());
        json!({ "status": "Success", "machinePatch": { "patchType": patch_type, "patch": encoded } })
    };
    let merged = |document: Value| json!({ "status": "Success", "machinePatch": merge_patch(document) });
    let cases: Vec<(&str, Value)> = vec![
        ("claims success and nothing else", json!({ "status": "Success" })),
        ("claims another version than the one it is asked for", merged(json!({ "spec": { "version": "v1.99.0" } }))),
        ("claims with a patch of no type", patch("", "[]")),
        ("claims with a patch of an unknown type", patch("StrategicMerge", "{}")),
        ("claims with an empty document", patch("JSONPatch", "")),
        ("claims with a document that is no JSON", patch("JSONPatch", "nonsense")),
        ("tests for what is not there", patch("JSONPatch", r#"[{"op":"test","path":"/spec/version","value":"v9"}]"#)),
        ("removes what is not there", patch("JSONPatch", r#"[{"op":"remove","path":"/spec/nothing"}]"#)),
        ("makes the Machine a list", patch("JSONMergePatch", "[]")),
        ("removes the whole spec", merged(json!({ "spec": null }))),
        ("makes the version a number", merged(json!({ "spec": { "version": 135 } }))),
        ("changes the kind", merged(json!({ "kind": null }))),
    ];
    for (does, reply) in cases {
        let peer = Peer::always(Reply::Json(reply)).await;
        let extensions = extensions(client(), &[config("ext", &peer, &[Hook::CanUpdateMachine])]);
        let asked = extensions.coverage(machine_question(), &namespace()).await.expect("it must be asked");
        assert!(!matches!(asked.coverage, Coverage::Covered { .. }), "{does}: {:?}", asked.coverage);
    }
}

#[tokio::test]
async fn a_patch_that_is_no_base64_is_no_answer() {
    for document in [json!("W10"), json!([]), json!({ "spec": {} }), json!("-_-_")] {
        let reply = json!({ "status": "Success", "machinePatch": { "patchType": "JSONPatch", "patch": document } });
        let peer = Peer::always(Reply::Json(reply)).await;
        let extensions = extensions(client(), &[config("ext", &peer, &[Hook::CanUpdateMachine])]);
        let asked = extensions.coverage(machine_question(), &namespace()).await.expect("it must be asked");
        assert!(matches!(asked.coverage, Coverage::Undecided { .. }), "{document}: {:?}", asked.coverage);
    }
}

#[tokio::test]
async fn an_extension_that_dies_between_calls_is_asked_again_and_recovers() {
    let peer = Peer::start(|number, _| match number {
        1 => Reply::Close,
        _ => Reply::Json(json!({ "status": "Success", "retryAfterSeconds": 5 })),
    })
    .await;
    let extensions = extensions(client(), &[config("ext", &peer, &[Hook::UpdateMachine])]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        outcomes.push(extensions.update_machine(&name, &namespace(), update_request()).await.is_ok());
    }
    assert_eq!(outcomes, [true, false, true]);
    assert_eq!(peer.received().len(), 3, "a call that may have been heard is not made twice");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Peer::always(Reply::Json(json!({ "status": "Success" }))).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("Location: https://{}:{}/\r\n", crate::peer::HOST, target.port);
        let peer = Peer::always(Reply::Raw(answer(status, &location, ""))).await;
        let extensions = extensions(client(), &[config("ext", &peer, &[Hook::UpdateMachine])]);
        let name = "update-machine.ext".parse().expect("the name must parse");
        let error = extensions.update_machine(&name, &namespace(), update_request()).await.expect_err("no success");
        assert!(error.words().contains(&format!("status code {} != 200", &status[..3])), "{}", error.words());
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn an_extension_that_repeats_what_it_was_told_gives_nothing_away() {
    let echo = Peer::start(|_, request| Reply::Raw(answer("500 Oops", "", &request.body.to_string()))).await;
    let extensions = extensions(client(), &[config("ext", &echo, &[Hook::UpdateMachine])]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let error = extensions.update_machine(&name, &namespace(), update_request()).await.expect_err("no success");
    assert!(
        error.words().contains("UpdateMachineRequest") || error.words().contains("caCertHashes"),
        "{}",
        error.words()
    );
    assert!(error.words().len() <= MAX_REASON_BYTES && !error.words().contains(TOKEN), "{}", error.words());
}
