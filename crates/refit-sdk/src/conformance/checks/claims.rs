//! The rules of CanUpdateMachine and CanUpdateMachineSet.

use std::collections::BTreeSet;

use futures::future::join_all;
use refit_api::hooks::{CanUpdateMachineResponse, Hook, Patch, RawObject};
use refit_plan::coverage::apply_patch;
use serde_json::{Map, Value, json};

use super::{Handler, Judgement, Run, Verdict, broken, is_success, message, rules};
use crate::conformance::Sample;

/// How many questions are asked at once.
const CALLERS: usize = 16;
/// The objects of a request, and the fields of a response that hold their patches.
const OF_MACHINE: [(&str, &str); 3] = [
    ("machine", "machinePatch"),
    ("infrastructureMachine", "infrastructureMachinePatch"),
    ("bootstrapConfig", "bootstrapConfigPatch"),
];
const OF_MACHINE_SET: [(&str, &str); 3] = [
    ("machineSet", "machineSetPatch"),
    ("infrastructureMachineTemplate", "infrastructureMachineTemplatePatch"),
    ("bootstrapConfigTemplate", "bootstrapConfigTemplatePatch"),
];

impl Run<'_> {
    pub(super) async fn claims(&mut self, handler: &Handler) {
        let sample = &self.options.sample;
        let request = sample.request(handler.hook);
        let answer = match self.ask(handler, &request).await {
            Ok(answer) => answer,
            Err(verdict) => return self.note(rules::CLAIMS_ANSWER, Some(handler), Err(verdict)),
        };
        self.note(rules::CLAIMS_ANSWER, Some(handler), succeeded(&answer, "the sample"));
        let judgement = self.deterministic(handler, &request, &answer).await;
        self.note(rules::CLAIMS_DETERMINISTIC, Some(handler), judgement);
        self.note(rules::PATCHES_APPLY, Some(handler), patched(handler.hook, &request, &answer).map(drop));
        self.note(rules::CLAIMS_LEAD_TO_DESIRED, Some(handler), leads_to_desired(handler.hook, &request, &answer));
        let judgement = self.nothing_to_change(handler, sample.settled()).await;
        self.note(rules::NOTHING_TO_CHANGE, Some(handler), judgement);
        let judgement = self.variant(handler, sample.clone().without_bootstrap(), &answer).await;
        self.note(rules::MISSING_BOOTSTRAP, Some(handler), judgement);
        let judgement = self.unknown_kinds(handler).await;
        self.note(rules::UNKNOWN_KINDS, Some(handler), judgement);
        let judgement = self.unknown_fields(handler, request.clone(), &answer).await;
        self.note(rules::UNKNOWN_FIELDS, Some(handler), judgement);
        let judgement = self.concurrent(handler, &request, &answer).await;
        self.note(rules::CLAIMS_CONCURRENT, Some(handler), judgement);
    }

    async fn deterministic(&self, handler: &Handler, request: &Value, answer: &Value) -> Judgement {
        for _ in 0..2 {
            same(&self.ask(handler, request).await?, answer)?;
        }
        Ok(())
    }

    async fn nothing_to_change(&self, handler: &Handler, settled: Sample) -> Judgement {
        let request = settled.request(handler.hook);
        let answer = self.ask(handler, &request).await?;
        for (before, after) in patched(handler.hook, &request, &answer)? {
            if before != after {
                return Err(broken(format!("a patch changes the {}", before.kind().unwrap_or("object"))));
            }
        }
        Ok(())
    }

    /// A sample that must be answered with success if the usual one is, and whose patches must apply.
    async fn variant(&self, handler: &Handler, sample: Sample, usual: &Value) -> Judgement {
        let request = sample.request(handler.hook);
        let answer = self.ask(handler, &request).await?;
        patched(handler.hook, &request, &answer)?;
        match (is_success(&answer), is_success(usual)) {
            (true, _) => Ok(()),
            (false, true) => Err(broken(format!("the answer is a failure: {}", message(&answer)))),
            (false, false) => succeeded(&answer, "this machine, as about the sample,"),
        }
    }

    async fn unknown_kinds(&self, handler: &Handler) -> Judgement {
        // Upstream's own test extension fails here; controllers can live with it.
        let sample = self.options.sample.clone().of_unknown_kinds();
        let request = sample.request(handler.hook);
        let answer = self.ask(handler, &request).await?;
        patched(handler.hook, &request, &answer)?;
        succeeded(&answer, "objects of unknown kinds")
    }

    async fn unknown_fields(&self, handler: &Handler, mut request: Value, answer: &Value) -> Judgement {
        request["unheardOf"] = json!({ "a": [1] });
        request["settings"]["unheard-of"] = json!("value");
        for side in ["current", "desired"] {
            for (name, _) in objects(handler.hook) {
                if let Some(object) = request[side].get_mut(name) {
                    object["metadata"]["creationTimestamp"] = Value::Null;
                    object["unheardOf"] = json!(true);
                }
            }
        }
        same(&self.ask(handler, &request).await?, answer)
    }

    async fn concurrent(&self, handler: &Handler, request: &Value, answer: &Value) -> Judgement {
        let answers = join_all((0..CALLERS).map(|_| self.ask(handler, request))).await;
        answers.into_iter().try_for_each(|one| same(&one?, answer))
    }
}

fn objects(hook: Hook) -> [(&'static str, &'static str); 3] {
    if hook == Hook::CanUpdateMachineSet { OF_MACHINE_SET } else { OF_MACHINE }
}

fn succeeded(answer: &Value, about: &str) -> Judgement {
    match is_success(answer) {
        true => Ok(()),
        false => Err(Verdict::Warned(format!("about {about} the answer is a failure: {}", message(answer)))),
    }
}

fn same(one: &Value, other: &Value) -> Judgement {
    if one == other { Ok(()) } else { Err(broken("the answer is another one than before")) }
}

/// Each object before and after its patch.
fn patched(hook: Hook, request: &Value, answer: &Value) -> Result<Vec<(RawObject, RawObject)>, Verdict> {
    let mut all = Vec::new();
    for (name, patch) in objects(hook) {
        let Some(patch) = defined(answer, patch)? else { continue };
        let Some(object) = request["current"].get(name) else {
            return Err(broken(format!("there is a patch for {name}, which was not sent")));
        };
        let before = RawObject::try_from(object.clone()).map_err(|error| Verdict::Skipped(error.to_string()))?;
        let applied = apply_patch(&patch, &before, subtree(hook));
        let after = applied.map_err(|problem| broken(format!("the patch for {name}: {problem}")))?;
        all.push((before, after));
    }
    Ok(all)
}

fn subtree(hook: Hook) -> &'static [&'static str] {
    if hook == Hook::CanUpdateMachineSet { &["spec", "template", "spec"] } else { &["spec"] }
}

/// The patch as controllers read it.
fn defined(answer: &Value, field: &str) -> Result<Option<Patch>, Verdict> {
    let alone = json!({ "status": "Success", "machinePatch": answer.get(field) });
    let decoded: CanUpdateMachineResponse =
        serde_json::from_value(alone).map_err(|error| broken(format!("{field} does not decode: {error}")))?;
    decoded.into_patches().map(|patches| patches.machine).map_err(|error| broken(error.to_string()))
}

fn leads_to_desired(hook: Hook, request: &Value, answer: &Value) -> Judgement {
    let Ok(patched) = patched(hook, request, answer) else {
        return Err(Verdict::Skipped("the patches do not apply".to_owned()));
    };
    for (before, after) in patched {
        let desired = objects(hook).iter().find_map(|(name, _)| {
            let is_same = request["current"].get(*name) == Some(before.as_value());
            is_same.then(|| request["desired"].get(*name)).flatten()
        });
        if let Some(path) = stray(Some(before.as_value()), desired, Some(after.as_value())) {
            let kind = before.kind().unwrap_or("object");
            return Err(broken(format!("{path} of the {kind} becomes neither what it is nor what it should be")));
        }
    }
    Ok(())
}

/// Where a patched object is neither what it was nor what it should be, as a path.
fn stray(before: Option<&Value>, desired: Option<&Value>, after: Option<&Value>) -> Option<String> {
    if after == before || (after == desired) {
        return None;
    }
    let empty = Map::new();
    let block = |value: Option<&'_ Value>| value.is_none_or(Value::is_object);
    let Some(Value::Object(after)) = after.filter(|_| block(before) && block(desired)) else {
        return Some(String::new());
    };
    let before = before.and_then(Value::as_object).unwrap_or(&empty);
    let desired = desired.and_then(Value::as_object).unwrap_or(&empty);
    let names: BTreeSet<&String> = before.keys().chain(desired.keys()).chain(after.keys()).collect();
    names.into_iter().find_map(|name| {
        let path = stray(before.get(name), desired.get(name), after.get(name))?;
        Some(if path.is_empty() { name.clone() } else { format!("{name}.{path}") })
    })
}
