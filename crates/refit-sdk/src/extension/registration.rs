//! Building an extension. What a controller would refuse later is refused here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use refit_api::hooks::{
    DiscoveryResponse, ExtensionHandler, FailurePolicy, HandlerName, HandlerProblem, Hook, RetryAfterSeconds,
    handler_problems,
};
use tokio::sync::Semaphore;

use super::request::MAX_LARGE_BODIES;
use super::{Extension, Inner};
use crate::Updater;
use crate::claims::{CheckedClaims, ClaimError, Claims};
use crate::progress::{Ledger, Limits};
use crate::updater::AnyUpdater;

/// The hooks that an extension serves, and the names of their handlers unless it gives others.
const HANDLERS: [(Hook, &str); 3] = [
    (Hook::CanUpdateMachine, "can-update-machine"),
    (Hook::CanUpdateMachineSet, "can-update-machineset"),
    (Hook::UpdateMachine, "update-machine"),
];

/// An extension in the making.
#[must_use = "an extension is made by `build`"]
pub struct ExtensionBuilder {
    updater: Arc<dyn AnyUpdater>,
    claims: Claims,
    handlers: BTreeMap<Hook, ExtensionHandler>,
    limits: Limits,
    poll_seconds: i32,
}

/// Why an extension cannot be served. All of this would otherwise show in a cluster only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    #[error("the claims are wrong")]
    Claims(#[from] ClaimError),
    #[error("there is no in-place hook {0}; there are CanUpdateMachine, CanUpdateMachineSet and UpdateMachine")]
    Hook(Hook),
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Handlers { problems: Vec<HandlerProblem> },
    /// A controller would read an extension that it cannot reach as one that is done.
    #[error(
        "UpdateMachine must not have the failure policy Ignore: a call that fails would count as an update that is done"
    )]
    IgnoredUpdate,
    #[error("the time between two polls must be 1 to {max} seconds, not {seconds}", max = MAX_POLL_SECONDS)]
    Poll { seconds: i32 },
    #[error("the limit of {0} must not be zero")]
    Zero(&'static str),
}

/// The longest time between two questions about a running update. Controllers forget it after a day anyway.
pub const MAX_POLL_SECONDS: i32 = 60 * 60;

impl ExtensionBuilder {
    pub(super) fn new(updater: impl Updater) -> Self {
        let claims = updater.claims();
        let handler = |(hook, name): (Hook, &str)| (hook, handler(name.to_owned(), hook));
        let limits = Limits::default();
        Self {
            updater: Arc::new(updater),
            claims,
            handlers: HANDLERS.into_iter().map(handler).collect(),
            limits,
            poll_seconds: limits.poll.get(),
        }
    }

    /// Names the handler of a hook. Names are DNS-1123 labels, and unique in an extension.
    pub fn handler_name(mut self, hook: Hook, name: impl Into<String>) -> Self {
        let named = handler(name.into(), hook);
        let kept = self.handlers.remove(&hook).unwrap_or_default();
        self.handlers.insert(hook, ExtensionHandler { name: named.name, request_hook: named.request_hook, ..kept });
        self
    }

    /// How long a controller waits for an answer: up to 30 seconds, 10 when not said.
    pub fn timeout_seconds(mut self, seconds: i32) -> Self {
        self.handlers.values_mut().for_each(|handler| handler.timeout_seconds = Some(seconds));
        self
    }

    /// What a call without an answer means to a controller. `Fail` when not said; `Ignore` is refused for UpdateMachine.
    pub fn failure_policy(mut self, hook: Hook, policy: FailurePolicy) -> Self {
        self.handlers.entry(hook).or_insert_with(|| handler(String::new(), hook)).failure_policy = Some(policy);
        self
    }

    /// After how many seconds a controller asks again about an update that runs. 5 when not said.
    pub fn poll_seconds(mut self, seconds: i32) -> Self {
        self.poll_seconds = seconds;
        self
    }

    /// How many machines are updated at a time. 256 when not said.
    pub fn max_running_updates(mut self, updates: usize) -> Self {
        self.limits.running = updates;
        self
    }

    /// How long the update of one machine may take. An hour when not said.
    pub fn update_limit(mut self, limit: Duration) -> Self {
        self.limits.update = limit;
        self
    }

    /// The extension, or everything that is wrong with it.
    pub fn build(self) -> Result<Extension, RegistrationError> {
        let claims = CheckedClaims::new(self.claims)?;
        check_handlers(&self.handlers)?;
        let limits = checked_limits(self.limits, self.poll_seconds)?;
        let routes = routes(&self.handlers)?;
        let discovery = DiscoveryResponse::success(self.handlers.into_values().collect());
        let ledger = Ledger::new(limits);
        let large_bodies = Semaphore::new(MAX_LARGE_BODIES);
        let inner = Inner { updater: self.updater, claims, routes, discovery, ledger, large_bodies };
        Ok(Extension { inner: Arc::new(inner) })
    }
}

/// A handler before its name is known to be good.
fn handler(name: String, hook: Hook) -> ExtensionHandler {
    ExtensionHandler { name, request_hook: hook.into(), ..ExtensionHandler::default() }
}

fn check_handlers(handlers: &BTreeMap<Hook, ExtensionHandler>) -> Result<(), RegistrationError> {
    if let Some(other) = handlers.keys().find(|hook| !HANDLERS.iter().any(|(served, _)| served == *hook)) {
        return Err(RegistrationError::Hook(*other));
    }
    let problems = handler_problems(&handlers.values().cloned().collect::<Vec<_>>());
    if !problems.is_empty() {
        return Err(RegistrationError::Handlers { problems });
    }
    let policy = handlers.get(&Hook::UpdateMachine).and_then(|handler| handler.failure_policy.as_ref());
    if policy == Some(&FailurePolicy::Ignore) { Err(RegistrationError::IgnoredUpdate) } else { Ok(()) }
}

fn checked_limits(limits: Limits, seconds: i32) -> Result<Limits, RegistrationError> {
    if limits.running == 0 {
        return Err(RegistrationError::Zero("running updates"));
    }
    if limits.update.is_zero() {
        return Err(RegistrationError::Zero("an update's time"));
    }
    let poll = RetryAfterSeconds::new(seconds).filter(|poll| poll.get() <= MAX_POLL_SECONDS);
    Ok(Limits { poll: poll.ok_or(RegistrationError::Poll { seconds })?, ..limits })
}

fn routes(handlers: &BTreeMap<Hook, ExtensionHandler>) -> Result<BTreeMap<String, Hook>, RegistrationError> {
    let mut routes = BTreeMap::from([(Hook::Discovery.path(None), Hook::Discovery)]);
    for (hook, handler) in handlers {
        // The names have been checked; this says so again should the two rules ever differ.
        let name = HandlerName::new(handler.name.as_str()).map_err(|_| RegistrationError::Hook(*hook))?;
        routes.insert(hook.path(Some(&name)), *hook);
    }
    Ok(routes)
}
