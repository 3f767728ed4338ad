//! How an object is doing that another one refers to: infrastructure, bootstrap configuration, control plane.

use super::dynamic::ReadError;
use super::{NewCondition, Status, View, internal_error, mirror};
use crate::vocabulary::reasons;

/// The conditions that say how an object is doing that another one refers to.
#[derive(Debug)]
pub struct Referenced {
    pub(super) type_: &'static str,
    /// The reasons of good and bad while the object is there.
    pub(super) good: &'static str,
    pub(super) bad: &'static str,
    /// The field of the object that says whether it is there for good.
    pub(super) flag: &'static str,
    /// What the referring object is called in messages.
    pub(super) referrer: &'static str,
}

impl Referenced {
    /// The object says how it is doing, or if it does not, its flag does.
    pub fn shown<'a>(&self, condition: Option<impl Into<View<'a>>>, kind: &str, flag: bool) -> NewCondition {
        mirror(condition, self.good, if flag { self.fine() } else { self.not_yet(kind) })
    }

    /// The flag is set.
    pub fn fine(&self) -> NewCondition {
        NewCondition::new(self.type_, Status::True, self.good)
    }

    /// The flag is not set.
    pub fn not_yet(&self, kind: &str) -> NewCondition {
        self.bad(self.bad, format!("{kind} {} is false", self.flag))
    }

    /// What the object says makes no sense.
    pub fn invalid(&self, error: &ReadError) -> NewCondition {
        NewCondition::new(self.type_, Status::Unknown, reasons::INVALID_CONDITION_REPORTED)
            .with_message(error.to_string())
    }

    /// The object could not be read.
    pub fn unreadable(&self) -> NewCondition {
        internal_error(self.type_)
    }

    /// The object is not there, and never was as far as anybody knows.
    pub fn missing(&self, kind: &str) -> NewCondition {
        self.bad(reasons::OBJECT_DOES_NOT_EXIST, format!("{kind} does not exist"))
    }

    /// The object went before the one that refers to it, as it should.
    pub fn gone(&self, kind: &str) -> NewCondition {
        self.bad(reasons::OBJECT_DELETED, format!("{kind} has been deleted"))
    }

    /// The object is gone although nobody deletes the one that refers to it.
    pub fn gone_too_early(&self, kind: &str) -> NewCondition {
        let message = format!("{kind} has been deleted while the {} still exists", self.referrer);
        self.bad(reasons::OBJECT_DELETED, message)
    }

    fn bad(&self, reason: &'static str, message: String) -> NewCondition {
        NewCondition::new(self.type_, Status::False, reason).with_message(message)
    }
}
