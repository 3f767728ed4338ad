//! MachineDrainRules: what users say about the Pods of their Machines.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use refit_api::selector::Selector;
use serde::Deserialize;
use serde_json::Value;

use super::{DrainError, DrainView};

type Labels = BTreeMap<String, String>;

/// A rule for the Pods of one Machine.
#[derive(Debug)]
pub struct Rule {
    name: String,
    pub behavior: Behavior,
    /// When its Pods go, where they are evicted: the lowest first.
    pub order: i32,
    /// Of the Machine and of its Cluster; one of the pairs must match. Without any it is about all.
    machines: Vec<(Selector, Selector)>,
    /// Of the Pod and of its namespace; the same.
    pods: Vec<(Selector, Selector)>,
}

/// What a rule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Behavior {
    Drain,
    Skip,
    WaitCompleted,
}

#[derive(Deserialize)]
struct Spec {
    drain: Config,
    #[serde(default)]
    machines: Vec<MachineSelector>,
    #[serde(default)]
    pods: Vec<PodSelector>,
}

#[derive(Deserialize)]
struct Config {
    behavior: Behavior,
    #[serde(default)]
    order: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MachineSelector {
    selector: Option<LabelSelector>,
    cluster_selector: Option<LabelSelector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSelector {
    selector: Option<LabelSelector>,
    namespace_selector: Option<LabelSelector>,
}

impl Rule {
    /// The rules that are about the Machine, by name. One that cannot be read is an error, whatever it is about.
    pub fn of_machine(view: &DrainView<'_>) -> Result<Vec<Self>, DrainError> {
        let mut rules = view.rules.iter().map(Self::read).collect::<Result<Vec<_>, _>>()?;
        let labels = |of: &Option<Labels>| of.clone().unwrap_or_default();
        let (machine, cluster) = (labels(&view.machine.metadata.labels), labels(&view.cluster.metadata.labels));
        rules.retain(|rule| matches(&rule.machines, &machine, &cluster));
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rules)
    }

    pub fn is_about_pod(&self, pod: &Labels, namespace: &Labels) -> bool {
        matches(&self.pods, pod, namespace)
    }

    fn read(object: &Value) -> Result<Self, DrainError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let spec = Spec::deserialize(&object["spec"])
            .map_err(|error| DrainError::Rule { name: name.clone(), why: error.to_string() })?;
        let machines = spec.machines.iter().map(|one| {
            let own = selector(&name, "spec.machines.selector", one.selector.as_ref())?;
            Ok((own, selector(&name, "spec.machines.clusterSelector", one.cluster_selector.as_ref())?))
        });
        let pods = spec.pods.iter().map(|one| {
            let own = selector(&name, "spec.pods.selector", one.selector.as_ref())?;
            Ok((own, selector(&name, "spec.pods.namespaceSelector", one.namespace_selector.as_ref())?))
        });
        Ok(Self {
            machines: machines.collect::<Result<_, _>>()?,
            pods: pods.collect::<Result<_, _>>()?,
            behavior: spec.drain.behavior,
            order: spec.drain.order.unwrap_or(0),
            name,
        })
    }
}

/// A selector that is left out selects everything here.
fn selector(rule: &str, field: &'static str, value: Option<&LabelSelector>) -> Result<Selector, DrainError> {
    let Some(value) = value else { return Ok(Selector::EVERYTHING) };
    let error = |source| DrainError::Selector { name: rule.to_owned(), field, source };
    Selector::from_field(Some(value)).map_err(error)
}

fn matches(pairs: &[(Selector, Selector)], own: &Labels, around: &Labels) -> bool {
    pairs.is_empty() || pairs.iter().any(|(first, second)| first.matches(own) && second.matches(around))
}
