//! What keeps a machine from being done, in the words of its own conditions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::cluster::Machine;
use refit_api::conditions::machine::updating_in_place;
use refit_api::conditions::{Status, get};
use refit_api::vocabulary::condition_types::{DELETING, PAUSED, READY, UPDATING};
use refit_api::vocabulary::refit::condition_types::UPDATE_FAILED;

use crate::coverage::shortened;

/// For how long a machine is on its way before it is worth telling what keeps it. What is over sooner needs no words, and a
/// write for each of many machines would tell nobody anything.
pub const KEPT_SECONDS: i64 = 30;
/// How much is told of one machine.
const MAX_KEPT: usize = 256;

/// What keeps the machine, if that lasts.
pub fn kept(machine: &Machine, now: Timestamp) -> Option<String> {
    let is = |type_: &str, status: Status| {
        get(&machine.status.conditions, type_).filter(|condition| Status::of(condition) == status)
    };
    let lasts = |condition: &&Condition| {
        now.as_second().saturating_sub(condition.last_transition_time.0.as_second()) >= KEPT_SECONDS
    };
    // Whatever else it says is from before the pause.
    let condition = is(PAUSED, Status::True)
        .or_else(|| is(UPDATE_FAILED, Status::True))
        .or_else(|| is(DELETING, Status::True).filter(lasts))
        .or_else(|| is(UPDATING, Status::True).filter(lasts))
        .or_else(|| is(READY, Status::False).filter(lasts))?;
    let says_nothing = condition.message.is_empty() || condition.message == updating_in_place("").message;
    let line = condition.message.split_whitespace().collect::<Vec<_>>().join(" ");
    (!says_nothing).then(|| shortened(line, MAX_KEPT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, condition, machine};

    /// The machine says this of itself since `since`; what is told at 100 s.
    fn check(said: &[(&str, &str, &str, i64)], expected: Option<&str>) {
        let mut machine = machine("m");
        for (type_, status, words, since) in said {
            let mut condition = condition(type_, status);
            condition.message = (*words).to_owned();
            condition.last_transition_time.0 = at(*since);
            machine.status.conditions.push(condition);
        }
        assert_eq!(kept(&machine, at(100)).as_deref(), expected, "{said:?}");
    }

    #[test]
    fn what_lasts_is_told_in_the_machines_own_words() {
        check(&[], None);
        check(&[("Ready", "True", "", 0)], None);
        check(&[("Ready", "False", "* no\n  host", 60)], Some("* no host"));
        check(&[("Ready", "False", "no host", 90)], None);
        check(
            &[("Updating", "True", "In-place update in progress: no power", 60)],
            Some("In-place update in progress: no power"),
        );
        check(&[("Updating", "True", "In-place update in progress", 60)], None);
        check(&[("Ready", "False", "no host", 0), ("Deleting", "True", "draining", 0)], Some("draining"));
        check(&[("refit.dev/UpdateFailed", "True", "no disk", 100)], Some("no disk"));
        check(&[("Paused", "True", "it is paused", 100), ("Updating", "True", "on it", 0)], Some("it is paused"));
    }
}
