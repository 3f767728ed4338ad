//! A condition as a value: without its place on an object, and borrowed from one.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    True,
    False,
    Unknown,
}

impl Status {
    /// The status with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::True, Self::False, Self::Unknown].into_iter().find(|status| status.as_str() == name)
    }

    /// The status of a condition. What is none of the three counts as unknown.
    pub fn of(condition: &Condition) -> Self {
        Self::parse(&condition.status).unwrap_or(Self::Unknown)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition that is not on an object yet. Displayed as `Ready=False NotReady: why`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a condition that is not set says nothing to anybody"]
pub struct NewCondition {
    pub type_: Cow<'static, str>,
    pub status: Status,
    pub reason: Cow<'static, str>,
    pub message: Cow<'static, str>,
    /// Since when the status holds, where somebody else knows it. Otherwise, since it is set.
    pub since: Option<Timestamp>,
}

impl NewCondition {
    /// A condition without a message.
    pub fn new(
        type_: impl Into<Cow<'static, str>>,
        status: impl Into<Status>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (type_, reason) = (type_.into(), reason.into());
        Self { type_, status: status.into(), reason, message: Cow::Borrowed(""), since: None }
    }

    pub fn with_message(self, message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), ..self }
    }

    pub fn with_since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    /// The condition as an object of this generation has it. Times have whole seconds, as on the wire.
    pub fn into_condition(self, generation: Option<i64>, now: Timestamp) -> Condition {
        Condition {
            type_: self.type_.into_owned(),
            status: self.status.as_str().to_owned(),
            reason: self.reason.into_owned(),
            message: self.message.into_owned(),
            observed_generation: generation.filter(|generation| *generation != 0),
            last_transition_time: Time(whole_seconds(self.since.unwrap_or(now))),
        }
    }
}

impl fmt::Display for NewCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} {}", self.type_, self.status, self.reason)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// What others need of a condition to make one of their own from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    pub status: Status,
    pub reason: &'a str,
    pub message: &'a str,
    pub since: Option<Timestamp>,
}

impl<'a> From<&'a Condition> for View<'a> {
    fn from(condition: &'a Condition) -> Self {
        Self {
            status: Status::of(condition),
            reason: &condition.reason,
            message: &condition.message,
            since: Some(condition.last_transition_time.0),
        }
    }
}

impl<'a> From<&'a NewCondition> for View<'a> {
    fn from(condition: &'a NewCondition) -> Self {
        let NewCondition { status, reason, message, since, .. } = condition;
        Self { status: *status, reason, message, since: *since }
    }
}

pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).expect("the seconds of a timestamp must be a timestamp")
}
