//! Extensions with one fault each.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use refit_sdk::Extension;
use refit_sdk::conformance::{Options, Outcome, Report, check};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{options, target};
use crate::support::sample;

/// What a broken extension does to a call: the path, the request and the right answer come in.
type Fault = Arc<dyn Fn(&str, &[u8], Value) -> Response<Full<Bytes>> + Send + Sync>;

pub fn answer(value: &Value) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(value.to_string())))
}

pub fn status(code: u16, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = http::StatusCode::from_u16(code).expect("the code must be right");
    response
}

async fn broken_call(
    extension: Extension,
    fault: Fault,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(status(500, "")) };
    let body = body.to_bytes();
    let right = extension.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
    let right = right.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Ok(fault(&path, &body, serde_json::from_slice(&right).unwrap_or(Value::Null)))
}

/// The report about an extension with a fault. Large requests take long, and only few faults need them.
pub async fn report(fault: impl Fn(&str, &[u8], Value) -> Response<Full<Bytes>> + Send + Sync + 'static) -> Report {
    report_with(Arc::new(fault), &Options { large_bodies: false, ..options() }).await
}

async fn report_with(fault: Fault, options: &Options) -> Report {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port must be free");
    let address = listener.local_addr().expect("the address must be known");
    let extension = sample();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (extension, fault) = (extension.clone(), fault.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| broken_call(extension.clone(), fault.clone(), request));
                let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    let report = check(&target(address), options).await.expect("it must be checked");
    server.abort();
    report
}

/// The fault breaks the rule. It may break others with it.
pub async fn breaks(rule: &str, fault: impl Fn(&str, &[u8], Value) -> Response<Full<Bytes>> + Send + Sync + 'static) {
    is_broken_in(rule, &report(fault).await);
}

pub async fn breaks_with_large_bodies(
    rule: &str,
    fault: impl Fn(&str, &[u8], Value) -> Response<Full<Bytes>> + Send + Sync + 'static,
) {
    is_broken_in(rule, &report_with(Arc::new(fault), &options()).await);
}

fn is_broken_in(rule: &str, report: &Report) {
    assert!(report.broken().any(|finding| finding.rule.id == rule), "{rule} is not broken:\n{}", report.text());
    assert!(!report.is_conformant());
}

/// The fault is a warning, and no more.
pub async fn warns(rule: &str, fault: impl Fn(&str, &[u8], Value) -> Response<Full<Bytes>> + Send + Sync + 'static) {
    let report = report(fault).await;
    let warned =
        report.findings.iter().any(|finding| finding.rule.id == rule && matches!(finding.outcome, Outcome::Warned(_)));
    assert!(warned && report.is_conformant(), "{}", report.text());
}

pub fn is_discovery(path: &str) -> bool {
    path.ends_with("/discovery")
}

pub fn in_claims(path: &str, right: Value, change: impl FnOnce(&mut Value)) -> Response<Full<Bytes>> {
    let mut right = right;
    if path.contains("canupdate") && right["status"] == "Success" {
        change(&mut right);
    }
    if right.is_null() { status(404, "") } else { answer(&right) }
}

pub fn in_handlers(path: &str, right: Value, change: impl FnOnce(&mut Value)) -> Response<Full<Bytes>> {
    let mut right = right;
    if is_discovery(path) && right["status"] == "Success" {
        change(&mut right["handlers"]);
    }
    if right.is_null() { status(404, "") } else { answer(&right) }
}

pub fn in_update(path: &str, right: Value, change: impl FnOnce(&mut Value)) -> Response<Full<Bytes>> {
    let mut right = right;
    if path.contains("/updatemachine/") && right["status"] == "Success" {
        change(&mut right);
    }
    if right.is_null() { status(404, "") } else { answer(&right) }
}

/// The base64 of patches that are wrong.
pub const REPLACE_MISSING: &str = "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL2FiYyIsInZhbHVlIjoxfV0=";
pub const ADD_STRAY: &str = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvYWJjIiwidmFsdWUiOjF9XQ==";

pub fn patch(document: &str) -> Value {
    json!({ "patchType": "JSONPatch", "patch": document })
}
