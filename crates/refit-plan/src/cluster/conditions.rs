//! The conditions of a Cluster.

use jiff::SignedDuration;
use refit_api::cluster::ConditionPolarity;
use refit_api::conditions::cluster::{self as words, CONTROL_PLANE, INFRASTRUCTURE};
use refit_api::conditions::{self, NewCondition, PausedBy, Referenced, Source, dynamic, get, is_true};
use refit_api::vocabulary::condition_types as types;
use serde_json::Value;

use super::control_plane::is_initialized;
use super::infrastructure::is_provisioned;
use super::{Draft, Worker};
use crate::machine::External;

/// For how long a workload cluster may be silent before it is told, as upstream.
const PROBE_GRACE: SignedDuration = SignedDuration::from_secs(50);
/// How many probes have to fail before a cluster that never answered is told to be out of reach, as upstream.
const PROBE_FAILURES: u32 = 5;

/// Says that the Cluster is left alone, and no more.
pub(super) fn set_paused(draft: &mut Draft<'_>, by: PausedBy) {
    set(draft, words::paused("Cluster", by));
}

/// Sets all conditions, in the order in which they build on each other.
pub(super) fn reconcile(draft: &mut Draft<'_>, deleting: Option<Option<NewCondition>>) {
    set(draft, words::not_paused());
    if let Some(condition) = probe(draft) {
        set(draft, condition);
    }
    set(draft, infrastructure(draft));
    set(draft, control_plane(draft));
    if !is_true(&draft.cluster.status.conditions, types::CONTROL_PLANE_INITIALIZED) {
        set(draft, initialized(draft));
    }
    set(draft, workers(draft));
    let is_deleting = deleting.is_some();
    match deleting {
        Some(Some(condition)) => set(draft, condition),
        Some(None) => set(draft, words::deleting::internal_error()),
        None => set(draft, words::not_deleting()),
    }
    set(draft, available(draft, is_deleting));
    if draft.problems.is_empty() {
        draft.cluster.status.observed_generation = draft.cluster.metadata.generation.filter(|number| *number > 0);
    }
}

fn set(draft: &mut Draft<'_>, condition: NewCondition) {
    let generation = draft.cluster.metadata.generation;
    conditions::set(&mut draft.cluster.status.conditions, condition, generation, draft.seen.now);
}

fn probe(draft: &Draft<'_>) -> Option<NewCondition> {
    let connection = &draft.seen.connection;
    match connection.last_probe_success {
        None if connection.consecutive_failures < PROBE_FAILURES => {
            let is_said = get(&draft.cluster.status.conditions, types::REMOTE_CONNECTION_PROBE).is_some();
            (!is_said).then(words::not_connected_yet)
        }
        Some(success) if draft.seen.now.duration_since(success) <= PROBE_GRACE => Some(words::probe_succeeded()),
        last_success => Some(words::probe_failed(last_success)),
    }
}

fn infrastructure(draft: &Draft<'_>) -> NewCondition {
    let Some(reference) = &draft.cluster.spec.infrastructure_ref else { return INFRASTRUCTURE.fine() };
    referenced(
        draft,
        &INFRASTRUCTURE,
        (&draft.seen.infrastructure, types::READY),
        &reference.kind,
        is_provisioned(draft),
    )
}

/// Without a control plane object, what is told of `ControlPlaneInitialized` is all that is known.
fn control_plane(draft: &Draft<'_>) -> NewCondition {
    let is_initialized = is_initialized(draft);
    let Some(reference) = &draft.cluster.spec.control_plane_ref else {
        return if is_initialized { CONTROL_PLANE.fine() } else { CONTROL_PLANE.missing("control plane") };
    };
    let object = (&draft.seen.control_plane, types::AVAILABLE);
    referenced(draft, &CONTROL_PLANE, object, &reference.kind, is_initialized)
}

fn referenced(
    draft: &Draft<'_>,
    referenced: &Referenced,
    (object, type_): (&External, &str),
    kind: &str,
    flag: bool,
) -> NewCondition {
    match (object, flag, draft.is_deleting()) {
        (External::Found { object, .. }, flag, _) => shown(referenced, object, type_, kind, flag),
        (External::Unreadable { .. } | External::NotReferenced, _, _) => referenced.unreadable(),
        (External::Missing, true, true) => referenced.gone(kind),
        (External::Missing, true, false) => referenced.gone_too_early(kind),
        (External::Missing, false, _) => referenced.missing(kind),
    }
}

fn shown(referenced: &Referenced, object: &Value, type_: &str, kind: &str, flag: bool) -> NewCondition {
    match dynamic::read(object, type_) {
        Ok(condition) => referenced.shown(condition.as_ref(), kind, flag),
        Err(error) => referenced.invalid(&error),
    }
}

fn initialized(draft: &Draft<'_>) -> NewCondition {
    let reference = draft.cluster.spec.control_plane_ref.as_ref();
    match (is_initialized(draft), reference, &draft.seen.control_plane) {
        (true, _, _) => words::control_plane_initialized(),
        (false, None, _) => words::waiting_for_first_control_plane_node(),
        (false, Some(reference), External::Missing) => words::control_plane_missing(&reference.kind),
        (false, Some(_), External::Found { .. }) => words::control_plane_not_initialized(),
        (false, Some(_), External::Unreadable { .. } | External::NotReferenced) => {
            words::internal_error(types::CONTROL_PLANE_INITIALIZED)
        }
    }
}

fn workers<'a>(draft: &Draft<'a>) -> NewCondition {
    let available = |worker: &'a Worker| get(&worker.conditions, types::AVAILABLE);
    let source = |worker: &'a Worker| Source::new("MachineDeployment", &worker.metadata, available(worker));
    let sources: Vec<Source<'_>> = draft.seen.workers.iter().map(source).collect();
    words::workers_available(&sources)
}

fn available(draft: &Draft<'_>, is_deleting: bool) -> NewCondition {
    let gates = draft.cluster.spec.availability_gates.iter();
    let gates: Vec<(&str, ConditionPolarity)> = gates
        .map(|gate| (gate.condition_type.as_str(), gate.polarity.unwrap_or(ConditionPolarity::Positive)))
        .collect();
    words::available(&draft.cluster.status.conditions, &gates, is_deleting)
}
