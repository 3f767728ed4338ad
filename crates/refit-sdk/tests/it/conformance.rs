//! The conformance kit: what is right passes, and every rule can be broken.

mod broken;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use refit_sdk::conformance::{CheckError, ClientFiles, Finding, Options, Outcome, Rule, Target, check};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::Served;
use broken::{
    ADD_STRAY, REPLACE_MISSING, answer, breaks, breaks_with_large_bodies, in_claims, in_handlers, in_update,
    is_discovery, patch, report, status, warns,
};

fn target(address: SocketAddr) -> Target {
    Target::new(&format!("http://{address}"), &ClientFiles::default(), true).expect("the address must be right")
}

/// What an extension says that it does not do soon is not waited for.
fn options() -> Options {
    Options { update_patience: Duration::from_secs(2), ..Options::default() }
}

#[tokio::test]
async fn an_extension_of_this_sdk_keeps_every_rule() {
    let served = Served::local().await;
    let report = check(&target(served.address), &Options::default()).await.expect("it must be checked");
    let not_kept: Vec<_> = report.findings.iter().filter(|finding| finding.outcome != Outcome::Kept).collect();
    assert_eq!(not_kept, Vec::<&Finding>::new(), "{}", report.text());
    for rule in Rule::ALL {
        assert!(report.findings.iter().any(|finding| finding.rule == *rule), "nobody looked at {}", rule.id);
    }
}

#[tokio::test]
async fn nobody_there_is_told_apart_from_a_broken_extension() {
    // Bound, so that no other test gets the port, and not listening.
    let silent = TcpSocket::new_v4().expect("there must be a socket");
    silent.bind(([127, 0, 0, 1], 0).into()).expect("a port must be free");
    let address = silent.local_addr().expect("it must be bound");
    assert!(matches!(check(&target(address), &options()).await, Err(CheckError::Unreachable(_))));
    let served = Served::local().await;
    let options = Options { handler: Some("other".to_owned()), ..options() };
    assert!(matches!(check(&target(served.address), &options).await, Err(CheckError::NoSuchHandler(_))));
}

#[tokio::test]
async fn discovery_must_answer_with_success() {
    breaks("discovery-answers", |_, _, _| status(500, "no")).await;
    breaks("discovery-answers", |_, _, _| status(200, "no JSON")).await;
    breaks("discovery-answers", |_, _, _| answer(&json!({ "handlers": [] }))).await;
    breaks("discovery-answers", |_, _, _| answer(&json!({ "status": "Failure", "message": "not yet" }))).await;
}

#[tokio::test]
async fn handlers_must_be_valid() {
    breaks("discovery-valid", |path, _, right| {
        in_handlers(path, right, |handlers| handlers[0]["name"] = json!("Not.A.Label"))
    })
    .await;
    breaks("discovery-valid", |path, _, right| {
        in_handlers(path, right, |handlers| handlers[0]["timeoutSeconds"] = json!(31))
    })
    .await;
    breaks("discovery-valid", |path, _, right| {
        in_handlers(path, right, |handlers| handlers[0]["requestHook"]["hook"] = json!("canUpdate"))
    })
    .await;
    breaks("discovery-valid", |path, _, right| in_handlers(path, right, |handlers| *handlers = json!([]))).await;
}

#[tokio::test]
async fn discovery_must_not_flip() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    breaks("discovery-stable", |path, _, right| {
        in_handlers(path, right, |handlers| {
            handlers[0]["timeoutSeconds"] = json!(1 + CALLS.fetch_add(1, Ordering::SeqCst) % 2)
        })
    })
    .await;
    warns("discovery-stable", |path, _, right| {
        in_handlers(path, right, |handlers| handlers.as_array_mut().into_iter().for_each(|list| list.reverse()))
    })
    .await;
}

#[tokio::test]
async fn updates_must_not_be_ignored() {
    breaks("update-never-ignored", |path, _, right| {
        in_handlers(path, right, |handlers| handlers[2]["failurePolicy"] = json!("Ignore"))
    })
    .await;
    warns("hooks-complete", |path, _, right| {
        in_handlers(path, right, |handlers| drop(handlers.as_array_mut().map(Vec::pop)))
    })
    .await;
}

#[tokio::test]
async fn bodies_without_a_content_type_must_be_read() {
    // As a framework does that looks at the content type first; the kit's first call must pass, or nothing is checked.
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    breaks("protocols", |path, _, right| match CALLS.fetch_add(1, Ordering::SeqCst) {
        3 if is_discovery(path) => status(415, "unsupported media type"),
        _ => in_claims("", right, |_| {}),
    })
    .await;
}

#[tokio::test]
async fn paths_without_a_handler_must_be_refused() {
    breaks("unknown-path", |_, _, right| answer(&if right.is_null() { json!({ "status": "Success" }) } else { right }))
        .await;
}

#[tokio::test]
async fn malformed_bodies_must_be_failures() {
    breaks("malformed-body", |_, body, right| match serde_json::from_slice::<Value>(body) {
        Err(_) => status(400, "bad request"),
        Ok(_) => in_claims("", right, |_| {}),
    })
    .await;
    breaks("malformed-body", |path, _, right| match is_discovery(path) && right["status"] == "Failure" {
        true => answer(&json!({ "status": "Success" })),
        false => in_claims("", right, |_| {}),
    })
    .await;
}

#[tokio::test]
async fn the_extension_must_survive_its_callers() {
    static DEEP: AtomicBool = AtomicBool::new(false);
    breaks("deep-body", |_, body, right| {
        let is_deep = body.starts_with(b"[[[[");
        match DEEP.fetch_or(is_deep, Ordering::SeqCst) || is_deep {
            true => status(503, "the process is gone"),
            false => in_claims("", right, |_| {}),
        }
    })
    .await;
    static HALF: AtomicUsize = AtomicUsize::new(0);
    breaks_with_large_bodies("broken-callers", |path, body, right| {
        // Gone after the huge body, which is the last thing before the broken callers; its own probe passes.
        let is_huge = body.len() > 20 << 20;
        let seen = HALF.fetch_add(usize::from(is_huge || HALF.load(Ordering::SeqCst) > 0), Ordering::SeqCst);
        match seen > 1 && is_discovery(path) {
            true => status(503, "stuck"),
            false => in_claims("", right, |_| {}),
        }
    })
    .await;
}

#[tokio::test]
async fn large_bodies_must_be_read_and_huge_ones_refused() {
    breaks_with_large_bodies("large-body", |_, body, right| match body.len() > 2 << 20 {
        true => status(413, "payload too large"),
        false => in_claims("", right, |_| {}),
    })
    .await;
    breaks_with_large_bodies("huge-body", |_, body, right| match body.len() > 20 << 20 {
        true => answer(&json!({ "status": "Success" })),
        false => in_claims("", right, |_| {}),
    })
    .await;
}

#[tokio::test]
async fn questions_must_be_answered_with_a_status() {
    breaks("claims-answer", |path, _, right| in_claims(path, right, |answer| answer["status"] = json!(""))).await;
    breaks(
        "claims-answer",
        |path, _, right| if path.contains("canupdate") { status(204, "") } else { in_claims(path, right, |_| {}) },
    )
    .await;
    warns("claims-answer", |path, _, right| in_claims(path, right, |answer| *answer = json!({ "status": "Failure" })))
        .await;
}

#[tokio::test]
async fn answers_must_not_flip() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    breaks("claims-deterministic", |path, _, right| {
        in_claims(path, right, |answer| {
            if CALLS.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
                *answer = json!({ "status": "Success" })
            }
        })
    })
    .await;
    static CROWD: AtomicUsize = AtomicUsize::new(0);
    breaks("claims-concurrent", |path, _, right| {
        // The first nine questions about a handler are asked one after the other.
        in_claims(path, right, |answer| {
            if CROWD.fetch_add(1, Ordering::SeqCst) % 26 == 20 {
                *answer = json!({ "status": "Success" })
            }
        })
    })
    .await;
}

#[tokio::test]
async fn patches_must_apply() {
    for wrong in [
        patch(REPLACE_MISSING),
        json!({ "patchType": "JSONPatch" }),
        json!({ "patchType": "JSONPatch", "patch": [] }),
        json!({ "patchType": "jsonpatch", "patch": "W10=" }),
        json!({ "patchType": "JSONPatch", "patch": "W10" }),
    ] {
        breaks("patches-apply", move |path, _, right| {
            in_claims(path, right, |answer| answer["infrastructureMachinePatch"] = wrong.clone())
        })
        .await;
    }
}

#[tokio::test]
async fn claims_must_lead_to_what_is_desired() {
    breaks("claims-lead-to-desired", |path, _, right| {
        in_claims(path, right, |answer| answer["infrastructureMachinePatch"] = patch(ADD_STRAY))
    })
    .await;
    breaks("nothing-to-change", |path, _, right| {
        in_claims(path, right, |answer| answer["infrastructureMachinePatch"] = patch(ADD_STRAY))
    })
    .await;
}

#[tokio::test]
async fn what_is_missing_or_unknown_must_not_be_a_failure() {
    breaks("missing-bootstrap", |path, body, right| {
        let has_bootstrap = String::from_utf8_lossy(body).contains("\"bootstrapConfig");
        in_claims(path, right, |answer| {
            if !has_bootstrap {
                *answer = json!({ "status": "Failure" })
            }
        })
    })
    .await;
    warns("unknown-kinds", |path, body, right| {
        let is_unknown = String::from_utf8_lossy(body).contains("UnheardOf");
        in_claims(path, right, |answer| {
            if is_unknown {
                *answer = json!({ "status": "Failure" })
            }
        })
    })
    .await;
    breaks("unknown-kinds", |path, body, right| {
        let is_unknown = String::from_utf8_lossy(body).contains("UnheardOf");
        if path.contains("canupdate") && is_unknown { status(500, "") } else { in_claims(path, right, |_| {}) }
    })
    .await;
    breaks("unknown-fields", |path, body, right| {
        let is_unknown = String::from_utf8_lossy(body).contains("unheardOf");
        in_claims(path, right, |answer| {
            if is_unknown {
                *answer = json!({ "status": "Failure" })
            }
        })
    })
    .await;
}

#[tokio::test]
async fn updates_must_say_how_far_they_are() {
    breaks("update-answers", |path, _, right| in_update(path, right, |answer| answer["retryAfterSeconds"] = json!(-1)))
        .await;
    breaks("update-answers", |path, _, right| in_update(path, right, |answer| answer["status"] = json!("Done"))).await;
    warns("update-ends", |path, _, right| in_update(path, right, |answer| answer["retryAfterSeconds"] = json!(60)))
        .await;
}

#[tokio::test]
async fn an_update_must_stay_done() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    breaks("update-idempotent", |path, _, right| {
        in_update(path, right, |answer| {
            if CALLS.fetch_add(1, Ordering::SeqCst) > 0 {
                *answer = json!({ "status": "Failure" })
            }
        })
    })
    .await;
    static AGAIN: AtomicUsize = AtomicUsize::new(0);
    warns("update-idempotent", |path, _, right| {
        in_update(path, right, |answer| {
            if AGAIN.fetch_add(1, Ordering::SeqCst) == 1 {
                answer["retryAfterSeconds"] = json!(5)
            }
        })
    })
    .await;
}

#[tokio::test]
async fn all_calls_for_a_machine_must_be_answered() {
    breaks("update-concurrent", |path, body, right| {
        let is_second = String::from_utf8_lossy(body).contains("refit-conformance-2");
        if path.contains("/updatemachine/") && is_second { status(409, "busy") } else { in_update(path, right, |_| {}) }
    })
    .await;
    breaks("update-without-bootstrap", |path, body, right| {
        let has_bootstrap = String::from_utf8_lossy(body).contains("\"bootstrapConfig\"");
        in_update(path, right, |answer| {
            if !has_bootstrap {
                *answer = json!({ "status": "Failure" })
            }
        })
    })
    .await;
}

#[tokio::test]
async fn a_report_says_what_why_and_what_to_do() {
    let report =
        report(|path, _, right| in_update(path, right, |answer| answer["retryAfterSeconds"] = json!(-1))).await;
    let text = report.text();
    assert!(text.contains("FAIL update-answers: UpdateMachine says how far it is (update-machine)\n       what: retryAfterSeconds is -1\n"), "{text}");
    assert!(text.contains("       why:  ") && text.contains("       do:   "), "{text}");
    let json = serde_json::to_value(&report).expect("a report must be JSON");
    let finding = json["findings"].as_array().into_iter().flatten().find(|finding| finding["id"] == "update-answers");
    assert_eq!(
        finding.map(|finding| (&finding["outcome"], &finding["what"])),
        Some((&json!("broken"), &json!("retryAfterSeconds is -1")))
    );
}
