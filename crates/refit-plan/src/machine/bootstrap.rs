//! The bootstrap configuration of a Machine, and the Secret that comes of it.

use jiff::SignedDuration;
use refit_api::contract::{ContractField, ContractVersion, FieldTypeError, get_bool, get_str};
use serde_json::Value;

use super::draft::Draft;
use super::external;
use super::observed::{External, is_deleting};
use super::problem::Problem;
use crate::waiting::WaitingOn;

/// After how long an object that was not there is looked for again.
pub(super) const MISSING_RETRY: SignedDuration = SignedDuration::from_secs(30);

/// Takes over the bootstrap configuration, and the name of its Secret once there is one.
pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let Some(reference) = draft.machine.spec.bootstrap.config_ref.clone() else { return };
    match &draft.seen.bootstrap {
        External::Found { object, contract } => {
            external::take_over(draft, &reference.kind, object);
            read(draft, &reference.kind, object, *contract);
        }
        External::Missing if draft.seen.is_deleting() => {}
        External::Missing => {
            draft.wait(format!("waiting for {} {} to exist", reference.kind, reference.name));
            draft.requeue_in(MISSING_RETRY);
        }
        External::Unreadable { why } => {
            draft.problems.push(Problem::Unreadable { kind: reference.kind, why: why.clone() });
        }
        External::NotReferenced => {
            let why = "it was not looked for".to_owned();
            draft.problems.push(Problem::Unreadable { kind: reference.kind, why });
        }
    }
}

fn read(draft: &mut Draft<'_>, kind: &str, object: &Value, contract: ContractVersion) {
    if draft.machine.spec.bootstrap.data_secret_name.is_some() {
        draft.machine.status.initialization.bootstrap_data_secret_created = Some(true);
        return;
    }
    if is_deleting(object) {
        return;
    }
    match data_secret_name(object, contract) {
        Ok(DataSecret::NotYet) => {
            let machines = vec![draft.name()];
            draft.waiting_on.push(WaitingOn::Provisioning { machines });
        }
        Ok(DataSecret::Created(Some(name))) => {
            draft.machine.spec.bootstrap.data_secret_name = Some(name.to_owned());
            draft.machine.status.initialization.bootstrap_data_secret_created = Some(true);
        }
        Ok(DataSecret::Created(None)) => draft.problems.push(Problem::NoDataSecretName { kind: kind.to_owned() }),
        Err(source) => draft.problems.push(Problem::Contract { kind: kind.to_owned(), source }),
    }
}

enum DataSecret<'a> {
    NotYet,
    Created(Option<&'a str>),
}

fn data_secret_name(object: &Value, contract: ContractVersion) -> Result<DataSecret<'_>, FieldTypeError> {
    if get_bool(object, ContractField::BootstrapDataSecretCreated.path(contract))? != Some(true) {
        return Ok(DataSecret::NotYet);
    }
    let name = get_str(object, ContractField::BootstrapDataSecretName.path(contract))?;
    Ok(DataSecret::Created(name.filter(|name| !name.is_empty())))
}
