//! Carrying one's own changes over to conditions that others may have changed meanwhile.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::list::replace;
use super::value::whole_seconds;
use super::{get, remove, sort};

/// Somebody else changed a condition that this controller changed too and does not own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("condition {type_:?} was changed by somebody else")]
    Changed { type_: String },
    #[error("condition {type_:?} was removed by somebody else")]
    Removed { type_: String },
}

/// Applies what changed from `before` to `after` to the `latest` conditions of the object.
///
/// Of the `owned` types, `after` wins. Of the others, `latest` must be as it was before, or as it should be by now;
/// otherwise there is a conflict, and `latest` stays as it is. Types that did not change are left to others.
pub fn merge_changes(
    before: &[Condition],
    after: &[Condition],
    latest: &mut Vec<Condition>,
    owned: &[&str],
) -> Result<(), Conflict> {
    let changed: Vec<&Condition> = after.iter().filter(|new| get(before, &new.type_) != Some(*new)).collect();
    let gone: Vec<&Condition> = before.iter().filter(|old| get(after, &old.type_).is_none()).collect();
    if changed.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let mut merged = latest.clone();
    for new in changed {
        change(&mut merged, get(before, &new.type_), new, owned)?;
    }
    for old in gone {
        take_off(&mut merged, old, owned)?;
    }
    sort(&mut merged);
    *latest = merged;
    Ok(())
}

fn change(
    latest: &mut Vec<Condition>,
    before: Option<&Condition>,
    after: &Condition,
    owned: &[&str],
) -> Result<(), Conflict> {
    let type_ = || after.type_.clone();
    if !owned.contains(&after.type_.as_str()) {
        match (get(latest, &after.type_), before) {
            (None, Some(_)) => return Err(Conflict::Removed { type_: type_() }),
            (Some(found), _) if says_the_same(found, after) && Some(found) != before => return Ok(()),
            (Some(found), _) if Some(found) != before => return Err(Conflict::Changed { type_: type_() }),
            _ => {}
        }
    }
    let last_transition_time = Time(whole_seconds(after.last_transition_time.0));
    replace(latest, Condition { last_transition_time, ..after.clone() });
    Ok(())
}

fn take_off(latest: &mut Vec<Condition>, old: &Condition, owned: &[&str]) -> Result<(), Conflict> {
    let is_owned = owned.contains(&old.type_.as_str());
    if !is_owned && get(latest, &old.type_).is_some_and(|found| !says_the_same(found, old)) {
        return Err(Conflict::Changed { type_: old.type_.clone() });
    }
    remove(latest, &old.type_);
    Ok(())
}

/// Whether two conditions differ in the time of the last transition at most.
fn says_the_same(a: &Condition, b: &Condition) -> bool {
    Condition { last_transition_time: b.last_transition_time.clone(), ..a.clone() } == *b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::NewCondition;

    /// Conditions from words such as `Ready=A@10`: type, reason, and the second of the last transition.
    /// A reason in capitals is a true condition, one in small letters a false one.
    fn conditions(words: &str) -> Vec<Condition> {
        let condition = |word: &str| {
            let (type_, rest) = word.split_once('=').expect("a word must have a reason");
            let (reason, second) = rest.split_once('@').expect("a word must have a time");
            let second = second.parse().expect("a time must be a number");
            NewCondition::new(type_.to_owned(), reason != reason.to_lowercase(), reason.to_owned())
                .into_condition(Some(1), jiff::Timestamp::from_second(second).expect("a number must be a time"))
        };
        words.split_whitespace().map(condition).collect()
    }

    fn words(conditions: &[Condition]) -> String {
        let word = |c: &Condition| format!("{}={}@{}", c.type_, c.reason, c.last_transition_time.0.as_second());
        conditions.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Merges with `Ready` owned, and gives the result or the conflict in words.
    fn check(before: &str, after: &str, latest: &str, expected: &str) {
        let mut merged = conditions(latest);
        let result = merge_changes(&conditions(before), &conditions(after), &mut merged, &["Ready"]);
        let found = match result {
            Ok(()) => words(&merged),
            Err(conflict) => {
                assert_eq!(merged, conditions(latest), "a conflict must leave the conditions as they are");
                conflict.to_string()
            }
        };
        assert_eq!(found, expected, "before {before:?}, after {after:?}, latest {latest:?}");
    }

    const CHANGED: &str = r#"condition "X" was changed by somebody else"#;
    const REMOVED: &str = r#"condition "X" was removed by somebody else"#;

    #[test]
    fn owned_types_win() {
        check("", "Ready=A@1", "Ready=b@2", "Ready=A@1");
        check("Ready=A@1", "Ready=b@3", "Ready=C@2", "Ready=b@3");
        check("Ready=A@1", "Ready=b@3", "", "Ready=b@3");
        check("Ready=A@1", "", "Ready=b@2", "");
    }

    #[test]
    fn an_owned_type_keeps_its_time_when_the_latest_has_the_same_status() {
        check("", "Ready=A@5", "Ready=B@2", "Ready=A@2");
    }

    #[test]
    fn changes_of_others_stay() {
        check("Ready=A@1", "Ready=b@3", "Ready=A@1 X=a@2", "Ready=b@3 X=a@2");
        check("Ready=A@1 X=a@1", "Ready=b@3 X=a@1", "Ready=A@1 X=B@2", "Ready=b@3 X=B@2");
        check("Ready=A@1 X=a@1", "Ready=b@3 X=a@1", "Ready=A@1", "Ready=b@3");
    }

    #[test]
    fn a_change_that_nobody_else_made_is_applied() {
        check("", "X=A@1", "", "X=A@1");
        check("X=A@1", "X=b@2", "X=A@1", "X=b@2");
        check("X=A@1", "", "X=A@1", "");
    }

    #[test]
    fn a_change_that_another_made_too_is_left_as_it_is() {
        check("", "X=A@5", "X=A@2", "X=A@2");
        check("X=A@1", "X=b@5", "X=b@2", "X=b@2");
        check("X=A@1", "", "", "");
    }

    #[test]
    fn a_change_by_others_of_a_type_that_is_not_owned_is_a_conflict() {
        check("", "X=A@1", "X=b@2", CHANGED);
        check("X=A@1", "X=b@3", "X=C@2", CHANGED);
        check("X=A@1", "X=b@3", "", REMOVED);
        check("X=A@1", "", "X=b@2", CHANGED);
    }

    #[test]
    fn no_change_leaves_even_the_order_alone() {
        check("Ready=A@1", "Ready=A@1", "Paused=A@1 Ready=b@2", "Paused=A@1 Ready=b@2");
    }
}
