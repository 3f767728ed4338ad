//! The condition `Ready`, and what is worth saying while it is not.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use refit_api::conditions::{self, NewCondition, Status};
use refit_api::vocabulary::condition_types;

/// How old an object is before it says what it waits for. Most waits are over sooner, and each word costs a write.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// Why an object is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub reason: &'static str,
    pub message: Cow<'static, str>,
}

impl Waiting {
    pub fn new(reason: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, message: message.into() }
    }

    pub fn condition(self) -> NewCondition {
        NewCondition::new(condition_types::READY, Status::False, self.reason).with_message(self.message)
    }
}

/// The object is there.
pub fn ready() -> NewCondition {
    NewCondition::new(condition_types::READY, Status::True, crate::words::reasons::PROVISIONED)
}

/// Until when an object keeps silent about what it waits for; nothing when that is over.
pub fn silent_until(object: &impl ResourceExt, now: Timestamp) -> Option<Timestamp> {
    let born = object.creation_timestamp()?.0;
    born.checked_add(PATIENCE).ok().filter(|end| *end > now)
}

/// The conditions with these in place. Without a generation: a new spec alone is no reason to write a status.
pub fn with_conditions<const N: usize>(
    conditions: &[Condition],
    new: [NewCondition; N],
    now: Timestamp,
) -> Vec<Condition> {
    let mut conditions = conditions.to_vec();
    for condition in new {
        conditions::set(&mut conditions, condition, None, now);
    }
    conditions
}
