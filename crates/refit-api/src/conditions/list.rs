//! The conditions of one object.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{NewCondition, Status, sort};

/// The condition of this type.
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition is there and true.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    status(conditions, type_) == Some(Status::True)
}

/// Whether the condition is there and false.
pub fn is_false(conditions: &[Condition], type_: &str) -> bool {
    status(conditions, type_) == Some(Status::False)
}

/// Whether the condition is unknown. One that is not there is.
pub fn is_unknown(conditions: &[Condition], type_: &str) -> bool {
    status(conditions, type_).is_none_or(|status| status == Status::Unknown)
}

/// Puts a condition on an object of this generation, and says whether that changed anything.
///
/// The time of the last transition moves only when the status does: to the condition's own time, or to `now`.
pub fn set(conditions: &mut Vec<Condition>, new: NewCondition, generation: Option<i64>, now: Timestamp) -> bool {
    let changed = replace(conditions, new.into_condition(generation, now));
    if changed {
        sort(conditions);
    }
    changed
}

/// Takes the condition of this type off.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// Puts a condition in the place of the one of its type, and says whether that changed anything. Does not sort.
pub(super) fn replace(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    let Some(existing) = conditions.iter_mut().find(|existing| existing.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    if existing.status == new.status {
        new.last_transition_time = existing.last_transition_time.clone();
    }
    let changed = *existing != new;
    *existing = new;
    changed
}

fn status(conditions: &[Condition], type_: &str) -> Option<Status> {
    get(conditions, type_).map(Status::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::condition_types as types;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a small number must be a timestamp")
    }

    fn ready(status: Status, reason: &'static str) -> NewCondition {
        NewCondition::new(types::READY, status, reason)
    }

    fn times(conditions: &[Condition]) -> Vec<i64> {
        conditions.iter().map(|condition| condition.last_transition_time.0.as_second()).collect()
    }

    #[test]
    fn transition_time_moves_only_when_the_status_changes() {
        let mut conditions = Vec::new();
        assert!(set(&mut conditions, ready(Status::False, "A"), Some(1), at(10)));
        assert!(set(&mut conditions, ready(Status::False, "B"), Some(1), at(20)));
        assert_eq!(times(&conditions), [10]);
        assert!(set(&mut conditions, ready(Status::True, "B"), Some(1), at(30)));
        assert_eq!(times(&conditions), [30]);
    }

    #[test]
    fn a_supplied_transition_time_is_used_when_the_status_changes() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(Status::False, "A").with_since(Some(at(5))), Some(1), at(10));
        assert_eq!(times(&conditions), [5]);
        set(&mut conditions, ready(Status::False, "A").with_since(Some(at(6))), Some(1), at(10));
        assert_eq!(times(&conditions), [5]);
        set(&mut conditions, ready(Status::True, "A").with_since(Some(at(7))), Some(1), at(10));
        assert_eq!(times(&conditions), [7]);
    }

    #[test]
    fn transition_time_has_whole_seconds() {
        let mut conditions = Vec::new();
        let now = Timestamp::new(10, 999_999_999).expect("a small number must be a timestamp");
        set(&mut conditions, ready(Status::True, "A"), Some(1), now);
        assert_eq!(conditions[0].last_transition_time.0, at(10));
    }

    #[test]
    fn setting_the_same_again_changes_nothing() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(Status::True, "A"), Some(1), at(10));
        let before = conditions.clone();
        assert!(!set(&mut conditions, ready(Status::True, "A"), Some(1), at(20)));
        assert_eq!(conditions, before);
    }

    #[test]
    fn a_new_generation_is_a_change() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(Status::True, "A"), Some(1), at(10));
        assert!(set(&mut conditions, ready(Status::True, "A"), Some(2), at(20)));
        assert_eq!(conditions[0].observed_generation, Some(2));
        assert_eq!(times(&conditions), [10]);
    }

    #[test]
    fn an_object_without_generation_gets_none() {
        for generation in [None, Some(0)] {
            assert_eq!(ready(Status::True, "A").into_condition(generation, at(0)).observed_generation, None);
        }
    }

    #[test]
    fn a_set_condition_goes_to_its_place() {
        let mut conditions = Vec::new();
        for type_ in [types::PAUSED, types::READY, types::AVAILABLE] {
            set(&mut conditions, NewCondition::new(type_, Status::True, "A"), None, at(0));
        }
        let order: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(order, [types::AVAILABLE, types::READY, types::PAUSED]);
    }

    #[test]
    fn missing_condition_counts_as_unknown() {
        let conditions = [ready(Status::True, "A").into_condition(None, at(0))];
        assert!(is_unknown(&conditions, types::AVAILABLE));
        assert!(!is_true(&conditions, types::AVAILABLE) && !is_false(&conditions, types::AVAILABLE));
        assert!(is_true(&conditions, types::READY) && !is_unknown(&conditions, types::READY));
    }

    #[test]
    fn a_status_that_is_none_of_the_three_counts_as_unknown() {
        let mut condition = ready(Status::True, "A").into_condition(None, at(0));
        condition.status = "true".to_owned();
        assert!(is_unknown(&[condition.clone()], types::READY) && !is_true(&[condition], types::READY));
    }

    #[test]
    fn remove_takes_off_only_that_type() {
        let mut conditions = vec![
            ready(Status::True, "A").into_condition(None, at(0)),
            NewCondition::new(types::PAUSED, Status::False, "A").into_condition(None, at(0)),
        ];
        remove(&mut conditions, types::READY);
        remove(&mut conditions, types::DELETING);
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].type_, types::PAUSED);
    }
}
