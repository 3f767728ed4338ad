//! Refit's own definitions, installed in the server that refit runs.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use refit_api::crd;
use serde_json::Value;

use super::StandaloneError;
use crate::access;
use crate::api::{Answer, Api, Body};
use crate::metadata::text;
use crate::request::{Path, Query, Request};
use crate::status::Status;

/// Applies all of them. What others have added to them stays.
pub(super) async fn install(api: &Api) -> Result<(), StandaloneError> {
    for definition in crd::all() {
        let answer = api.handle(&apply(&definition)).await;
        if !answer.status.is_success() {
            let name = text(&definition, "name").to_owned();
            return Err(StandaloneError::Definition { name, status: Box::new(refusal(answer)) });
        }
    }
    Ok(())
}

fn apply(definition: &Value) -> Request {
    let name = text(definition, "name");
    Request {
        method: Method::PATCH,
        cluster: Arc::default(),
        path: Path::parse(&format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")),
        query: Query::parse("fieldManager=refit&force=true"),
        headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/apply-patch+yaml"))]),
        body: definition.to_string().into(),
        user: access::admin(),
    }
}

fn refusal(answer: Answer) -> Status {
    let status: Value = match &answer.body {
        Body::Whole(text) => serde_json::from_slice(text).unwrap_or_default(),
        Body::Parts { .. } | Body::Stream(_) => Value::Null,
    };
    let code: StatusCode = answer.status;
    Status::new(code, None, status["message"].as_str().unwrap_or_default())
}
