use jiff::Timestamp;

use super::*;

const TARGET: &str = "Whole";

fn conditions(given: &[(&'static str, Status, &'static str)]) -> Vec<Condition> {
    given
        .iter()
        .map(|(type_, status, message)| {
            let condition = NewCondition::new(*type_, *status, "Why").with_message(*message);
            condition.into_condition(None, Timestamp::UNIX_EPOCH)
        })
        .collect()
}

fn summary<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> Summary<'a> {
    parts.into_iter().fold(Summary::new(TARGET, Reasons::GENERIC), Summary::with)
}

fn check(summary: &Summary<'_>, given: &[(&'static str, Status, &'static str)], expected: &str) {
    let found = match summary.of(&conditions(given)) {
        Ok(condition) => condition.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

use Status::{False, True, Unknown};

#[test]
fn all_good_is_true() {
    let summary = summary([Part::positive("A"), Part::negative("B")]);
    check(&summary, &[("A", True, ""), ("B", False, "")], "Whole=True InfoReported");
}

#[test]
fn one_issue_is_false_and_hides_what_is_good() {
    let summary = summary([Part::positive("A"), Part::positive("B"), Part::positive("C")]);
    let given = [("A", True, "fine"), ("B", Unknown, "who knows"), ("C", False, "broken")];
    check(&summary, &given, "Whole=False IssuesReported: * B: who knows\n* C: broken");
}

#[test]
fn unknown_without_an_issue_is_unknown() {
    let summary = summary([Part::positive("A"), Part::positive("B")]);
    check(&summary, &[("A", True, "fine"), ("B", Unknown, "")], "Whole=Unknown UnknownReported: * B: Why");
}

#[test]
fn what_is_good_is_named_where_all_is_good_and_it_has_a_message() {
    let summary = summary([Part::positive("A"), Part::positive("B")]);
    check(&summary, &[("A", True, "with a note"), ("B", True, "")], "Whole=True InfoReported: * A: with a note");
}

#[test]
fn missing_condition_counts_as_unknown() {
    let expected = "Whole=Unknown UnknownReported: * B: Condition not yet reported";
    check(&summary([Part::positive("A"), Part::positive("B")]), &[("A", True, "")], expected);
}

#[test]
fn missing_optional_condition_does_not_count() {
    let summary = summary([Part::positive("A"), Part::positive("B").optional()]);
    check(&summary, &[("A", True, "")], "Whole=True InfoReported");
    check(&summary, &[("A", True, ""), ("B", False, "no")], "Whole=False IssuesReported: * B: no");
}

#[test]
fn parts_are_named_in_the_order_of_the_summary() {
    let summary = summary([Part::positive("C"), Part::positive("A"), Part::negative("B")]);
    let given = [("A", False, "a"), ("B", True, "b"), ("C", False, "c"), ("D", False, "not a part")];
    check(&summary, &given, "Whole=False IssuesReported: * C: c\n* A: a\n* B: b");
}

#[test]
fn a_message_of_several_lines_is_indented_by_two() {
    let given = [("A", False, "* one\n* two"), ("B", False, "head\n* one")];
    let expected = "Whole=False IssuesReported: * A:\n  * one\n  * two\n* B:\n  * head\n    * one";
    check(&summary([Part::positive("A"), Part::positive("B")]), &given, expected);
}

#[test]
fn a_part_can_be_shown_as_another_condition() {
    let other = NewCondition::new("A", True, "Other").with_message("in short");
    let summary = summary([Part::negative("A").shown_as(other)]);
    check(&summary, &[("A", True, "at length")], "Whole=False IssuesReported: * A: in short");
    check(&summary, &[], r#"condition "A" is to be shown differently and is not there"#);
}

#[test]
fn a_harmless_state_counts_as_good() {
    let summary = summary([Part::positive("A").harmless_if(|view| view.reason == "Why"), Part::positive("B")]);
    check(&summary, &[("A", False, "gone"), ("B", True, "")], "Whole=True InfoReported: * A: gone");
    check(&summary, &[("A", False, "gone"), ("B", False, "b")], "Whole=False IssuesReported: * B: b");
}

#[test]
fn a_part_that_comes_twice_counts_once_at_the_later_place_and_stays_negative() {
    let summary = summary([Part::negative("A"), Part::positive("B"), Part::positive("A")]);
    check(&summary, &[("A", True, "a"), ("B", False, "b")], "Whole=False IssuesReported: * B: b\n* A: a");
}

#[test]
fn a_summary_cannot_include_itself() {
    check(&summary([Part::positive(TARGET)]), &[], r#"condition "Whole" cannot be a part of itself"#);
}

#[test]
fn nothing_to_summarize_is_an_error() {
    check(&summary([]), &[("A", True, "")], "there is no condition to summarize");
    check(&summary([Part::positive("A").optional()]), &[], "there is no condition to summarize");
}

#[test]
fn lines_can_be_rewritten() {
    let summary = summary([Part::positive("A"), Part::positive("B")]).rewritten(|lines| vec![lines.len().to_string()]);
    check(&summary, &[("A", False, "a"), ("B", False, "b")], "Whole=False IssuesReported: 2");
}
