//! What summaries and aggregates have in common: which condition counts for more, and how messages are laid out.

use super::Status;
use crate::cluster::ConditionPolarity;
use crate::vocabulary::reasons;

/// The reason of a merged condition, by the worst of the conditions that it is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons {
    /// One is bad.
    pub issue: &'static str,
    /// None is bad, one is unknown.
    pub unknown: &'static str,
    /// All are good.
    pub info: &'static str,
}

impl Reasons {
    /// For when nobody reads the reason.
    pub const GENERIC: Self =
        Self { issue: reasons::ISSUES_REPORTED, unknown: reasons::UNKNOWN_REPORTED, info: reasons::INFO_REPORTED };

    pub(super) fn of(self, worst: Priority) -> &'static str {
        match worst {
            Priority::Issue => self.issue,
            Priority::Unknown => self.unknown,
            Priority::Info => self.info,
        }
    }
}

/// How much a condition counts. The worst of them makes the merged condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    Issue,
    Unknown,
    Info,
}

impl Priority {
    pub(super) fn of(status: Status, polarity: ConditionPolarity) -> Self {
        match (status, polarity) {
            (Status::Unknown, _) => Self::Unknown,
            (Status::True, ConditionPolarity::Positive) | (Status::False, ConditionPolarity::Negative) => Self::Info,
            (Status::False, ConditionPolarity::Positive) | (Status::True, ConditionPolarity::Negative) => Self::Issue,
        }
    }

    /// The status of a condition whose worst part is this.
    pub(super) fn status(self, polarity: ConditionPolarity) -> Status {
        match (self, polarity) {
            (Self::Unknown, _) => Status::Unknown,
            (Self::Info, ConditionPolarity::Positive) | (Self::Issue, ConditionPolarity::Negative) => Status::True,
            (Self::Issue, ConditionPolarity::Positive) | (Self::Info, ConditionPolarity::Negative) => Status::False,
        }
    }
}

/// A message as it follows a heading: on the same line, or as an indented list when it is more than plain words.
pub(super) fn below_heading(message: &str) -> String {
    if !message.contains('\n') && !has_bullet(message) {
        return format!(" {message}");
    }
    let all_have_bullets = message.split('\n').all(has_bullet);
    let indent = |line: &str| match (all_have_bullets, has_bullet(line)) {
        (true, _) => format!("\n  {line}"),
        // Next to lines that get a bullet here, those that have one become their children.
        (false, true) => format!("\n    {line}"),
        (false, false) => format!("\n  * {line}"),
    };
    message.split('\n').map(indent).collect()
}

/// Whether a bullet, a star with a space behind it, is anywhere in the text.
fn has_bullet(text: &str) -> bool {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    text.split('*').skip(1).any(|after_star| after_star.starts_with(is_space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polarity_turns_the_good_status_around() {
        use ConditionPolarity::{Negative, Positive};
        let check = |status, polarity, expected| assert_eq!(Priority::of(status, polarity), expected);
        check(Status::True, Positive, Priority::Info);
        check(Status::False, Positive, Priority::Issue);
        check(Status::True, Negative, Priority::Issue);
        check(Status::False, Negative, Priority::Info);
        check(Status::Unknown, Positive, Priority::Unknown);
        check(Status::Unknown, Negative, Priority::Unknown);
        for priority in [Priority::Issue, Priority::Unknown, Priority::Info] {
            for polarity in [Positive, Negative] {
                assert_eq!(Priority::of(priority.status(polarity), polarity), priority);
            }
        }
    }

    #[test]
    fn an_issue_counts_for_more_than_unknown_and_that_for_more_than_info() {
        assert!(Priority::Issue < Priority::Unknown && Priority::Unknown < Priority::Info);
    }

    #[test]
    fn messages_of_several_lines_are_indented() {
        let check = |message: &str, expected: &str| assert_eq!(below_heading(message), expected, "{message:?}");
        check("plain", " plain");
        check("", " ");
        check("2*3 = 6", " 2*3 = 6");
        check("* one", "\n  * one");
        check("* one\n* two", "\n  * one\n  * two");
        check("one\ntwo", "\n  * one\n  * two");
        check("head\n* one", "\n  * head\n    * one");
        check("head\n  * one\n  * two", "\n  * head\n      * one\n      * two");
    }
}
