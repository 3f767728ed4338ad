//! A condition of another object, shown as one of ours.

use super::{NewCondition, Status, View};
use crate::vocabulary::reasons;

/// Shows a condition of another object under the type of the `fallback`, with the time of its last transition. The
/// fallback itself is used when the other object has no such condition.
///
/// `true_reason` stands in for the reason of a true condition that has none, as those of v1beta1 may.
pub fn mirror<'a>(
    source: Option<impl Into<View<'a>>>,
    true_reason: &'static str,
    fallback: NewCondition,
) -> NewCondition {
    let Some(source) = source else { return fallback };
    let View { status, reason, message, since } = source.into();
    let has_no_reason = reason == reasons::NO_REASON_REPORTED && status == Status::True;
    let reason = if has_no_reason { true_reason.into() } else { reason.to_owned().into() };
    NewCondition { type_: fallback.type_, status, reason, message: message.to_owned().into(), since }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    use super::*;
    use crate::conditions::{machine, not_yet_reported};
    use crate::vocabulary::condition_types as types;

    fn check(source: Option<&NewCondition>, expected: &str) {
        let fallback = machine::INFRASTRUCTURE.not_yet("DevMachine");
        assert_eq!(mirror(source, reasons::READY, fallback).to_string(), expected);
    }

    #[test]
    fn a_condition_is_shown_under_the_other_type() {
        let source = NewCondition::new(types::READY, Status::Unknown, "Why").with_message("because");
        check(Some(&source), "InfrastructureReady=Unknown Why: because");
    }

    #[test]
    fn a_missing_condition_is_the_fallback() {
        check(None, "InfrastructureReady=False NotReady: DevMachine status.initialization.provisioned is false");
        let fallback = not_yet_reported(types::CONTROL_PLANE_AVAILABLE, types::AVAILABLE);
        let mirrored = mirror(None::<&Condition>, reasons::AVAILABLE, fallback);
        assert_eq!(
            mirrored.to_string(),
            "ControlPlaneAvailable=Unknown NotYetReported: Condition Available not yet reported"
        );
    }

    #[test]
    fn a_true_condition_without_a_reason_gets_one() {
        let source = |status| NewCondition::new(types::READY, status, reasons::NO_REASON_REPORTED);
        check(Some(&source(Status::True)), "InfrastructureReady=True Ready");
        check(Some(&source(Status::False)), "InfrastructureReady=False NoReasonReported");
    }

    #[test]
    fn the_transition_time_is_that_of_the_source_and_the_generation_is_not() {
        let since = Timestamp::from_second(7).expect("a small number must be a timestamp");
        let source = NewCondition::new(types::READY, Status::True, "A").into_condition(Some(3), since);
        let mirrored = mirror(Some(&source), reasons::READY, machine::INFRASTRUCTURE.not_yet("DevMachine"));
        let on_target = mirrored.into_condition(Some(9), Timestamp::UNIX_EPOCH);
        assert_eq!(on_target.last_transition_time.0, since);
        assert_eq!(on_target.observed_generation, Some(9));
    }
}
