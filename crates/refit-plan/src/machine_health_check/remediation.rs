//! What is done about one Machine: what its conditions say, and who is asked to repair it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use refit_api::cluster::{Machine, MachineHealthCheckRemediationTemplateReference};
use refit_api::conditions::machine::health;
use refit_api::conditions::{self, NewCondition, get, is_true};
use refit_api::contract::kind_from_template;
use refit_api::vocabulary::{annotations, condition_types as types, events, labels, managers, reasons};
use serde_json::{Map, Value, json};

use super::observed::{MachineSeen, Observed, RequestSeen, TemplateSeen};
use super::problem::Problem;
use super::verdict::Verdict;
use crate::effect::{Apply, Delete, Effect, Event, Target};
use crate::merge::OwnWrites;

/// What is to be done about all Machines.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// What is said of the Machines.
    words: Vec<Effect>,
    /// What is asked of others, and taken back.
    requests: Vec<Effect>,
    /// What was asked before and refused. It comes last, so that it is in nobody's way if it is refused again.
    retries: Vec<Effect>,
    pub problems: Vec<Problem>,
}

impl Actions {
    /// All effects in their order.
    pub fn in_order(&mut self) -> impl Iterator<Item = Effect> {
        let parts = [&mut self.words, &mut self.requests, &mut self.retries].map(std::mem::take);
        parts.into_iter().flatten()
    }

    /// Adds what is to be done about one Machine. `is_allowed`: whether unhealthy ones may be replaced.
    pub fn add(&mut self, observed: &Observed, seen: &MachineSeen, verdict: &Verdict, is_allowed: bool) {
        let mut machine = seen.machine.clone();
        match verdict {
            Verdict::Healthy => {
                set(observed, &mut machine, health::healthy());
                self.requests.extend(withdraw_request(observed, seen).filter(|_| is_allowed));
            }
            Verdict::Unhealthy(condition) => {
                set(observed, &mut machine, condition.clone());
                match &observed.check.spec.remediation.template_ref {
                    _ if !is_allowed => {}
                    Some(template) => self.ask_others(observed, seen, template, &mut machine),
                    None => ask_owner(observed, &mut machine),
                }
            }
            Verdict::Undecided { .. } | Verdict::Exempt { .. } => return,
        }
        let is_news = machine != seen.machine;
        self.words.extend(OwnWrites::of(&seen.machine, &machine).in_order().map(Effect::Patch));
        if is_news && is_allowed && verdict.is_unhealthy() {
            self.words.push(Effect::Emit(marked(observed, seen)));
        }
    }

    /// Asks somebody outside of Cluster API to repair the Machine, unless that was asked already.
    fn ask_others(
        &mut self,
        observed: &Observed,
        seen: &MachineSeen,
        reference: &MachineHealthCheckRemediationTemplateReference,
        machine: &mut Machine,
    ) {
        let template = match (&seen.request, &observed.template) {
            (RequestSeen::Found(_), _) => return set_waiting(observed, machine),
            (_, TemplateSeen::Found(template)) => template,
            (_, TemplateSeen::Unusable { why }) => {
                self.problems.push(Problem::Template { name: reference.name.clone(), why: why.clone() });
                let namespace = observed.check.metadata.namespace.as_deref().unwrap_or_default();
                let words = health::remediation_template_not_found(&reference.kind, namespace, &reference.name);
                return set(observed, machine, words);
            }
            (_, TemplateSeen::NotReferenced) => {
                let why = "it was not looked for".to_owned();
                return self.problems.push(Problem::Template { name: reference.name.clone(), why });
            }
        };
        let request = Effect::Apply(request(seen, reference, template));
        if let RequestSeen::Refused { why } = &seen.request {
            self.problems.push(Problem::Request { machine: seen.name().to_owned(), why: why.clone() });
            self.retries.push(request);
            set(observed, machine, health::remediation_request_failed());
        } else {
            self.requests.push(request);
            set_waiting(observed, machine);
        }
    }
}

/// Says that whoever was asked is waited for. What they said themselves stays.
fn set_waiting(observed: &Observed, machine: &mut Machine) {
    const BEFORE: [&str; 2] = [reasons::REMEDIATION_TEMPLATE_NOT_FOUND, reasons::REMEDIATION_REQUEST_CREATION_FAILED];
    let said = get(&machine.status.conditions, types::EXTERNALLY_REMEDIATED);
    if said.is_none_or(|said| BEFORE.contains(&said.reason.as_str())) {
        set(observed, machine, health::waiting_for_external_remediation());
    }
}

/// Asks the owner to replace the Machine, unless it was asked already. An owner that is done is asked again.
fn ask_owner(observed: &Observed, machine: &mut Machine) {
    let asked = get(&machine.status.conditions, types::OWNER_REMEDIATED).is_some();
    let is_over = is_true(&machine.status.conditions, types::OWNER_REMEDIATED);
    if machine.metadata.deletion_timestamp.is_none() && (!asked || is_over) {
        set(observed, machine, health::waiting_for_remediation());
    }
}

/// Takes back the request for a Machine that is healthy again.
fn withdraw_request(observed: &Observed, seen: &MachineSeen) -> Option<Effect> {
    observed.check.spec.remediation.template_ref.as_ref()?;
    let RequestSeen::Found(request) = &seen.request else { return None };
    let is_going = request.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    (!is_going).then(|| Effect::Delete(Delete::at_any_version(Target::of_value(request))))
}

/// The request for one Machine, from the template. It has the name of the Machine, so there is only ever one.
fn request(seen: &MachineSeen, reference: &MachineHealthCheckRemediationTemplateReference, template: &Value) -> Apply {
    let metadata = &seen.machine.metadata;
    let words = |kind: &str| {
        let found = template.pointer(&format!("/spec/template/metadata/{kind}")).and_then(Value::as_object);
        found.cloned().unwrap_or_default()
    };
    let group = reference.api_version.split('/').next().unwrap_or_default();
    let mut own_labels: Map<String, Value> = words("labels");
    own_labels.insert(labels::CLUSTER_NAME.to_owned(), json!(seen.machine.spec.cluster_name));
    let mut own_annotations = words("annotations");
    own_annotations.insert(annotations::CLONED_FROM_NAME.to_owned(), json!(reference.name));
    own_annotations
        .insert(annotations::CLONED_FROM_GROUP_KIND.to_owned(), json!(format!("{}.{group}", reference.kind)));
    let owners: Vec<OwnerReference> = seen.machine.owner_ref(&()).into_iter().collect();
    let kind = kind_from_template(&reference.kind);
    let mut intent = json!({
        "apiVersion": reference.api_version,
        "kind": kind,
        "metadata": {
            "name": metadata.name, "namespace": metadata.namespace, "labels": own_labels,
            "annotations": own_annotations, "ownerReferences": owners,
        },
    });
    if let Some(spec) = template.pointer("/spec/template/spec") {
        intent["spec"] = spec.clone();
    }
    Apply { target: Target::of_value(&intent), manager: managers::PATCHES, intent }
}

fn marked(observed: &Observed, seen: &MachineSeen) -> Event {
    let key = |namespace: &Option<String>, name: &Option<String>| {
        format!("{}/{}", namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
    };
    let (machine, check) = (&seen.machine.metadata, &observed.check.metadata);
    let message = format!(
        "Machine {} has been marked as unhealthy by {}",
        key(&machine.namespace, &machine.name),
        key(&check.namespace, &check.name)
    );
    Event::normal(Target::of(&seen.machine), events::MACHINE_MARKED_UNHEALTHY, message)
}

fn set(observed: &Observed, machine: &mut Machine, condition: NewCondition) {
    let generation = machine.metadata.generation;
    conditions::set(&mut machine.status.conditions, condition, generation, observed.now);
}
