//! The rules of Discovery.

use refit_api::hooks::{DiscoveryResponse, ExtensionHandler, FailurePolicy, Hook, handler_problems};

use super::{
    CheckError, DISCOVERY_TIME, Judgement, Manner, Run, Verdict, broken, is_success, message, response, rules,
};

impl Run<'_> {
    /// The handlers, if they can be called at all.
    pub(super) async fn discovery(&mut self) -> Result<Option<Vec<ExtensionHandler>>, CheckError> {
        let path = Hook::Discovery.path(None);
        let call = || self.target.call(&path, "{}", DISCOVERY_TIME, Manner::Http1);
        let first = call().await.map_err(CheckError::Unreachable)?;
        let discovered = response(&first).and_then(|value| match is_success(&value) {
            true => serde_json::from_value::<DiscoveryResponse>(value).map_err(|error| broken(error.to_string())),
            false => Err(broken(format!("the answer is a failure: {}", message(&value)))),
        });
        let handlers = match discovered {
            Ok(discovered) => discovered.handlers().to_vec(),
            Err(verdict) => {
                self.note(rules::DISCOVERY_ANSWERS, None, Err(verdict));
                return Ok(None);
            }
        };
        let again = call().await;
        self.note(rules::DISCOVERY_ANSWERS, None, Ok(()));
        self.note(rules::DISCOVERY_VALID, None, valid(&handlers));
        let same = again.map_err(Verdict::from).and_then(|again| match again.body == first.body {
            true => sorted(&handlers),
            false => Err(broken("two answers, one after the other, differ")),
        });
        self.note(rules::DISCOVERY_STABLE, None, same);
        self.note(rules::UPDATE_NEVER_IGNORED, None, never_ignored(&handlers));
        self.note(rules::HOOKS_COMPLETE, None, complete(&handlers));
        Ok(Some(handlers))
    }
}

fn valid(handlers: &[ExtensionHandler]) -> Judgement {
    if handlers.is_empty() {
        return Err(broken("there is no handler"));
    }
    let problems: Vec<String> = handler_problems(handlers).iter().map(ToString::to_string).collect();
    if problems.is_empty() { Ok(()) } else { Err(broken(problems.join("; "))) }
}

fn sorted(handlers: &[ExtensionHandler]) -> Judgement {
    match handlers.is_sorted_by(|a, b| a.name <= b.name) {
        true => Ok(()),
        false => Err(Verdict::Warned(
            "the handlers are not sorted by name; another replica may list them in another order".to_owned(),
        )),
    }
}

fn never_ignored(handlers: &[ExtensionHandler]) -> Judgement {
    let ignores = |handler: &&ExtensionHandler| {
        handler.request_hook.hook == Hook::UpdateMachine.name() && handler.failure_policy == Some(FailurePolicy::Ignore)
    };
    match handlers.iter().find(ignores) {
        Some(handler) => Err(broken(format!("handler {} has the failure policy Ignore", handler.name))),
        None => Ok(()),
    }
}

fn complete(handlers: &[ExtensionHandler]) -> Judgement {
    let count = |hook: &Hook| handlers.iter().filter(|handler| handler.request_hook.hook == hook.name()).count();
    let hooks = [Hook::CanUpdateMachine, Hook::CanUpdateMachineSet, Hook::UpdateMachine];
    let wrong: Vec<String> = hooks
        .iter()
        .filter(|hook| count(hook) != 1)
        .map(|hook| format!("{hook} has {} handlers", count(hook)))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(Verdict::Warned(wrong.join(", "))) }
}
