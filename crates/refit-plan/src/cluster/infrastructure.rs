//! The infrastructure of a Cluster, and what the Cluster takes over from it.

use refit_api::cluster::{APIEndpoint, FailureDomain};
use refit_api::contract::{
    ContractField, ContractVersion, FieldTypeError, get_bool, get_i64, get_list, get_object, get_str,
};
use refit_api::vocabulary::events;
use serde_json::Value;

use super::external::{is_going, take_over};
use super::{Draft, MISSING_RETRY, Problem};
use crate::machine::External;

pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let Some(reference) = draft.cluster.spec.infrastructure_ref.clone() else {
        if !draft.is_deleting() && draft.cluster.spec.topology.is_none() {
            draft.cluster.status.initialization.infrastructure_provisioned = Some(true);
        }
        return;
    };
    let kind = reference.kind;
    match &draft.seen.infrastructure {
        External::Found { object, contract } => {
            draft.effects.extend(take_over(&draft.seen.cluster, object));
            if !is_going(object)
                && let Err(source) = read(draft, object, *contract)
            {
                draft.problems.push(Problem::Contract { kind, source });
            }
        }
        External::Missing if draft.is_deleting() => {}
        External::Missing if is_provisioned(draft) => draft.problems.push(Problem::Gone { kind }),
        External::Missing => {
            draft.wait(format!("waiting for {kind} {} to exist", reference.name));
            draft.plan.requeue(MISSING_RETRY);
        }
        External::Unreadable { why } => draft.problems.push(Problem::Unreadable { kind, why: why.clone() }),
        External::NotReferenced => {
            draft.problems.push(Problem::Unreadable { kind, why: "it was not looked for".to_owned() });
        }
    }
}

pub(super) fn is_provisioned(draft: &Draft<'_>) -> bool {
    draft.cluster.status.initialization.infrastructure_provisioned == Some(true)
}

fn read(draft: &mut Draft<'_>, object: &Value, contract: ContractVersion) -> Result<(), FieldTypeError> {
    let provisioned = get_bool(object, ContractField::InfraClusterProvisioned.path(contract))? == Some(true);
    if !provisioned && !is_provisioned(draft) {
        draft.wait("waiting for the infrastructure to be provisioned".to_owned());
        return Ok(());
    }
    if let Some(endpoint) = endpoint(object, ContractField::InfraClusterEndpoint, contract)? {
        take_endpoint(draft, endpoint);
    }
    if let Some(domains) = failure_domains(object, contract)? {
        draft.cluster.status.failure_domains = domains;
    }
    if !is_provisioned(draft) {
        let message = format!("Cluster {} InfrastructureProvisioned is now True", draft.seen.name());
        draft.tell(events::INFRASTRUCTURE_READY, message);
    }
    draft.cluster.status.initialization.infrastructure_provisioned = Some(true);
    Ok(())
}

/// An endpoint that is there is never replaced.
pub(super) fn take_endpoint(draft: &mut Draft<'_>, endpoint: APIEndpoint) {
    let known = &mut draft.cluster.spec.control_plane_endpoint;
    if known.host.is_none() || known.port.is_none() {
        *known = endpoint;
    }
}

/// The endpoint, if both parts of it are there.
pub(super) fn endpoint(
    object: &Value,
    field: ContractField,
    contract: ContractVersion,
) -> Result<Option<APIEndpoint>, FieldTypeError> {
    let path = field.path(contract);
    if get_object(object, path)?.is_none() {
        return Ok(None);
    }
    let host = get_str(object, &[path, &["host"]].concat())?.filter(|host| !host.is_empty());
    let port = get_i64(object, &[path, &["port"]].concat())?.and_then(|port| i32::try_from(port).ok());
    let (Some(host), Some(port @ 1..)) = (host, port) else { return Ok(None) };
    Ok(Some(APIEndpoint { host: Some(host.to_owned()), port: Some(port) }))
}

/// Those of an older contract are a map by name, and are not taken over.
fn failure_domains(object: &Value, contract: ContractVersion) -> Result<Option<Vec<FailureDomain>>, FieldTypeError> {
    if contract == ContractVersion::V1Beta1 {
        return Ok(None);
    }
    let Some(list) = get_list(object, ContractField::InfraClusterFailureDomains.path(contract))? else {
        return Ok(Some(Vec::new()));
    };
    Ok(Some(list.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()))
}
