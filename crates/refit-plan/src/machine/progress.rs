//! How an update has gone so far, as the Machine's annotation `refit.dev/update-progress` carries it.

use jiff::{SignedDuration, Timestamp};
use refit_api::hooks::CanonicalName;
use serde::{Deserialize, Serialize};

use crate::coverage::{ContentHash, MAX_EXTENSIONS};

const VERSION: u32 = 1;
/// The wait after the first failure. It doubles with each further one.
const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(1);
/// The longest wait: a repaired extension is noticed within five minutes.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(5);
/// Doubling nine times exceeds the longest wait: 2^9 s > 300 s.
const MAX_DOUBLINGS: u32 = 9;

/// What must be known of an update beyond the memory of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The plan that this is about, by the hash of its question; nothing for an update without a plan.
    pub plan: Option<ContentHash>,
    /// How many tries failed since the update began.
    pub attempts: u32,
    /// How many of them do not count any more, as the update was given up after them and somebody asked for another
    /// try. The number of attempts itself never goes down, so that an old answer cannot be taken for a new one.
    pub forgiven: u32,
    /// How many of those that count failed without an answer of the extension.
    pub unanswered: u32,
    /// When the update was handed over to the Machine's controller, or begun anew after it was given up.
    pub started_at: Option<Timestamp>,
    /// When the next try may be, after one that failed. Nothing from the moment at which that begins.
    pub retry_at: Option<Timestamp>,
    /// The last try is over for certain: the extension said that it failed, or was not asked at all.
    pub is_over: bool,
    /// The extensions of the plan that are not registered. A plan for another target does without them where it can.
    pub missing: Vec<CanonicalName>,
    /// Since when the extension whose turn it is has been one of them.
    pub missing_since: Option<Timestamp>,
    /// It has been for so long that nobody is taken to be at work: the machine may take another target.
    pub is_gone: bool,
}

/// How a try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The extension said so, or was never asked. Nobody is at work on the host any more.
    Answered,
    /// It cannot be told what the extension does: it gave no answer, or none that makes sense.
    Unanswered,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Encoded {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    #[serde(default)]
    attempts: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    forgiven: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    unanswered: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    over: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
}

impl Progress {
    /// The value of the annotation; nothing while there is nothing to remember.
    pub fn encode(&self) -> Option<String> {
        let is_blank = *self == Self { plan: self.plan.clone(), ..Self::default() };
        let encoded = Encoded {
            version: VERSION,
            plan: self.plan.as_ref().map(ToString::to_string),
            attempts: self.attempts,
            forgiven: self.forgiven,
            unanswered: self.unanswered,
            started_at: self.started_at,
            retry_at: self.retry_at,
            over: self.is_over,
            missing: self.missing.iter().map(ToString::to_string).collect(),
            missing_since: self.missing_since,
            gone: self.is_gone,
        };
        (!is_blank).then(|| serde_json::to_string(&encoded).expect("numbers, strings and times must encode"))
    }

    /// Reads the annotation. One of another plan, or one that makes no sense, says nothing: that only costs the tries
    /// that were counted, never a machine.
    pub fn decode(annotation: Option<&str>, plan: Option<&ContentHash>) -> Self {
        let encoded = annotation.and_then(|text| serde_json::from_str::<Encoded>(text).ok());
        let id = plan.map(ContentHash::as_str);
        let fits = |encoded: &Encoded| encoded.version == VERSION && encoded.plan.as_deref() == id;
        let plan = plan.cloned();
        match encoded.filter(fits) {
            Some(encoded) => Self {
                plan,
                attempts: encoded.attempts,
                forgiven: encoded.forgiven,
                unanswered: encoded.unanswered,
                started_at: encoded.started_at,
                retry_at: encoded.retry_at,
                is_over: encoded.over,
                missing: encoded.missing.iter().take(MAX_EXTENSIONS).filter_map(|name| name.parse().ok()).collect(),
                missing_since: encoded.missing_since,
                is_gone: encoded.gone,
            },
            None => Self { plan, ..Self::default() },
        }
    }

    /// How many failures count against the retries.
    pub fn failures(&self) -> u32 {
        self.attempts.saturating_sub(self.forgiven)
    }

    /// How many of them the extension has answered.
    pub fn answered_failures(&self) -> u32 {
        self.failures().saturating_sub(self.unanswered)
    }

    /// Of an update that is handed over now.
    pub fn handed_over(plan: Option<ContentHash>, now: Timestamp) -> Self {
        Self { plan, started_at: Some(whole_second_after(now, SignedDuration::ZERO)), ..Self::default() }
    }

    /// The progress after another failure.
    #[must_use]
    pub fn failed(&self, failure: Failure, now: Timestamp) -> Self {
        let attempts = self.attempts.saturating_add(1);
        let failures = attempts.saturating_sub(self.forgiven);
        let retry_at = Some(whole_second_after(now, backoff(failures)));
        let unanswered = self.unanswered.saturating_add(u32::from(failure == Failure::Unanswered));
        Self { attempts, unanswered, retry_at, is_over: failure == Failure::Answered, ..self.clone() }
    }

    /// The progress when the next try begins. Who has seen the one before may not give the machine another target any more.
    #[must_use]
    pub fn retrying(&self) -> Self {
        Self { retry_at: None, is_over: false, ..self.clone() }
    }

    /// The progress after the update was given up: whoever asks for another try gets all of them.
    #[must_use]
    pub fn given_up(&self) -> Self {
        let attempts = self.attempts.saturating_add(1);
        let (plan, missing, missing_since) = (self.plan.clone(), self.missing.clone(), self.missing_since);
        Self { plan, attempts, forgiven: attempts, missing, missing_since, ..Self::default() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn backoff(attempts: u32) -> SignedDuration {
    let doublings = attempts.saturating_sub(1).min(MAX_DOUBLINGS);
    (FIRST_BACKOFF * (1 << doublings)).min(MAX_BACKOFF)
}

fn whole_second_after(now: Timestamp, delay: SignedDuration) -> Timestamp {
    let second = now.as_second().saturating_add(delay.as_secs());
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::testing::hash;

    #[test]
    fn progress_reads_back_equal() {
        assert_eq!(Progress::default().encode(), None);
        let begin = Timestamp::UNIX_EPOCH;
        let progress = Progress::handed_over(None, begin).failed(Failure::Answered, begin);
        let text = progress.encode().unwrap();
        assert_eq!(
            text,
            r#"{"version":1,"attempts":1,"startedAt":"1970-01-01T00:00:00Z","retryAt":"1970-01-01T00:00:01Z","over":true}"#
        );
        assert_eq!(Progress::decode(Some(&text), None), progress);
        let given_up = Progress { plan: Some(hash("q")), ..progress }.given_up();
        assert_eq!(Progress::decode(given_up.encode().as_deref(), Some(&hash("q"))), given_up);
        assert_eq!((given_up.attempts, given_up.failures()), (2, 0));
    }

    #[test]
    fn what_makes_no_sense_is_no_progress() {
        for text in ["", "{}", "[]", r#"{"version":2,"attempts":3}"#] {
            assert_eq!(Progress::decode(Some(text), None), Progress::default(), "{text}");
        }
    }

    #[test]
    fn a_try_is_over_only_when_the_extension_said_so_and_until_the_next_one_begins() {
        let begin = Timestamp::UNIX_EPOCH;
        let answered = Progress::default().failed(Failure::Answered, begin);
        assert!(answered.is_over && !answered.retrying().is_over);
        let silent = answered.failed(Failure::Unanswered, begin);
        assert_eq!((silent.is_over, silent.failures(), silent.answered_failures()), (false, 2, 1));
        assert_eq!(Progress::decode(silent.encode().as_deref(), None), silent);
    }

    #[test]
    fn a_new_plan_starts_with_no_failures() {
        let text = Progress { plan: Some(hash("q")), attempts: 3, ..Progress::default() }.encode();
        assert_eq!(Progress::decode(text.as_deref(), Some(&hash("q"))).failures(), 3);
        assert_eq!(Progress::decode(text.as_deref(), Some(&hash("r"))).failures(), 0);
        assert_eq!(Progress::decode(text.as_deref(), None).failures(), 0);
    }

    #[test]
    fn waits_double_up_to_five_minutes() {
        let waits: Vec<i64> = [1, 2, 3, 9, 10, u32::MAX].map(|attempts| backoff(attempts).as_secs()).to_vec();
        assert_eq!(waits, [1, 2, 4, 256, 300, 300]);
    }
}
