//! Whether a Machine is what it should be, and whether it may be made so in place.

use std::time::Duration;

use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, DELETE_MACHINE, REMEDIATE_MACHINE};
use serde_json::Value;

use super::desired::group_kind;
use super::machine::annotation_of;
use super::observed::{Observed, ObservedMachine};

/// How a Machine stands to what it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// In which ways it differs, in upstream's words.
    pub differences: Vec<String>,
    /// Why the differences cannot go away in place; nothing if that may be tried.
    pub ineligible: Option<Ineligible>,
}

/// Why a Machine is not updated in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ineligible {
    /// The user has said that it is to be replaced.
    ToBeReplaced(String),
    /// It is not known what it is. That is no reason to replace it.
    NotKnown(String),
}

impl Ineligible {
    pub fn words(&self) -> &str {
        match self {
            Self::ToBeReplaced(why) | Self::NotKnown(why) => why,
        }
    }
}

impl Standing {
    /// Labels, annotations, readiness gates, taints, timeouts and failure domain are not looked at: they change without
    /// an update, or never.
    pub fn of(observed: &Observed, machine: &ObservedMachine) -> Self {
        let replacing = [expiring_certificates(observed, machine), rollout_after(observed, machine)];
        let changed = [version(observed, machine), kubeadm_config(machine), infrastructure(observed, machine)];
        let told = replacing.iter().flatten().next().cloned().or_else(|| user_wish(machine));
        let differences = replacing.into_iter().chain(changed).flatten().collect();
        let unknown = || missing_object(machine).map(Ineligible::NotKnown);
        Self { differences, ineligible: told.map(Ineligible::ToBeReplaced).or_else(unknown) }
    }

    pub fn is_up_to_date(&self) -> bool {
        self.differences.is_empty()
    }
}

fn expiring_certificates(observed: &Observed, machine: &ObservedMachine) -> Option<String> {
    let days = observed.control_plane.spec.rollout.before.certificates_expiry_days.filter(|days| *days > 0)?;
    let expiry = machine.machine.status.certificates_expiry_date.as_ref()?.0;
    let notice = Duration::from_secs(u64::try_from(days).unwrap_or(0) * 24 * 60 * 60);
    let is_soon = observed.now.checked_add(notice).is_ok_and(|horizon| horizon > expiry);
    is_soon.then(|| "Certificates will expire soon".to_owned())
}

/// The time is compared with the Machine's creation, which no update in place changes.
fn rollout_after(observed: &Observed, machine: &ObservedMachine) -> Option<String> {
    let after = observed.control_plane.spec.rollout.after.as_ref()?.0;
    let created = machine.machine.metadata.creation_timestamp.as_ref()?.0;
    (created < after && after < observed.now).then(|| "KubeadmControlPlane spec.rolloutAfter expired".to_owned())
}

fn version(observed: &Observed, machine: &ObservedMachine) -> Option<String> {
    let found = machine.machine.spec.version.as_deref().unwrap_or_default();
    let wanted = &observed.control_plane.spec.version;
    (found != wanted).then(|| format!("Version {found}, {wanted} required"))
}

fn kubeadm_config(machine: &ObservedMachine) -> Option<String> {
    let differs = machine.kubeadm_config.is_some() && !machine.kubeadm_config_matches;
    differs.then(|| "KubeadmConfig is not up-to-date".to_owned())
}

/// Templates do not change, so that their names say whether their contents differ.
fn infrastructure(observed: &Observed, machine: &ObservedMachine) -> Option<String> {
    let object = machine.infrastructure.as_ref()?;
    let (name, from) = cloned_from(object)?;
    let wanted = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
    let differs = name != wanted.name || from != group_kind(wanted);
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    differs.then(|| format!("{kind} is not up-to-date"))
}

/// The name and the `Kind.group` of the template that an object was made from; nothing if either is not known.
fn cloned_from(object: &Value) -> Option<(&str, &str)> {
    Some((annotation_of(object, CLONED_FROM_NAME)?, annotation_of(object, CLONED_FROM_GROUP_KIND)?))
}

fn user_wish(machine: &ObservedMachine) -> Option<String> {
    let wish = [DELETE_MACHINE, REMEDIATE_MACHINE].into_iter().find(|annotation| machine.has(annotation))?;
    Some(format!("it has the annotation {wish}"))
}

/// There is nothing to compare without its objects, nor for a Machine that was taken on from elsewhere.
fn missing_object(machine: &ObservedMachine) -> Option<String> {
    let why = match (&machine.infrastructure, &machine.kubeadm_config) {
        (None, _) => "its infrastructure object is not there",
        (_, None) => "its KubeadmConfig is not there",
        (Some(object), Some(_)) if cloned_from(object).is_none() => {
            "its infrastructure object does not say which template it was made from"
        }
        (Some(_), Some(_)) => return None,
    };
    Some(why.to_owned())
}
