//! The control plane of a Cluster, and whether it has served its API once.

use refit_api::conditions::is_true;
use refit_api::contract::{ContractField, ContractVersion, FieldTypeError, get_bool};
use refit_api::vocabulary::{condition_types as types, events};
use serde_json::Value;

use super::external::{is_going, take_over};
use super::infrastructure::{endpoint, take_endpoint};
use super::{Draft, MISSING_RETRY, Problem};
use crate::machine::External;

pub(super) fn reconcile(draft: &mut Draft<'_>) {
    let Some(reference) = draft.cluster.spec.control_plane_ref.clone() else {
        return without_object(draft);
    };
    let kind = reference.kind;
    match &draft.seen.control_plane {
        External::Found { object, contract } => {
            draft.effects.extend(take_over(&draft.seen.cluster, object));
            if !is_going(object)
                && let Err(source) = read(draft, object, *contract)
            {
                draft.problems.push(Problem::Contract { kind, source });
            }
        }
        External::Missing if draft.is_deleting() => {}
        External::Missing if is_initialized(draft) => draft.problems.push(Problem::Gone { kind }),
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

pub(super) fn is_initialized(draft: &Draft<'_>) -> bool {
    draft.cluster.status.initialization.control_plane_initialized == Some(true)
}

/// A control plane that nobody manages here is there once it has a Machine with a Node, as upstream says. So it is when
/// its API has answered: workers may join a control plane that is run elsewhere.
fn without_object(draft: &mut Draft<'_>) {
    let was_said = is_true(&draft.seen.cluster.status.conditions, types::CONTROL_PLANE_INITIALIZED);
    let has_answered = draft.seen.connection.last_probe_success.is_some();
    if draft.seen.has_control_plane_node() || has_answered || was_said {
        initialize(draft);
    }
}

fn read(draft: &mut Draft<'_>, object: &Value, contract: ContractVersion) -> Result<(), FieldTypeError> {
    if let Some(endpoint) = endpoint(object, ContractField::ControlPlaneEndpoint, contract)? {
        take_endpoint(draft, endpoint);
    }
    if get_bool(object, ContractField::ControlPlaneInitialized.path(contract))? == Some(true) {
        initialize(draft);
    } else if !is_initialized(draft) {
        draft.wait("waiting for the control plane to be initialized".to_owned());
    }
    Ok(())
}

fn initialize(draft: &mut Draft<'_>) {
    if !is_initialized(draft) {
        let message = format!("Cluster {} ControlPlaneInitialized is now True", draft.seen.name());
        draft.tell(events::CONTROL_PLANE_INITIALIZED, message);
    }
    draft.cluster.status.initialization.control_plane_initialized = Some(true);
}
