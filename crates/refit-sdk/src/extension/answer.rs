//! From the bytes of a request to the response of the extension. Every request that has a handler gets one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use refit_api::decode as refit_decode;
use refit_api::hooks::{
    CanUpdateMachineRequest, CanUpdateMachineSetRequest, DiscoveryRequest, DiscoveryResponse, Hook, HookRequest,
    HookResponse, RawObject, UpdateMachineRequest, UpdateMachineResponse,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Extension;
use crate::claims::ClaimError;
use crate::progress::StateHash;
use crate::updater::{MachineName, MachineUpdate};
use crate::{Progress, UpdateFailure};

/// The longest that a call waits for an update to end. A controller's worker waits with it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The response to a request, as JSON.
pub(super) async fn to(extension: &Extension, hook: Hook, body: &[u8], timeout: Duration) -> Bytes {
    match hook {
        Hook::CanUpdateMachine => {
            encode(&claims::<CanUpdateMachineRequest>(body, |request| extension.inner.claims.of_machine(request)))
        }
        Hook::CanUpdateMachineSet => encode(&claims::<CanUpdateMachineSetRequest>(body, |request| {
            extension.inner.claims.of_machine_set(request)
        })),
        Hook::UpdateMachine => encode(&update(extension, body, timeout).await),
        _ => encode(&discovery(extension, body)),
    }
}

/// The response when there is no request to read.
pub(super) fn unreadable(hook: Hook, reason: &str) -> Bytes {
    let message = format!("error reading request: {reason}");
    let response = json!({
        "apiVersion": refit_api::hooks::API_VERSION,
        "kind": hook.response_kind(),
        "status": "Failure",
        "message": message,
    });
    Bytes::from(response.to_string())
}

fn discovery(extension: &Extension, body: &[u8]) -> DiscoveryResponse {
    match decode::<DiscoveryRequest>(body) {
        Ok(_) => extension.inner.discovery.clone(),
        Err(message) => DiscoveryResponse::failed(message),
    }
}

fn claims<R: HookRequest + Default>(
    body: &[u8],
    decide: impl FnOnce(&R) -> Result<R::Response, ClaimError>,
) -> R::Response {
    let request: R = match decode(body) {
        Ok(request) => request,
        Err(message) => return R::Response::failed(message),
    };
    match catch_unwind(AssertUnwindSafe(|| decide(&request))) {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => R::Response::failed(error.to_string()),
        Err(_) => R::Response::failed("the extension panicked; its log says where"),
    }
}

async fn update(extension: &Extension, body: &[u8], timeout: Duration) -> UpdateMachineResponse {
    let request: UpdateMachineRequest = match decode(body) {
        Ok(request) => request,
        Err(message) => return UpdateMachineResponse::failed(message),
    };
    let Some(name) = machine_name(&request) else {
        return UpdateMachineResponse::failed("the request names no Machine");
    };
    match advance(extension, name, request, PATIENCE.min(timeout / 2)).await {
        Ok(Progress::Done) => UpdateMachineResponse::done(),
        Ok(Progress::InProgress { message, retry_after }) => UpdateMachineResponse::in_progress(message, retry_after),
        Err(UpdateFailure(message)) => UpdateMachineResponse::failed(message),
    }
}

async fn advance(
    extension: &Extension,
    name: MachineName,
    request: UpdateMachineRequest,
    patience: Duration,
) -> Result<Progress, UpdateFailure> {
    let state = hash(&request);
    let updater = Arc::clone(&extension.inner.updater);
    let machine = name.clone();
    let start = |words| updater.run(MachineUpdate::new(machine, request, words));
    extension.inner.ledger.advance(&name, state, patience, start).await
}

fn machine_name(request: &UpdateMachineRequest) -> Option<MachineName> {
    let machine = &request.desired.machine;
    let name = machine.name().filter(|name| !name.is_empty())?;
    Some(MachineName { namespace: machine.namespace().unwrap_or_default().to_owned(), name: name.to_owned() })
}

/// Everything that the update depends on. Labels and annotations change while it runs, and are not in it.
fn hash(request: &UpdateMachineRequest) -> StateHash {
    let desired = &request.desired;
    let part = |object: &RawObject| json!([object.api_version(), object.kind(), object.name(), object.spec()]);
    let content = json!([
        request.settings,
        part(&desired.machine),
        part(&desired.infrastructure_machine),
        desired.bootstrap_config.as_ref().map(part),
    ]);
    let mut content = content;
    content.sort_all_objects();
    Sha256::digest(content.to_string()).into()
}

/// Reads a request as Go's `json.Unmarshal` does: one value and nothing after it, and `null` changes nothing.
fn decode<R: HookRequest + Default>(body: &[u8]) -> Result<R, String> {
    let failed = |error: &dyn std::fmt::Display| format!("error unmarshalling request: {error}");
    match serde_json::from_slice(body).map_err(|error| failed(&error))? {
        Value::Null => Ok(R::default()),
        value => refit_decode::from_value(value).map_err(|error| failed(&error)),
    }
}

fn encode(response: &impl HookResponse) -> Bytes {
    serde_json::to_vec(response).expect("a response must be JSON").into()
}
