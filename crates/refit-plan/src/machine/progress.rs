//! How an update has gone so far, as the Machine's annotation `refit.dev/update-progress` carries it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::coverage::ContentHash;

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
    /// When the first extension was first asked. Kept only where there is a limit to count from it.
    pub started_at: Option<Timestamp>,
    /// When the next try may be, after one that failed.
    pub retry_at: Option<Timestamp>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
}

impl Progress {
    /// The value of the annotation; nothing while there is nothing to remember.
    pub fn encode(&self) -> Option<String> {
        let is_blank = *self == Self { plan: self.plan.clone(), ..Self::default() };
        let Self { plan, attempts, forgiven, started_at, retry_at } = self.clone();
        let plan = plan.map(|plan| plan.to_string());
        let encoded = Encoded { version: VERSION, plan, attempts, forgiven, started_at, retry_at };
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
            Some(Encoded { version: _, plan: _, attempts, forgiven, started_at, retry_at }) => {
                Self { plan, attempts, forgiven, started_at, retry_at }
            }
            None => Self { plan, ..Self::default() },
        }
    }

    /// How many failures count against the retries.
    pub fn failures(&self) -> u32 {
        self.attempts.saturating_sub(self.forgiven)
    }

    /// The progress after another failure.
    #[must_use]
    pub fn failed(&self, now: Timestamp) -> Self {
        let attempts = self.attempts.saturating_add(1);
        let failures = attempts.saturating_sub(self.forgiven);
        Self { attempts, retry_at: Some(whole_second_after(now, backoff(failures))), ..self.clone() }
    }

    /// The progress after the update was given up: whoever asks for another try gets all of them.
    #[must_use]
    pub fn given_up(&self) -> Self {
        let attempts = self.attempts.saturating_add(1);
        Self { plan: self.plan.clone(), attempts, forgiven: attempts, started_at: None, retry_at: None }
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
        let progress = Progress { started_at: Some(begin), ..Progress::default() }.failed(begin);
        let text = progress.encode().unwrap();
        assert_eq!(
            text,
            r#"{"version":1,"attempts":1,"startedAt":"1970-01-01T00:00:00Z","retryAt":"1970-01-01T00:00:01Z"}"#
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
