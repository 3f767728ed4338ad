//! Reads from the cache what the decision about a MachineHealthCheck looks at.

use k8s_openapi::api::core::v1::Node;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineHealthCheck};
use refit_api::contract::kind_from_template;
use refit_api::selector::Selector;
use refit_api::vocabulary::labels;
use refit_plan::machine::{NodeSeen, update_limits};
use refit_plan::machine_health_check::{MachineSeen, Observed, RequestSeen, TemplateSeen};
use refit_plan::reading::Read;

use crate::cache::{BY_CLUSTER, ObjectKey, namespaced};
use crate::context::Context;
use crate::providers::ListedKind;
use crate::workload::Connected;

pub(super) async fn observe(context: &Context, check: &MachineHealthCheck, cluster: &Cluster) -> Observed {
    let namespace = check.metadata.namespace.as_deref().unwrap_or_default();
    let template = check.spec.remediation.template_ref.as_ref().map(|template| ContractVersionedObjectReference {
        api_group: template.api_version.split('/').next().unwrap_or_default().to_owned(),
        kind: template.kind.clone(),
        name: template.name.clone(),
    });
    let requests = match &template {
        Some(template) => context.cache.listed_kind(&request_kind(template)).await.ok(),
        None => None,
    };
    let workload = context.workloads.get(&ObjectKey::new(namespace, check.spec.cluster_name.clone()));
    let seen = |machine: &Machine| MachineSeen {
        node: node(machine, workload.connected.as_ref()),
        update_limits: update_limits(cluster, deployment(context, machine).as_ref(), None).unwrap_or_default(),
        request: request(machine, requests.as_ref()),
        machine: machine.clone(),
    };
    Observed {
        now: context.clock.now(),
        check: check.clone(),
        cluster: cluster.clone(),
        machines: selected(context, check).iter().map(|machine| seen(machine)).collect(),
        template: template_seen(context, namespace, template.as_ref()).await,
    }
}

/// The Machines that could be selected. A selector that makes no sense is told by the decision.
fn selected(context: &Context, check: &MachineHealthCheck) -> Vec<std::sync::Arc<Machine>> {
    let namespace = check.metadata.namespace.as_deref().unwrap_or_default();
    let Ok(selector) = Selector::from_field(Some(&check.spec.selector)) else { return Vec::new() };
    let mut machines = context.cache.machines.by(BY_CLUSTER, &namespaced(namespace, &check.spec.cluster_name));
    machines.retain(|machine| machine.metadata.labels.as_ref().is_some_and(|own| selector.matches(own)));
    machines
}

fn node(machine: &Machine, connected: Option<&Connected>) -> NodeSeen {
    let Some(reference) = &machine.status.node_ref else { return NodeSeen::NotLookedFor };
    let Some(connected) = connected else { return NodeSeen::NotConnected };
    let found = connected.nodes.get(&ObjectKey::new("", reference.name.clone()));
    found.map_or(NodeSeen::Missing, |node| NodeSeen::Found(Box::new(Node::clone(&node))))
}

fn deployment(context: &Context, machine: &Machine) -> Option<MachineDeployment> {
    let name = machine.metadata.labels.as_ref()?.get(labels::DEPLOYMENT_NAME)?;
    let key = ObjectKey::new(machine.metadata.namespace.clone().unwrap_or_default(), name.clone());
    context.cache.machine_deployments.get(&key).map(|found| MachineDeployment::clone(&found))
}

fn request_kind(template: &ContractVersionedObjectReference) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference { kind: kind_from_template(&template.kind).to_owned(), ..template.clone() }
}

/// The request of a Machine has its name.
fn request(machine: &Machine, requests: Option<&ListedKind>) -> RequestSeen {
    let (namespace, name) = (machine.metadata.namespace.as_deref(), machine.metadata.name.as_deref());
    let Some(requests) = requests else { return RequestSeen::Missing };
    match &*requests.get(namespace.unwrap_or_default(), name.unwrap_or_default()) {
        Read::Found(object) => RequestSeen::Found(object.clone()),
        Read::Missing | Read::Unreadable(_) => RequestSeen::Missing,
    }
}

async fn template_seen(
    context: &Context,
    namespace: &str,
    template: Option<&ContractVersionedObjectReference>,
) -> TemplateSeen {
    let Some(template) = template else { return TemplateSeen::NotReferenced };
    match context.read(namespace, template).await {
        Read::Found(object) => TemplateSeen::Found(object),
        Read::Missing => TemplateSeen::Unusable { why: format!("{} {} does not exist", template.kind, template.name) },
        Read::Unreadable(problem) => TemplateSeen::Unusable { why: problem.to_string() },
    }
}
