//! What was decided about the machines of an old MachineSet, on record where the next process finds it: on the MachineSet.
//!
//! A replacement needs an answer that has lasted, and a rollout that was decided in place does not become a replacement by itself. So
//! both are written down with the orders that follow from them, and a machine is replaced only for what is on record.

use jiff::Timestamp;
use refit_api::cluster::MachineSet;
use refit_api::vocabulary::refit::annotations::DECIDED;
use serde::{Deserialize, Serialize};

use crate::coverage::ContentHash;

/// What was decided about the machines of an old MachineSet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The MachineSet that they were to become machines of. For any other one nothing is decided.
    pub to: String,
    pub decided: Decided,
    /// Since when an extension does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Decided {
    /// Extensions covered the change.
    InPlace,
    /// They did not.
    Uncovered(Uncovered),
    /// Nothing yet.
    Unknown,
}

/// Who has said since when that a change is not covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Uncovered {
    /// What was asked.
    question: String,
    /// Who was registered.
    extensions: String,
    pub since: Timestamp,
}

impl Record {
    /// What is on record for the change to this MachineSet. What cannot be read is none.
    pub fn of(old: &MachineSet, to: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(&Self::text(old)?).ok()?;
        (record.to == to).then_some(record)
    }

    /// The record as it is, for whichever MachineSet.
    pub fn text(old: &MachineSet) -> Option<String> {
        old.metadata.annotations.as_ref()?.get(DECIDED).cloned()
    }

    pub fn in_place(to: &str) -> Self {
        Self::new(to, Decided::InPlace)
    }

    pub fn uncovered(to: &str, uncovered: Uncovered) -> Self {
        Self::new(to, Decided::Uncovered(uncovered))
    }

    /// An extension does not answer, now or since it began not to. Only what was decided in place outlasts that.
    pub fn unanswered(to: &str, before: Option<Self>, now: Timestamp) -> Self {
        let since = before.as_ref().and_then(|before| before.unanswered_since).unwrap_or_else(|| in_milliseconds(now));
        let decided = before.filter(Self::is_in_place).map_or(Decided::Unknown, |before| before.decided);
        Self { unanswered_since: Some(since), ..Self::new(to, decided) }
    }

    /// What is left of it when all have answered.
    pub fn answered(self) -> Option<Self> {
        (self.decided != Decided::Unknown).then_some(Self { unanswered_since: None, ..self })
    }

    fn new(to: &str, decided: Decided) -> Self {
        Self { to: to.to_owned(), decided, unanswered_since: None }
    }

    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a record must encode")
    }

    pub fn is_in_place(&self) -> bool {
        self.decided == Decided::InPlace
    }
}

impl Uncovered {
    /// From now on.
    pub fn since(question: &ContentHash, extensions: &ContentHash, now: Timestamp) -> Self {
        let since = in_milliseconds(now);
        Self { question: question.to_string(), extensions: extensions.to_string(), since }
    }

    /// Whether the same extensions have said the same of the same.
    pub fn is_of(&self, question: &ContentHash, extensions: &ContentHash) -> bool {
        self.question == question.as_str() && self.extensions == extensions.as_str()
    }
}

/// As fine as a record has to be.
fn in_milliseconds(now: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
