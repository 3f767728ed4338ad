//! Looking at each rule.

mod claims;
mod discovery;
mod transport;
mod update;

use std::time::Duration;

use refit_api::hooks::{DEFAULT_TIMEOUT_SECONDS, ExtensionHandler, HandlerName, Hook};
use serde_json::Value;

use super::call::{Answer, CallError, Manner};
use super::{CheckError, Finding, Options, Outcome, Report, Rule, Target, rules};

/// How long Discovery may take, as controllers have it.
const DISCOVERY_TIME: Duration = Duration::from_secs(10);

/// What keeps a rule from being kept.
pub(super) enum Verdict {
    Warned(String),
    Broken(String),
    Skipped(String),
}

/// A call without an answer breaks the rule that it was made for.
impl From<CallError> for Verdict {
    fn from(error: CallError) -> Self {
        Self::Broken(error.to_string())
    }
}

type Judgement = Result<(), Verdict>;

fn broken(what: impl Into<String>) -> Verdict {
    Verdict::Broken(what.into())
}

/// A handler that can be called.
#[derive(Debug, Clone)]
struct Handler {
    name: String,
    hook: Hook,
    path: String,
    timeout: Duration,
}

struct Run<'a> {
    target: &'a Target,
    options: &'a Options,
    report: Report,
}

pub(super) async fn run(target: &Target, options: &Options) -> Result<Report, CheckError> {
    let mut run = Run { target, options, report: Report::default() };
    let Some(handlers) = run.discovery().await? else { return Ok(run.report) };
    let handlers = chosen(&handlers, options)?;
    run.transport(&handlers).await;
    for handler in &handlers {
        match handler.hook {
            Hook::CanUpdateMachine | Hook::CanUpdateMachineSet => run.claims(handler).await,
            Hook::UpdateMachine => run.update(handler).await,
            _ => {}
        }
    }
    Ok(run.report)
}

/// The handlers of in-place hooks, or the one that was asked for.
fn chosen(handlers: &[ExtensionHandler], options: &Options) -> Result<Vec<Handler>, CheckError> {
    let chosen: Vec<Handler> = handlers
        .iter()
        .filter(|handler| options.handler.as_ref().is_none_or(|name| *name == handler.name))
        .filter_map(callable)
        .collect();
    match &options.handler {
        Some(name) if chosen.is_empty() => Err(CheckError::NoSuchHandler(name.clone())),
        _ => Ok(chosen),
    }
}

fn callable(handler: &ExtensionHandler) -> Option<Handler> {
    let hook = Hook::find(&handler.request_hook.api_version, &handler.request_hook.hook)?;
    let name = HandlerName::new(handler.name.as_str()).ok()?;
    let seconds = handler.timeout_seconds.filter(|seconds| *seconds > 0).unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let timeout = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    Some(Handler { name: name.to_string(), hook, path: hook.path(Some(&name)), timeout })
}

impl Run<'_> {
    fn note(&mut self, rule: &'static Rule, handler: Option<&Handler>, judgement: Judgement) {
        let outcome = match judgement {
            Ok(()) => Outcome::Kept,
            Err(Verdict::Warned(what)) => Outcome::Warned(what),
            Err(Verdict::Broken(what)) => Outcome::Broken(what),
            Err(Verdict::Skipped(what)) => Outcome::Skipped(what),
        };
        self.report.findings.push(Finding { rule, handler: handler.map(|handler| handler.name.clone()), outcome });
    }

    /// Calls a handler, and demands a hook's response.
    async fn ask(&self, handler: &Handler, request: &Value) -> Result<Value, Verdict> {
        let answer = self.target.call(&handler.path, request.to_string(), handler.timeout, Manner::Http1).await?;
        response(&answer)
    }

    /// Whether the extension is still there.
    async fn still_answers(&self) -> Judgement {
        let path = Hook::Discovery.path(None);
        let answer = self.target.call(&path, "{}", DISCOVERY_TIME, Manner::Http1).await;
        match answer.map_err(Verdict::from).and_then(|answer| response(&answer)) {
            Ok(_) => Ok(()),
            Err(Verdict::Broken(what) | Verdict::Warned(what) | Verdict::Skipped(what)) => {
                Err(broken(format!("after that, Discovery does not answer any more: {what}")))
            }
        }
    }
}

/// The response of a hook: HTTP 200, a JSON object, and a status that is one of the two.
fn response(answer: &Answer) -> Result<Value, Verdict> {
    if answer.status != 200 {
        return Err(broken(format!("the answer has the HTTP status {}, not 200", answer.status)));
    }
    // Go reads the first value of a body and ignores what follows.
    let first = serde_json::Deserializer::from_slice(&answer.body).into_iter::<Value>().next();
    let value = match first {
        Some(Ok(value @ Value::Object(_))) => value,
        Some(Ok(_)) => return Err(broken("the answer is no JSON object")),
        Some(Err(error)) => return Err(broken(format!("the answer is no JSON: {error}"))),
        None => return Err(broken("the answer has no body")),
    };
    match value["status"].as_str() {
        Some("Success" | "Failure") => Ok(value),
        Some(other) => Err(broken(format!("the status is {other:?}, neither Success nor Failure"))),
        None => Err(broken("the answer has no status")),
    }
}

fn is_success(response: &Value) -> bool {
    response["status"] == "Success"
}

fn message(response: &Value) -> &str {
    response["message"].as_str().unwrap_or_default()
}
