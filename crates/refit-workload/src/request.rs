//! Requests to the API server of a workload cluster, each with a limit, and changes that carry their precondition.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use kube::Api;
use kube::api::{Patch, PatchParams};
use refit_api::vocabulary::managers::KUBEADM_CONTROL_PLANE;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::WorkloadError;

/// How long one request may take, in seconds.
pub(crate) const REQUEST_SECONDS: u64 = 10;
/// How often a change is tried that somebody else gets in the way of.
const TRIES: usize = 5;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// What a request is about, for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// As `ConfigMap kube-system/kubeadm-config`.
    pub what: &'a str,
    /// As `read`.
    pub done: &'static str,
}

/// Waits for a request, but not for long.
pub(crate) async fn bounded<T>(
    about: About<'_>,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, WorkloadError> {
    let About { what, done } = about;
    let answer = timeout(Duration::from_secs(REQUEST_SECONDS), request).await;
    let late = |_| WorkloadError::Late { what: what.to_owned(), done, seconds: REQUEST_SECONDS };
    answer.map_err(late)?.map_err(|source| WorkloadError::Request {
        what: what.to_owned(),
        done,
        source: source.into(),
    })
}

/// Reads an object; nothing if the cluster says that there is none.
pub(crate) async fn read<K>(api: &Api<K>, name: &str, what: &str) -> Result<Option<K>, WorkloadError>
where
    K: Clone + Debug + DeserializeOwned,
{
    bounded(About { what, done: "read" }, api.get_opt(name)).await
}

/// The same where the cluster need not have objects of this kind at all.
pub(crate) async fn read_if_served<K>(api: &Api<K>, name: &str, what: &str) -> Result<Option<K>, WorkloadError>
where
    K: Clone + Debug + DeserializeOwned,
{
    match read(api, name, what).await {
        Err(error) if has_code(&error, NOT_FOUND) => Ok(None),
        outcome => outcome,
    }
}

/// Whether somebody else has changed the object meanwhile, or made it.
pub(crate) fn is_conflict(error: &WorkloadError) -> bool {
    has_code(error, CONFLICT)
}

fn has_code(error: &WorkloadError, code: u16) -> bool {
    let WorkloadError::Request { source, .. } = error else { return false };
    matches!(&**source, kube::Error::Api(status) if status.code == code)
}

/// How a change is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// RFC 7386.
    Merge,
    /// Lists are merged by the names of what is in them.
    Strategic,
}

/// Changes an object that is there into what `change` makes of it; nothing if it is as it should be.
///
/// The change holds for the version that it was made from. Is there another one by then, it is made anew.
pub(crate) async fn change<K>(
    api: &Api<K>,
    name: &str,
    what: &str,
    kind: Kind,
    change: impl Fn(&K) -> Result<Option<Value>, WorkloadError>,
) -> Result<(), WorkloadError>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned,
{
    for _ in 0..TRIES {
        let Some(object) = read(api, name, what).await? else { return Ok(()) };
        let Some(mut patch) = change(&object)? else { return Ok(()) };
        patch["metadata"]["resourceVersion"] = json!(object.meta().resource_version);
        let params = PatchParams { field_manager: Some(KUBEADM_CONTROL_PLANE.to_owned()), ..PatchParams::default() };
        let patch = match kind {
            Kind::Merge => Patch::Merge(patch),
            Kind::Strategic => Patch::Strategic(patch),
        };
        match bounded(About { what, done: "changed" }, api.patch(name, &params, &patch)).await {
            Err(error) if is_conflict(&error) => {}
            outcome => return outcome.map(drop),
        }
    }
    Err(WorkloadError::Contended { what: what.to_owned(), tries: TRIES })
}
