//! The host of a Machine, and what the Machine takes over from it.

use refit_api::cluster::MachineAddress;
use refit_api::contract::{ContractField, ContractVersion, FieldTypeError, get_bool, get_list, get_str};
use serde_json::Value;

use super::bootstrap::MISSING_RETRY;
use super::draft::Draft;
use super::external;
use super::observed::{External, is_deleting};
use super::problem::Problem;
use crate::waiting::WaitingOn;

/// Takes over the host, and what it says of itself once it is provisioned.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let kind = draft.machine.spec.infrastructure_ref.kind.clone();
    match &draft.seen.infrastructure {
        External::Found { object, contract } => {
            external::take_over(draft, &kind, object);
            if !is_deleting(object)
                && let Err(source) = read(draft, object, *contract)
            {
                draft.problems.push(Problem::Contract { kind, source });
            }
        }
        External::Missing if draft.seen.is_deleting() => {}
        External::Missing if is_provisioned(draft) => draft.problems.push(Problem::InfrastructureGone { kind }),
        External::Missing => {
            let name = &draft.machine.spec.infrastructure_ref.name;
            draft.wait(format!("waiting for {kind} {name} to exist"));
            draft.requeue_in(MISSING_RETRY);
        }
        External::Unreadable { why } => draft.problems.push(Problem::Unreadable { kind, why: why.clone() }),
        External::NotReferenced => {
            draft.problems.push(Problem::Unreadable { kind, why: "it was not looked for".to_owned() });
        }
    }
}

pub(super) fn is_provisioned(draft: &Draft<'_>) -> bool {
    draft.machine.status.initialization.infrastructure_provisioned == Some(true)
}

fn read(draft: &mut Draft<'_>, object: &Value, contract: ContractVersion) -> Result<(), FieldTypeError> {
    let provisioned = get_bool(object, ContractField::InfraMachineProvisioned.path(contract))? == Some(true);
    let provider_id = text(object, ContractField::InfraMachineProviderId, contract)?.filter(|id| !id.is_empty());
    let Some(provider_id) = provider_id.filter(|_| provisioned || is_provisioned(draft)) else {
        let machines = vec![draft.name()];
        draft.waiting_on.push(WaitingOn::Provisioning { machines });
        return Ok(());
    };
    let addresses = addresses(object, contract)?;
    let spec_domain = text(object, ContractField::InfraMachineSpecFailureDomain, contract)?;
    let domain = text(object, ContractField::InfraMachineFailureDomain, contract)?;
    let machine = &mut draft.machine;
    machine.status.addresses = addresses.unwrap_or_else(|| machine.status.addresses.clone());
    machine.spec.failure_domain = spec_domain.or(machine.spec.failure_domain.take()).filter(|it| !it.is_empty());
    machine.status.failure_domain = domain.or(machine.status.failure_domain.take()).filter(|it| !it.is_empty());
    machine.spec.provider_id = Some(provider_id);
    machine.status.initialization.infrastructure_provisioned = Some(true);
    Ok(())
}

fn text(object: &Value, field: ContractField, contract: ContractVersion) -> Result<Option<String>, FieldTypeError> {
    Ok(get_str(object, field.path(contract))?.map(str::to_owned))
}

/// Addresses of a type that Cluster API does not know are left out: the API server would refuse the whole status.
fn addresses(object: &Value, contract: ContractVersion) -> Result<Option<Vec<MachineAddress>>, FieldTypeError> {
    let Some(list) = get_list(object, ContractField::InfraMachineAddresses.path(contract))? else { return Ok(None) };
    Ok(Some(list.iter().filter_map(|item| serde_json::from_value(item.clone()).ok()).collect()))
}
