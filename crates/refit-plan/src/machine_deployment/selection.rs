//! Which MachineSet is the new one.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::TemplateDifference;

/// A MachineSet of the MachineDeployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    pub created: Timestamp,
    pub spec_replicas: i32,
    /// It is being deleted.
    pub is_going: bool,
    /// What differs from the wanted template.
    pub difference: TemplateDifference,
}

/// Which MachineSet is the new one, and what the others are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The index of the new MachineSet among the candidates, or why one has to be created.
    pub new: Result<usize, String>,
    /// The others, in the order in which a pass looks at them.
    pub old: Vec<Discarded>,
}

/// A MachineSet that is not the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    pub index: usize,
    /// Why its machines have to be replaced whatever extensions cover; nothing if they may be updated in place.
    pub not_in_place: Option<String>,
}

/// Chooses the new MachineSet: the largest of the wanted template, created at `after` or later once that has passed.
///
/// One that is emptied and going is never it: who changes back while it goes gets another, and no rollout to one that
/// is gone a moment later.
pub fn select(candidates: &[Candidate], after: Option<Timestamp>, now: Timestamp) -> Selection {
    // Until its time has come, `rollout.after` has no say.
    let due = after.filter(|&after| after <= now);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| {
        let candidate = &candidates[at];
        (Reverse(candidate.spec_replicas), candidate.created, &candidate.name)
    });
    let (matching, other): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|&at| candidates[at].difference.is_empty());
    let is_recent = |&at: &usize| due.is_none_or(|due| candidates[at].created >= due);
    let new = matching.iter().copied().find(|at| is_recent(at) && !candidates[*at].is_over());
    let differing = other.into_iter().map(|index| differing(&candidates[index], index, due, now));
    let duplicates = matching.iter().copied().filter(|&at| Some(at) != new);
    let duplicates = duplicates.map(|index| duplicate(&candidates[index], index, due));
    Selection {
        new: new.ok_or_else(|| create_reason(candidates, matching.iter().any(|&at| !candidates[at].is_over()), due)),
        old: differing.chain(duplicates).collect(),
    }
}

impl Candidate {
    fn is_over(&self) -> bool {
        self.is_going && self.spec_replicas == 0
    }
}

fn differing(candidate: &Candidate, index: usize, due: Option<Timestamp>, now: Timestamp) -> Discarded {
    let forced = due.filter(|&due| due < now && candidate.created < due);
    Discarded { index, not_in_place: forced.map(restart) }
}

/// One that has the wanted template and is not the new one: the user asks for new machines, or another one is larger.
fn duplicate(candidate: &Candidate, index: usize, due: Option<Timestamp>) -> Discarded {
    let forced = due.filter(|&due| candidate.created < due).map(restart);
    let other = || "its template is the wanted one, and another MachineSet has it too".to_owned();
    Discarded { index, not_in_place: Some(forced.unwrap_or_else(other)) }
}

fn restart(after: Timestamp) -> String {
    format!("spec.rollout.after, {after}, asks for new machines")
}

fn create_reason(candidates: &[Candidate], some_match: bool, due: Option<Timestamp>) -> String {
    match due {
        _ if candidates.is_empty() => "there is no MachineSet yet".to_owned(),
        Some(due) if some_match => format!("spec.rollout.after is {due}, and no MachineSet was created since"),
        _ => {
            let differs = |Candidate { name, difference, .. }: &Candidate| match difference.is_empty() {
                true => format!("{name} is being deleted"),
                false => format!("{name} differs in {}", difference.fields.join(", ")),
            };
            let all: Vec<String> = candidates.iter().map(differs).collect();
            format!("no MachineSet has the wanted template: {}", all.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("must be a time")
    }

    /// Candidates as `name created replicas`, with `!` in front of the name of one that differs, and `-` after the name
    /// of one that is being deleted.
    fn check(candidates: &[(&str, i64, i32)], after: Option<i64>, new: Option<&str>, old: &[(&str, bool)]) {
        let candidates: Vec<Candidate> = candidates.iter().map(|&case| candidate(case)).collect();
        let selection = select(&candidates, after.map(at), at(NOW));
        let found = selection.new.as_ref().ok().map(|&index| candidates[index].name.as_str());
        let others: Vec<(&str, bool)> =
            selection.old.iter().map(|old| (candidates[old.index].name.as_str(), old.not_in_place.is_none())).collect();
        assert_eq!((found, others.as_slice()), (new, old));
    }

    fn candidate((name, created, spec_replicas): (&str, i64, i32)) -> Candidate {
        let mut difference = TemplateDifference::default();
        if name.starts_with('!') {
            difference.fields.push("spec.version".to_owned());
        }
        let is_going = name.ends_with('-');
        Candidate { name: name.to_owned(), created: at(created), spec_replicas, is_going, difference }
    }

    #[test]
    fn the_largest_matching_machine_set_is_the_new_one() {
        check(&[("a", 1, 1), ("b", 2, 3), ("!c", 3, 5)], None, Some("b"), &[("!c", true), ("a", false)]);
    }

    #[test]
    fn of_two_equal_ones_the_older_is_chosen_and_then_the_name_decides() {
        check(&[("a", 2, 1), ("b", 1, 1)], None, Some("b"), &[("a", false)]);
        check(&[("b", 1, 1), ("a", 1, 1)], None, Some("a"), &[("b", false)]);
    }

    #[test]
    fn an_emptied_machine_set_that_is_being_deleted_is_not_chosen() {
        check(&[("a-", 1, 0), ("!b", 2, 1)], None, None, &[("!b", true), ("a-", false)]);
        check(&[("a-", 1, 0), ("b", 2, 0)], None, Some("b"), &[("a-", false)]);
        check(&[("a-", 1, 3), ("!b", 2, 1)], None, Some("a-"), &[("!b", true)]);
    }

    #[test]
    fn rollout_after_in_the_future_has_no_say() {
        check(&[("a", 1, 1), ("!b", 2, 1)], Some(NOW + 1), Some("a"), &[("!b", true)]);
    }

    #[test]
    fn rollout_after_asks_for_a_machine_set_that_is_not_older() {
        check(&[("a", 499, 3), ("b", 500, 1)], Some(500), Some("b"), &[("a", false)]);
        check(&[("a", 499, 3)], Some(500), None, &[("a", false)]);
    }

    #[test]
    fn machines_older_than_rollout_after_are_replaced() {
        check(&[("!a", 499, 3), ("!b", 500, 1)], Some(500), None, &[("!a", false), ("!b", true)]);
        check(&[("!a", 499, 3)], Some(NOW), None, &[("!a", true)]);
    }

    #[test]
    fn the_reason_for_a_new_machine_set_is_given() {
        let reason = |cases: &[(&str, i64, i32)], after: Option<i64>| {
            let candidates: Vec<Candidate> = cases.iter().map(|&case| candidate(case)).collect();
            select(&candidates, after.map(at), at(NOW)).new.expect_err("there must be none")
        };
        assert_eq!(reason(&[], None), "there is no MachineSet yet");
        assert!(reason(&[("!a", 1, 1)], None).ends_with("!a differs in spec.version"));
        assert!(reason(&[("a-", 1, 0)], None).ends_with(": a- is being deleted"));
        assert!(reason(&[("a", 1, 1)], Some(5)).contains("no MachineSet was created since"));
    }
}
