//! A call of a registered handler, and what its answer must be.

use refit_api::hooks::{CanonicalName, HookRequest, HookResponse, ResponseStatus, StatusError, UpdateMachineResponse};
use refit_api::runtime::FailurePolicy;

use crate::aggregate::{NotSuccessful, wait};
use crate::client::{Client, ExchangeError, Target};
use crate::registry::{Registration, RegistryError};
use crate::words::{chain, shortened};

/// How much of an extension's own words is passed on when it failed.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// A handler was not called, or its answer was no success. With its causes appended, it reads as upstream's.
#[derive(Debug, thiserror::Error)]
#[error("failed to call extension handler \"{handler}\"")]
pub struct CallError {
    pub handler: CanonicalName,
    #[source]
    pub problem: CallProblem,
}

/// What went wrong with a call. All of it can pass: the call is to be made again.
#[derive(Debug, thiserror::Error)]
pub enum CallProblem {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("namespaceSelector did not match object {0}")]
    NotSelected(String),
    /// The ExtensionConfig cannot be used as it is.
    #[error("{0}")]
    Misconfigured(String),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Response(#[from] NotSuccessful),
}

impl CallError {
    /// What a person has to know who knows whose words these are: the extension's own, if it said that it failed.
    pub fn own_words(&self) -> String {
        match &self.problem {
            CallProblem::Response(NotSuccessful::Status(StatusError::Failure { message })) if !message.is_empty() => {
                message.clone()
            }
            problem => chain(problem),
        }
    }

    /// The extension's own message, if it was reached and answered that it failed. Of any other error nobody can tell what
    /// the extension does.
    pub fn answered_failure(&self) -> Option<&str> {
        match &self.problem {
            CallProblem::Response(NotSuccessful::Status(StatusError::Failure { message })) => Some(message),
            CallProblem::Response(
                NotSuccessful::Status(StatusError::Unknown { .. }) | NotSuccessful::NegativeRetry(_),
            )
            | CallProblem::Registry(_)
            | CallProblem::NotSelected(_)
            | CallProblem::Misconfigured(_)
            | CallProblem::Exchange(_) => None,
        }
    }

    /// The error with its causes, in one line.
    pub fn words(&self) -> String {
        chain(self)
    }
}

/// Makes the call, with the settings of the ExtensionConfig. The answer is a success.
///
/// `failurePolicy: Ignore` is not applied to any hook that refit calls: on UpdateMachine a call that got lost would read
/// as "done", on the others as "cannot".
pub(super) async fn call<R: HookRequest>(
    client: &Client,
    registration: &Registration,
    mut request: R,
) -> Result<R::Response, CallProblem> {
    let endpoint = registration.endpoint.as_ref().map_err(|why| CallProblem::Misconfigured(why.clone()))?;
    request.add_settings(&registration.settings);
    let target = Target { endpoint, handler: Some(registration.name.handler()), timeout: registration.timeout };
    let response = client.call(target, &request).await.inspect_err(|error| log(registration, error))?;
    check_status(&response)?;
    Ok(response)
}

/// Refuses an answer to UpdateMachine that is neither "done" nor "ask again after that time".
pub(super) fn check_update(response: &UpdateMachineResponse) -> Result<(), CallProblem> {
    Ok(wait(response).map(|_| ())?)
}

fn check_status<T: HookResponse>(response: &T) -> Result<(), NotSuccessful> {
    let message = shortened(response.message(), MAX_MESSAGE_BYTES);
    match response.status() {
        ResponseStatus::Success => Ok(()),
        ResponseStatus::Failure => Err(StatusError::Failure { message }.into()),
        ResponseStatus::Unknown(status) => {
            Err(StatusError::Unknown { status: shortened(status, MAX_MESSAGE_BYTES), message }.into())
        }
    }
}

/// Under the keys that upstream logs it.
fn log(registration: &Registration, error: &ExchangeError) {
    let (handler, hook) = (registration.name.to_string(), registration.hook.name());
    let error = error.words();
    match registration.failure_policy {
        FailurePolicy::Fail => {
            tracing::warn!(extensionHandler = handler, hook, error, "failed to call extension handler")
        }
        FailurePolicy::Ignore => {
            let message = "failed to call extension handler; its failurePolicy Ignore is not applied";
            tracing::warn!(extensionHandler = handler, hook, error, message);
        }
    }
}
