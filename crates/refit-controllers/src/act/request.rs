//! One request to an API server.
//!
//! Of the answer only the version is looked at; the rest is skipped, not decoded: the object comes by the watch.

use kube::api::{Api, DeleteParams, DynamicObject, Patch as Body, PatchParams, Preconditions};
use kube::core::{ObjectMeta, Request};
use kube::{Client, Resource};
use refit_plan::effect::{Apply, Delete, Part, Patch, Target, Write};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::failure::Failure;
use crate::cache::{Written, api_resource, version_of};

/// Whether the server does what it is asked, or only says what would come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    InEarnest,
    /// `dryRun=All`: admission and validation take place, and nothing is stored.
    Dry,
}

/// A write that can be rehearsed.
pub(super) async fn write(client: Client, write: &Write, run: Run) -> Result<Written, Failure> {
    match write {
        Write::Apply(it) => apply(client, it, run).await,
        Write::Patch(it) => patch(client, it, run).await,
    }
}

/// Server-side apply, by force.
pub(super) async fn apply(client: Client, apply: &Apply, run: Run) -> Result<Written, Failure> {
    let target = &apply.target;
    send(client, target, apply_request(apply, run)).await.map_err(|error| Failure::of(target, &error))
}

/// What the server would make of a write, as a whole object.
pub(super) async fn preview(client: Client, write: &Write) -> Result<Value, Failure> {
    let request = match write {
        Write::Apply(it) => apply_request(it, Run::Dry),
        Write::Patch(it) => patch_request(it, Run::Dry),
    };
    let answer = async { client.request::<Value>(request.map_err(kube::Error::BuildRequest)?).await };
    answer.await.map_err(|error| Failure::of(write.target(), &error))
}

type BuiltRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

fn apply_request(apply: &Apply, run: Run) -> BuiltRequest {
    let params = PatchParams { dry_run: run == Run::Dry, ..PatchParams::apply(apply.manager).force() };
    let target = &apply.target;
    request(target).patch(&target.name, &params, &Body::Apply(&with_uid(apply)))
}

/// A patch with its preconditions.
pub(super) async fn patch(client: Client, patch: &Patch, run: Run) -> Result<Written, Failure> {
    let target = &patch.target;
    let failure = |error| match patch.operations {
        Some(_) => Failure::of_operations(target, &error),
        None => Failure::of(target, &error),
    };
    send(client, target, patch_request(patch, run)).await.map_err(failure)
}

fn patch_request(patch: &Patch, run: Run) -> BuiltRequest {
    let field_manager = Some(Patch::MANAGER.to_owned());
    let params = PatchParams { field_manager, dry_run: run == Run::Dry, ..PatchParams::default() };
    let target = &patch.target;
    let body = match &patch.operations {
        Some(operations) => Body::Json(json_patch(operations)),
        None => Body::Merge(patch.body()),
    };
    match patch.part {
        Part::Object => request(target).patch(&target.name, &params, &body),
        Part::Status => request(target).patch_subresource("status", &target.name, &params, &body),
    }
}

fn json_patch(operations: &[Value]) -> json_patch::Patch {
    serde_json::from_value(Value::from(operations)).expect("operations of a plan must be a JSON patch")
}

/// Deletion of exactly this object, of the version that was seen where that counts. One that is gone already is as good
/// as deleted.
pub(super) async fn delete(client: Client, delete: &Delete) -> Result<Written, Failure> {
    let Delete { target, resource_version } = delete;
    let preconditions = Preconditions { uid: target.uid.clone(), resource_version: resource_version.clone() };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let gone = || Written::Gone { target: target.clone() };
    match api(client, target).delete(&target.name, &params).await {
        // An object in the answer is still there, on its way out.
        Ok(answer) => Ok(answer.left().map_or_else(gone, |object| written(target, &object.metadata))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(gone()),
        Err(error) => Err(Failure::of(target, &error)),
    }
}

fn api(client: Client, target: &Target) -> Api<DynamicObject> {
    let resource = api_resource(&target.api_version, &target.kind);
    match &target.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    }
}

/// The intent with the uid of the object that it is for: an object that is gone is not made anew by it.
fn with_uid(apply: &Apply) -> Value {
    let mut intent = apply.intent.clone();
    if let Some(uid) = &apply.target.uid {
        intent["metadata"]["uid"] = json!(uid);
    }
    intent
}

fn request(target: &Target) -> Request {
    let resource = api_resource(&target.api_version, &target.kind);
    Request::new(DynamicObject::url_path(&resource, target.namespace.as_deref()))
}

/// What is looked at of the answer to a write.
#[derive(Debug, Deserialize)]
struct Answer {
    metadata: Version,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: Option<String>,
}

async fn send(client: Client, target: &Target, request: BuiltRequest) -> Result<Written, kube::Error> {
    let answer: Answer = client.request(request.map_err(kube::Error::BuildRequest)?).await?;
    Ok(written(target, &ObjectMeta { resource_version: answer.metadata.resource_version, ..ObjectMeta::default() }))
}

fn written(target: &Target, metadata: &ObjectMeta) -> Written {
    Written::Version { target: target.clone(), version: version_of(metadata), at: Instant::now() }
}
