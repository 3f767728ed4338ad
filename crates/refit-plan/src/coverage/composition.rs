//! Asking extensions one after another until nothing is left to cover.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use refit_api::hooks::CanonicalName;
use refit_api::rollout;

use super::answer::{Answer, ExtensionAnswer, Reply, Verdict};
use super::change::{Changes, FieldChange, MAX_CHANGES};
use super::plan::{PlannedExtension, UpdatePlan};
use super::question::{Question, Request};

/// How many extensions can be asked. As many as a MachineRollout lists.
pub const MAX_EXTENSIONS: usize = 64;

/// An extension that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// The handler that answers the question.
    pub name: CanonicalName,
    /// Its place among the others, from the annotation `refit.dev/order` of its ExtensionConfig; 0 without one.
    pub order: i32,
}

/// An ExtensionConfig that is registered, and of which nobody knows what it serves: it was never discovered, or its last
/// discovery failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undiscovered {
    pub extension_config: String,
    /// Why it is not known, as its condition `Discovered` says it.
    pub words: String,
}

/// The state of asking: what is left of the question, and whom to ask about it.
///
/// # Guarantees
/// The result depends on the question, on the extensions and on their answers, not on the order of registration.
#[derive(Debug, Clone)]
pub struct Composition {
    asked: Question,
    left: Question,
    /// In the order of asking. As many of them have been asked as there are answers.
    extensions: Vec<CanonicalName>,
    answers: Vec<ExtensionAnswer>,
    undiscovered: Vec<Undiscovered>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// Ask this extension, and bring its answer.
    Ask { extension: &'a CanonicalName, request: Request },
    /// Nobody is left to be asked, or nothing to ask about.
    Done(Coverage),
}

/// What extensions can do about a change, together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Every change is covered. An extension that did not answer was not needed.
    Covered { plan: UpdatePlan, answers: Vec<ExtensionAnswer> },
    /// Some changes are covered by nobody, and everybody has answered.
    Uncovered { left: Changes, answers: Vec<ExtensionAnswer> },
    /// Some changes are left, and it is not known what an extension would say. Ask again, replace nothing.
    Undecided { left: Changes, answers: Vec<ExtensionAnswer>, undiscovered: Vec<Undiscovered> },
}

/// Why extensions, or an answer, are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompositionError {
    #[error("{found} extensions are registered, more than the {MAX_EXTENSIONS} that are accepted")]
    TooManyExtensions { found: usize },
    /// An answer that comes late, or twice.
    #[error("{0} is not the extension that was asked")]
    NotAsked(CanonicalName),
}

impl Composition {
    /// Begins to ask the extensions, given in any order.
    pub fn new(question: Question, extensions: impl IntoIterator<Item = Extension>) -> Result<Self, CompositionError> {
        let extensions = in_order(extensions);
        if extensions.len() > MAX_EXTENSIONS {
            return Err(CompositionError::TooManyExtensions { found: extensions.len() });
        }
        let (left, asked) = (question.clone(), question);
        Ok(Self { left, asked, extensions, answers: Vec::new(), undiscovered: Vec::new() })
    }

    /// The same, while these cannot be asked: what the others leave uncovered they may cover.
    #[must_use]
    pub fn beside(mut self, undiscovered: Vec<Undiscovered>) -> Self {
        self.undiscovered = undiscovered;
        self
    }

    /// What is to be done next. Asking again gives the same.
    pub fn next_step(&self) -> Step<'_> {
        match self.next_extension() {
            Some(extension) => Step::Ask { extension, request: self.left.request() },
            None => Step::Done(self.coverage()),
        }
    }

    /// Takes the answer of the extension that was to be asked.
    pub fn answer(&mut self, extension: &CanonicalName, answer: Answer) -> Result<(), CompositionError> {
        if self.next_extension() != Some(extension) {
            return Err(CompositionError::NotAsked(extension.clone()));
        }
        let (verdict, words) = match answer {
            Answer::Replied(reply) => self.judge(extension, reply),
            Answer::Failed { words } => (Verdict::Unknown, words),
        };
        self.answers.push(ExtensionAnswer::new(extension.clone(), verdict, words));
        Ok(())
    }

    fn next_extension(&self) -> Option<&CanonicalName> {
        let is_over = self.left.is_settled() || self.left.changes_type();
        self.extensions.get(self.answers.len()).filter(|_| !is_over)
    }

    fn judge(&mut self, extension: &CanonicalName, reply: Reply) -> (Verdict, String) {
        let patches = match reply.patches {
            Ok(patches) => patches,
            Err(error) => return (Verdict::Unknown, error.to_string()),
        };
        let verdict = match self.left.after(&patches, extension) {
            Ok(left) => self.advance(left),
            Err(error) => Verdict::BadPatch(error),
        };
        (verdict, reply.message)
    }

    fn advance(&mut self, left: Question) -> Verdict {
        let claims = self.left.claims(&left);
        self.left = left;
        if claims.is_empty() { Verdict::CoversNothing } else { Verdict::Covers(claims) }
    }

    fn coverage(&self) -> Coverage {
        let left = self.left.changes();
        if self.left.is_settled() {
            return Coverage::Covered { plan: self.plan(), answers: self.answers.clone() };
        }
        let asked = self.asked.changes();
        let answers: Vec<_> = self.answers.iter().map(|answer| judged_by_the_end(answer, &asked, &left)).collect();
        let is_doubtful = !self.undiscovered.is_empty() || answers.iter().any(|answer| answer.verdict.is_failure());
        if is_doubtful && !self.left.changes_type() {
            Coverage::Undecided { left, answers, undiscovered: self.undiscovered.clone() }
        } else {
            Coverage::Uncovered { left, answers }
        }
    }

    fn plan(&self) -> UpdatePlan {
        let steps = self.answers.iter().filter_map(|answer| match &answer.verdict {
            Verdict::Covers(claims) => {
                Some(PlannedExtension { name: answer.extension.clone(), claims: claims.clone() })
            }
            Verdict::CoversNothing | Verdict::BadPatch(_) | Verdict::Strays(_) | Verdict::Unknown => None,
        });
        UpdatePlan { question: self.asked.hash(), target: self.asked.target_hash(), steps: steps.collect() }
    }
}

impl Coverage {
    /// The answers of the extensions that were asked, in order.
    pub fn answers(&self) -> &[ExtensionAnswer] {
        match self {
            Self::Covered { answers, .. } | Self::Uncovered { answers, .. } | Self::Undecided { answers, .. } => {
                answers
            }
        }
    }

    /// The changes that nobody covers so far.
    pub fn left(&self) -> Option<&Changes> {
        match self {
            Self::Covered { .. } => None,
            Self::Uncovered { left, .. } | Self::Undecided { left, .. } => Some(left),
        }
    }

    /// Every changed field and who covers it, as a MachineRollout lists them: first those that nobody covers.
    pub fn field_changes(&self) -> Vec<rollout::FieldChange> {
        let uncovered = self.left().into_iter().flat_map(|left| &left.listed).map(|change| change.to_status(None));
        let covered = self.answers().iter().flat_map(|answer| {
            let claims: &[_] = match &answer.verdict {
                Verdict::Covers(claims) => &claims.listed,
                Verdict::CoversNothing | Verdict::BadPatch(_) | Verdict::Strays(_) | Verdict::Unknown => &[],
            };
            claims.iter().map(|change| change.to_status(Some(&answer.extension)))
        });
        uncovered.chain(covered).take(MAX_CHANGES).collect()
    }
}

/// The answer, seen from the end: one that changes a field that nobody asked about, and that is still another than wanted, is
/// wrong. Where not all changes are listed, nobody can tell.
fn judged_by_the_end(answer: &ExtensionAnswer, asked: &Changes, left: &Changes) -> ExtensionAnswer {
    let Verdict::Covers(claims) = &answer.verdict else { return answer.clone() };
    let is_stray = |claim: &&FieldChange| asked.more == 0 && left.touches(claim) && !asked.touches(claim);
    let listed: Vec<FieldChange> = claims.listed.iter().filter(is_stray).cloned().collect();
    let verdict = if listed.is_empty() { return answer.clone() } else { Verdict::Strays(Changes { listed, more: 0 }) };
    ExtensionAnswer { verdict, ..answer.clone() }
}

/// By order, then by name; each name once.
fn in_order(extensions: impl IntoIterator<Item = Extension>) -> Vec<CanonicalName> {
    let mut orders: BTreeMap<CanonicalName, i32> = BTreeMap::new();
    for Extension { name, order } in extensions {
        orders.entry(name).and_modify(|lowest| *lowest = order.min(*lowest)).or_insert(order);
    }
    let mut ordered: Vec<(i32, CanonicalName)> = orders.into_iter().map(|(name, order)| (order, name)).collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, name)| name).collect()
}
