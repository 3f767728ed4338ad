//! What a Machine says of its host and its bootstrap configuration.

use refit_api::conditions::dynamic;
use refit_api::conditions::machine::{BOOTSTRAP, INFRASTRUCTURE, bootstrap_data_secret_provided};
use refit_api::conditions::{NewCondition, Referenced};
use refit_api::vocabulary::condition_types as types;
use serde_json::Value;

use crate::machine::draft::Draft;
use crate::machine::infrastructure::is_provisioned;
use crate::machine::observed::External;

pub(super) fn bootstrap(draft: &Draft<'_>) -> NewCondition {
    let Some(reference) = &draft.machine.spec.bootstrap.config_ref else { return bootstrap_data_secret_provided() };
    let is_created = draft.machine.status.initialization.bootstrap_data_secret_created == Some(true);
    match &draft.seen.bootstrap {
        External::Found { object, .. } => shown(&BOOTSTRAP, object, &reference.kind, is_created),
        External::Unreadable { .. } | External::NotReferenced => BOOTSTRAP.unreadable(),
        External::Missing if draft.seen.is_deleting() && is_created => BOOTSTRAP.gone(&reference.kind),
        External::Missing => BOOTSTRAP.missing(&reference.kind),
    }
}

pub(super) fn infrastructure(draft: &Draft<'_>) -> NewCondition {
    let kind = &draft.machine.spec.infrastructure_ref.kind;
    match (&draft.seen.infrastructure, is_provisioned(draft), draft.seen.is_deleting()) {
        (External::Found { object, .. }, is_provisioned, _) => shown(&INFRASTRUCTURE, object, kind, is_provisioned),
        (External::Unreadable { .. } | External::NotReferenced, _, _) => INFRASTRUCTURE.unreadable(),
        (External::Missing, true, true) => INFRASTRUCTURE.gone(kind),
        (External::Missing, true, false) => INFRASTRUCTURE.gone_too_early(kind),
        (External::Missing, false, _) => INFRASTRUCTURE.missing(kind),
    }
}

fn shown(referenced: &Referenced, object: &Value, kind: &str, flag: bool) -> NewCondition {
    match dynamic::read(object, types::READY) {
        Ok(condition) => referenced.shown(condition.as_ref(), kind, flag),
        Err(error) => referenced.invalid(&error),
    }
}
