//! What an answer of an updater comes to.

use jiff::{SignedDuration, Timestamp};
use refit_api::hooks::{HookResponse, StatusError, UpdateOutcome};

use crate::coverage::{MAX_WORDS, shortened};
use crate::machine::observed::Answer;

/// However long an updater wants to be left alone, it is asked again once a day.
const MAX_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// What an answer of an updater comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its part of the update is done.
    Done,
    /// It is at work, and does not want to be asked before that time.
    InProgress { until: Timestamp, words: String },
    /// It failed, or nobody can tell what it said. Never done.
    Failed { words: String },
}

impl Outcome {
    pub fn of(answer: &Answer) -> Self {
        let response = match &answer.response {
            Ok(response) => response,
            Err(why) => return Self::failed(why),
        };
        match response.outcome() {
            UpdateOutcome::Done => Self::Done,
            UpdateOutcome::InProgress { retry_after } => {
                let wait = SignedDuration::from_secs(retry_after.get().into()).min(MAX_WAIT);
                let until = answer.at.checked_add(wait).unwrap_or(Timestamp::MAX);
                Self::InProgress { until, words: bounded(response.message()) }
            }
            UpdateOutcome::Refused(StatusError::Failure { message }) if !message.is_empty() => Self::failed(&message),
            UpdateOutcome::Refused(error) => Self::failed(&error.to_string()),
            UpdateOutcome::NegativeRetry { retry_after_seconds } => {
                Self::failed(&format!("it asks for a negative wait ({retry_after_seconds}s), which means nothing"))
            }
        }
    }

    fn failed(words: &str) -> Self {
        Self::Failed { words: bounded(words) }
    }
}

/// Words of an extension that are passed on: they end up in conditions of every Machine.
fn bounded(words: &str) -> String {
    shortened(words.trim().to_owned(), MAX_WORDS)
}
