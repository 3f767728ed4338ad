//! Several conditions of one object in one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::merge::{Priority, below_heading};
use super::{NewCondition, Reasons, Status, View, get};
use crate::cluster::ConditionPolarity;
use crate::vocabulary::reasons;

/// Several conditions of one object in one. It is true when all parts are good.
#[derive(Debug, Clone)]
pub struct Summary<'a> {
    target: &'static str,
    reasons: Reasons,
    parts: Vec<Part<'a>>,
    rewrite: fn(Vec<String>) -> Vec<String>,
}

/// A summary that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("condition {type_:?} cannot be a part of itself")]
    IncludesItself { type_: String },
    #[error("condition {type_:?} is to be shown differently and is not there")]
    NothingToShowDifferently { type_: String },
    #[error("there is no condition to summarize")]
    Nothing,
}

impl<'a> Summary<'a> {
    /// A summary under the type `target`, without parts yet.
    pub fn new(target: &'static str, reasons: Reasons) -> Self {
        Self { target, reasons, parts: Vec::new(), rewrite: |lines| lines }
    }

    /// Adds a part. Parts are named in the message in the order in which they were added.
    ///
    /// A type that was added before moves back to the later place, and is bad when true if either says so.
    pub fn with(mut self, mut part: Part<'a>) -> Self {
        if let Some(index) = self.parts.iter().position(|earlier| earlier.type_ == part.type_) {
            part = self.parts.remove(index).and(part);
        }
        self.parts.push(part);
        self
    }

    /// Changes the lines of the message, one per part, before they are put together.
    pub fn rewritten(self, rewrite: fn(Vec<String>) -> Vec<String>) -> Self {
        Self { rewrite, ..self }
    }

    /// Summarizes the conditions of an object.
    pub fn of(&self, conditions: &[Condition]) -> Result<NewCondition, SummaryError> {
        self.check(conditions)?;
        let found: Vec<(&Part<'a>, View<'_>)> =
            self.parts.iter().filter_map(|part| Some((part, part.find(conditions)?))).collect();
        let worst = found.iter().map(|(part, view)| part.priority(view)).min().ok_or(SummaryError::Nothing)?;
        let status = worst.status(ConditionPolarity::Positive);
        let lines = found.iter().filter_map(|(part, view)| part.line(view, status)).collect();
        let message = (self.rewrite)(lines).join("\n");
        Ok(NewCondition::new(self.target, status, self.reasons.of(worst)).with_message(message))
    }

    fn check(&self, conditions: &[Condition]) -> Result<(), SummaryError> {
        for part in &self.parts {
            let type_ = || part.type_.to_owned();
            if part.type_ == self.target {
                return Err(SummaryError::IncludesItself { type_: type_() });
            }
            if part.shown_as.is_some() && get(conditions, part.type_).is_none() {
                return Err(SummaryError::NothingToShowDifferently { type_: type_() });
            }
        }
        Ok(())
    }
}

/// One condition in a summary.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    type_: &'a str,
    polarity: ConditionPolarity,
    is_optional: bool,
    shown_as: Option<NewCondition>,
    is_harmless: fn(&View<'_>) -> bool,
}

impl<'a> Part<'a> {
    /// A condition that is good when true. When it is not there, it counts as unknown.
    pub fn positive(type_: &'a str) -> Self {
        let polarity = ConditionPolarity::Positive;
        Self { type_, polarity, is_optional: false, shown_as: None, is_harmless: |_| false }
    }

    /// A condition that is bad when true. When it is not there, it counts as unknown.
    pub fn negative(type_: &'a str) -> Self {
        Self { polarity: ConditionPolarity::Negative, ..Self::positive(type_) }
    }

    /// When it is not there, it does not count.
    pub fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// Stands in for the condition of the object, which must be there.
    pub fn shown_as(self, condition: NewCondition) -> Self {
        Self { shown_as: Some(condition), ..self }
    }

    /// Takes some states of the condition for good ones, whatever their status.
    pub fn harmless_if(self, is_harmless: fn(&View<'_>) -> bool) -> Self {
        Self { is_harmless, ..self }
    }

    fn and(self, later: Self) -> Self {
        let is_negative = [self.polarity, later.polarity].contains(&ConditionPolarity::Negative);
        Self { polarity: if is_negative { ConditionPolarity::Negative } else { later.polarity }, ..self }
    }

    fn find<'b>(&'b self, conditions: &'b [Condition]) -> Option<View<'b>> {
        const MISSING: View<'static> = View {
            status: Status::Unknown,
            reason: reasons::NOT_YET_REPORTED,
            message: "Condition not yet reported",
            since: None,
        };
        match (get(conditions, self.type_), &self.shown_as) {
            (Some(_), Some(other)) => Some(other.into()),
            (Some(condition), None) => Some(condition.into()),
            (None, _) => (!self.is_optional).then_some(MISSING),
        }
    }

    fn priority(&self, view: &View<'_>) -> Priority {
        if (self.is_harmless)(view) { Priority::Info } else { Priority::of(view.status, self.polarity) }
    }

    /// The line of the message. What is good is named only where all is good, and only if it has something to say.
    fn line(&self, view: &View<'_>, summary: Status) -> Option<String> {
        if self.priority(view) == Priority::Info && (summary != Status::True || view.message.is_empty()) {
            return None;
        }
        let said = if view.message.is_empty() { format!(" {}", view.reason) } else { below_heading(view.message) };
        Some(format!("* {}:{said}", self.type_))
    }
}

#[cfg(test)]
mod tests;
