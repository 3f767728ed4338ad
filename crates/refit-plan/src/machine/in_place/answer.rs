//! What an answer of an updater comes to.

use jiff::{SignedDuration, Timestamp};
use refit_api::hooks::{HookResponse, StatusError, UpdateOutcome};

use crate::coverage::{ContentHash, MAX_WORDS, shortened};
use crate::machine::observed::Answer;
use crate::machine::progress::Failure;

/// However long an updater wants to be left alone, it is asked again after ten minutes: a number from outside must not keep
/// a machine that is done out of service for longer, and one call in ten minutes costs nobody anything.
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// Where users want something else than when it was asked, or have touched the Machine, it is asked again after this.
const MAX_WAIT_OF_TOUCHED: SignedDuration = SignedDuration::from_secs(5);

/// What an answer of an updater comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its part of the update is done.
    Done,
    /// It is at work, and does not want to be asked before that time.
    InProgress { until: Timestamp, words: String },
    /// It failed, or nobody can tell what it said. Never done.
    Failed { words: String, failure: Failure },
}

impl Outcome {
    /// When to ask again, if nobody has touched what was asked about. `about` is what that is now.
    pub fn asked_again_at(answer: &Answer, until: Timestamp, about: &ContentHash) -> Timestamp {
        let touched = answer.at.checked_add(MAX_WAIT_OF_TOUCHED).unwrap_or(Timestamp::MAX);
        if answer.about == *about { until } else { until.min(touched) }
    }

    pub fn of(answer: &Answer) -> Self {
        let response = match &answer.response {
            Ok(response) => response,
            Err(why) => return Self::failed(why, Failure::Unanswered),
        };
        match response.outcome() {
            UpdateOutcome::Done => Self::Done,
            UpdateOutcome::InProgress { retry_after } => {
                let wait = SignedDuration::from_secs(retry_after.get().into()).min(MAX_WAIT);
                let until = answer.at.checked_add(wait).unwrap_or(Timestamp::MAX);
                Self::InProgress { until, words: bounded(response.message()) }
            }
            UpdateOutcome::Refused(StatusError::Failure { message }) if !message.is_empty() => {
                Self::failed(&message, Failure::Answered)
            }
            UpdateOutcome::Refused(error @ StatusError::Failure { .. }) => {
                Self::failed(&error.to_string(), Failure::Answered)
            }
            UpdateOutcome::Refused(error) => Self::failed(&error.to_string(), Failure::Unanswered),
            UpdateOutcome::NegativeRetry { retry_after_seconds } => {
                let words = format!("it asks for a negative wait ({retry_after_seconds}s), which means nothing");
                Self::failed(&words, Failure::Unanswered)
            }
        }
    }

    fn failed(words: &str, failure: Failure) -> Self {
        Self::Failed { words: bounded(words), failure }
    }
}

/// Words of an extension that are passed on: they end up in conditions of every Machine.
fn bounded(words: &str) -> String {
    shortened(words.trim().to_owned(), MAX_WORDS)
}
