//! What users ask of a rollout by refit's own annotations on upstream's objects.
//!
//! An annotation says what it says or it is an error. It is never read as its default: a misspelt `Require` that
//! counted as `Prefer` would replace the very machines that it was to keep. Admission refuses such an object; where
//! refit's admission is not installed, whoever reads the policy gets the error.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admission::{FieldError, FieldPath};
use crate::cluster::{InPlaceFallback, MachineDeploymentRolloutStrategy, MachineDeploymentRolloutStrategyType};
use crate::controlplane::{KubeadmControlPlaneRolloutStrategy, KubeadmControlPlaneRolloutStrategyType};
use crate::vocabulary::refit::annotations::{
    DECIDED, IN_PLACE, KEEP_ORIGINALS, ORDER, REPLACE, REPLACE_AFTER, UPDATE_RETRIES, UPDATE_TIMEOUT,
};

/// What all of refit's annotations begin with.
pub const PREFIX: &str = "refit.dev/";
/// The annotations by which a MachineDeployment, a KubeadmControlPlane or a Cluster carries a [`RolloutPolicy`].
const ROLLOUT_ANNOTATIONS: [&str; 6] =
    [IN_PLACE, KEEP_ORIGINALS, REPLACE, REPLACE_AFTER, UPDATE_RETRIES, UPDATE_TIMEOUT];
/// How long the registered extensions must leave a change uncovered before machines are replaced for it, where nobody says
/// otherwise: longer than an extension takes to be installed anew, short enough for whoever watches.
pub const DEFAULT_REPLACE_AFTER: Duration = Duration::from_secs(30);
/// The longest text of a duration that is read: 15 digits of hours fit into a [`Duration`], 16 may not.
const DURATION_MAX_LENGTH: usize = 16;

type Annotations = BTreeMap<String, String>;

/// Whether machines are changed in place or replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InPlacePolicy {
    /// In place where every change is covered, replaced otherwise.
    #[default]
    Prefer,
    /// Never replaced for a rollout. A change that is not covered waits.
    Require,
    /// Always replaced.
    Never,
}

impl InPlacePolicy {
    const ALL: [Self; 3] = [Self::Prefer, Self::Require, Self::Never];

    /// What the strategy `InPlace` stands for.
    pub fn of_in_place_strategy(fallback: Option<InPlaceFallback>) -> Self {
        match fallback {
            None => Self::Require,
            Some(InPlaceFallback::RollingUpdate) => Self::Prefer,
        }
    }

    /// The word for it in the annotation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefer => "Prefer",
            Self::Require => "Require",
            Self::Never => "Never",
        }
    }

    /// The policy that counts: the strategy's, else the object's own, else that of its Cluster, else `Prefer`.
    ///
    /// `strategy` is the policy of an `InPlace` strategy, and nothing under any other. Admission refuses an object whose
    /// strategy and annotation disagree; where it is not installed, the one that keeps machines counts.
    pub fn resolve(strategy: Option<Self>, object: Option<Self>, cluster: Option<Self>) -> Self {
        if object == Some(Self::Require) { Self::Require } else { strategy.or(object).or(cluster).unwrap_or_default() }
    }
}

impl fmt::Display for InPlacePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InPlacePolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|policy| policy.as_str() == text);
        named.ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// A word that is no [`InPlacePolicy`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not Prefer, Require or Never")]
pub struct UnknownPolicy(String);

impl MachineDeploymentRolloutStrategy {
    /// The policy that the strategy stands for, if it is `InPlace`.
    pub fn in_place_policy(&self) -> Option<InPlacePolicy> {
        match self.type_ {
            MachineDeploymentRolloutStrategyType::InPlace => Some(InPlacePolicy::of_in_place_strategy(self.fallback)),
            MachineDeploymentRolloutStrategyType::RollingUpdate | MachineDeploymentRolloutStrategyType::OnDelete => {
                None
            }
        }
    }
}

impl KubeadmControlPlaneRolloutStrategy {
    /// The policy that the strategy stands for, if it is `InPlace`.
    pub fn in_place_policy(&self) -> Option<InPlacePolicy> {
        match self.type_ {
            KubeadmControlPlaneRolloutStrategyType::InPlace => Some(InPlacePolicy::of_in_place_strategy(self.fallback)),
            KubeadmControlPlaneRolloutStrategyType::RollingUpdate => None,
        }
    }
}

/// What the annotations of one object ask of its rollouts. What they leave out is nothing here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RolloutPolicy {
    /// Whether machines are changed in place or replaced.
    pub in_place: Option<InPlacePolicy>,
    /// Whether a surge machine goes again, and the originals stay.
    pub keep_originals: Option<bool>,
    /// How long the update of a machine may take before it has failed for good. Above zero.
    pub update_timeout: Option<Duration>,
    /// How often the update of a machine is tried again before it has failed for good.
    pub update_retries: Option<UpdateRetries>,
    /// How long the registered extensions must leave a change uncovered before machines are replaced for it.
    pub replace_after: Option<Duration>,
}

/// How often the update of a machine is tried again before it has failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateRetries {
    Limited(u32),
    /// For ever, with growing delays.
    Unlimited,
}

impl UpdateRetries {
    /// The word for [`Unlimited`](Self::Unlimited) in the annotation.
    pub const UNLIMITED: &str = "unlimited";
}

impl RolloutPolicy {
    /// Reads the annotations of a MachineDeployment, a KubeadmControlPlane or a Cluster.
    pub fn read(annotations: &Annotations) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let policy = Self {
            in_place: read(annotations, IN_PLACE, in_place, &mut errors),
            keep_originals: read(annotations, KEEP_ORIGINALS, boolean, &mut errors),
            update_timeout: read(annotations, UPDATE_TIMEOUT, timeout, &mut errors),
            update_retries: read(annotations, UPDATE_RETRIES, retries, &mut errors),
            replace_after: read(annotations, REPLACE_AFTER, delay, &mut errors),
        };
        if errors.is_empty() { Ok(policy) } else { Err(errors) }
    }

    /// This policy, and the Cluster's where this one says nothing.
    #[must_use]
    pub fn or(self, cluster: Self) -> Self {
        Self {
            in_place: self.in_place.or(cluster.in_place),
            keep_originals: self.keep_originals.or(cluster.keep_originals),
            update_timeout: self.update_timeout.or(cluster.update_timeout),
            update_retries: self.update_retries.or(cluster.update_retries),
            replace_after: self.replace_after.or(cluster.replace_after),
        }
    }

    /// Whether a surge machine goes again and the originals stay, which is what happens when nobody says otherwise.
    pub fn keeps_originals(&self) -> bool {
        self.keep_originals.unwrap_or(true)
    }
}

/// The place of an extension among the others, from the annotations of its ExtensionConfig.
pub fn read_extension_order(annotations: &Annotations) -> Result<Option<i32>, Vec<FieldError>> {
    let mut errors = Vec::new();
    let order = read(annotations, ORDER, integer, &mut errors);
    if errors.is_empty() { Ok(order) } else { Err(errors) }
}

/// Errors of refit's annotations on a MachineDeployment, a KubeadmControlPlane or a Cluster.
///
/// `strategy` is the policy of the object's `InPlace` strategy; `old` are the annotations of the stored object on an
/// update.
pub fn validate_rollout_annotations(
    annotations: &Annotations,
    strategy: Option<InPlacePolicy>,
    old: Option<&Annotations>,
) -> Vec<FieldError> {
    let mut errors = match RolloutPolicy::read(annotations) {
        Ok(policy) => contradiction(policy.in_place, strategy).into_iter().collect(),
        Err(errors) => errors,
    };
    errors.extend(unknown(annotations, old, &ROLLOUT_ANNOTATIONS));
    errors
}

/// An annotation that says one thing while the strategy says another.
fn contradiction(annotation: Option<InPlacePolicy>, strategy: Option<InPlacePolicy>) -> Option<FieldError> {
    let (annotation, strategy) = (annotation?, strategy?);
    let detail = || format!("the strategy InPlace stands for {strategy} here; leave out one of the two");
    (annotation != strategy).then(|| path(IN_PLACE).invalid(annotation, detail()))
}

/// Errors of refit's annotations on an ExtensionConfig. `old` are the annotations of the stored object on an update.
pub fn validate_extension_annotations(annotations: &Annotations, old: Option<&Annotations>) -> Vec<FieldError> {
    let wrong = read_extension_order(annotations).err().unwrap_or_default();
    wrong.into_iter().chain(unknown(annotations, old, &[ORDER])).collect()
}

/// Errors of annotations that refit does not know but would have to, by their name.
///
/// Those that the stored object has already are left alone: a newer refit may have written them, and an older one must
/// still be able to take off a finalizer. The record of what was decided is written by controllers, and is no user's.
fn unknown(annotations: &Annotations, old: Option<&Annotations>, known: &[&str]) -> Vec<FieldError> {
    let is_new = |key: &str| old.is_none_or(|old| !old.contains_key(key));
    annotations
        .keys()
        .filter(|key| key.starts_with(PREFIX) && *key != DECIDED && !known.contains(&key.as_str()) && is_new(key))
        .map(|key| path(key).forbidden(format!("no annotation of refit for this kind; there are {}", known.join(", "))))
        .collect()
}

fn path(key: &str) -> FieldPath {
    FieldPath::new("metadata.annotations").key(key)
}

/// The value of one annotation. Nothing when it is not there, or when it is wrong and has become an error.
fn read<T>(
    annotations: &Annotations,
    key: &str,
    parse: impl Fn(&str, &FieldPath) -> Result<T, FieldError>,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    let text = annotations.get(key)?;
    parse(text, &path(key)).map_err(|error| errors.push(error)).ok()
}

fn in_place(text: &str, path: &FieldPath) -> Result<InPlacePolicy, FieldError> {
    text.parse().map_err(|_| path.not_supported(text, &InPlacePolicy::ALL.map(InPlacePolicy::as_str)))
}

fn boolean(text: &str, path: &FieldPath) -> Result<bool, FieldError> {
    text.parse().map_err(|_| path.not_supported(text, &["true", "false"]))
}

fn integer(text: &str, path: &FieldPath) -> Result<i32, FieldError> {
    text.parse().map_err(|_| path.invalid(text, "must be an integer of 32 bits"))
}

fn retries(text: &str, path: &FieldPath) -> Result<UpdateRetries, FieldError> {
    if text == UpdateRetries::UNLIMITED {
        return Ok(UpdateRetries::Unlimited);
    }
    let number = text.parse().map(UpdateRetries::Limited);
    number.map_err(|_| path.invalid(text, "must be an integer of 32 bits, not below 0, or unlimited"))
}

fn delay(text: &str, path: &FieldPath) -> Result<Duration, FieldError> {
    parse_duration(text).ok_or_else(|| path.invalid(text, "must be a duration such as 0s, 30s or 10m"))
}

fn timeout(text: &str, path: &FieldPath) -> Result<Duration, FieldError> {
    const WRONG: &str = "must be a duration above zero such as 90s, 30m or 1h30m";
    parse_duration(text).filter(|duration| !duration.is_zero()).ok_or_else(|| path.invalid(text, WRONG))
}

/// A Go duration without a sign. What `kube` would panic on, a sign in the middle or an overflow, is sorted out before.
fn parse_duration(text: &str) -> Option<Duration> {
    let allowed = |c: char| c.is_ascii_digit() || c == '.' || c.is_alphabetic();
    let readable =
        text.len() <= DURATION_MAX_LENGTH && text.chars().all(allowed) && text.ends_with(char::is_alphabetic);
    if !readable {
        return None;
    }
    text.parse::<kube::core::Duration>().ok().map(Duration::from)
}
