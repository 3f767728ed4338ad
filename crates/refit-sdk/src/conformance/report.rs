//! What was found, for people and for programs.

use std::fmt::Write;

use serde::Serialize;

use super::Rule;

/// What became of one rule, for one handler where it concerns one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at.
    #[serde(flatten)]
    pub rule: &'static Rule,
    /// The handler that it concerns; none for the extension as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "what", rename_all = "camelCase")]
pub enum Outcome {
    /// All was as it should be.
    Kept,
    /// Controllers can live with it.
    Warned(String),
    /// Controllers will stumble over it.
    Broken(String),
    /// It could not be looked at.
    Skipped(String),
}

/// What was found about an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order in which the rules were looked at.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The rules that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| matches!(finding.outcome, Outcome::Broken(_)))
    }

    /// Whether no rule is broken. Warnings do not count.
    pub fn is_conformant(&self) -> bool {
        self.broken().next().is_none()
    }

    /// The report for people: a line for each rule, and for each that is not kept what, why and what to do.
    pub fn text(&self) -> String {
        let mut text: String = self.findings.iter().map(Finding::text).collect();
        let count = |is: fn(&Outcome) -> bool| self.findings.iter().filter(|finding| is(&finding.outcome)).count();
        let kept = count(|outcome| matches!(outcome, Outcome::Kept));
        let broken = count(|outcome| matches!(outcome, Outcome::Broken(_)));
        let warned = count(|outcome| matches!(outcome, Outcome::Warned(_)));
        let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        writeln!(text, "\n{broken} broken, {warned} warnings, {kept} kept, {skipped} skipped")
            .expect("a String must take text");
        text
    }
}

impl Finding {
    fn text(&self) -> String {
        let (sign, what) = match &self.outcome {
            Outcome::Kept => ("ok  ", None),
            Outcome::Warned(what) => ("warn", Some(what)),
            Outcome::Broken(what) => ("FAIL", Some(what)),
            Outcome::Skipped(what) => ("skip", Some(what)),
        };
        let handler = self.handler.as_ref().map(|handler| format!(" ({handler})")).unwrap_or_default();
        let mut text = format!("{sign} {}: {}{handler}\n", self.rule.id, self.rule.title);
        if let Some(what) = what {
            writeln!(text, "       what: {what}").expect("a String must take text");
        }
        if matches!(self.outcome, Outcome::Warned(_) | Outcome::Broken(_)) {
            write!(text, "       why:  {}\n       do:   {}\n", self.rule.why, self.rule.remedy)
                .expect("a String must take text");
        }
        text
    }
}
