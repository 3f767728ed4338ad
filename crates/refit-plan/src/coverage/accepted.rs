//! What extensions said about a change, as far as whoever changes the machines must know it.

use refit_api::hooks::plain;

use super::{Coverage, ExtensionAnswer, FrozenPlan, Undiscovered};
use crate::waiting::Answer;

/// What extensions said, together: what a machine is changed by, or why it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// Every change is covered by this plan.
    Covered { plan: FrozenPlan },
    /// These changes are covered by nobody.
    Uncovered { paths: Vec<String>, answers: Vec<Answer> },
    /// An extension has given no answer yet.
    Undecided { answers: Vec<Answer> },
}

impl From<&Coverage> for Accepted {
    fn from(coverage: &Coverage) -> Self {
        match coverage {
            Coverage::Covered { plan, .. } => Self::Covered { plan: plan.freeze() },
            Coverage::Uncovered { left, answers } => {
                let paths = left.listed.iter().map(|change| plain(&change.path.to_string())).collect();
                Self::Uncovered { paths, answers: words(answers) }
            }
            Coverage::Undecided { answers, undiscovered, .. } => {
                let unreached = undiscovered.iter().map(unreached);
                Self::Undecided { answers: words(answers).into_iter().chain(unreached).collect() }
            }
        }
    }
}

/// What the extensions that said something said.
fn words(answers: &[ExtensionAnswer]) -> Vec<Answer> {
    let said = answers.iter().filter_map(|answer| Some((answer, answer.to_status().message?)));
    said.map(|(answer, words)| Answer { extension: answer.extension.to_string(), words }).collect()
}

/// What is to be known of an extension that is there and cannot be asked.
fn unreached(undiscovered: &Undiscovered) -> Answer {
    let Undiscovered { extension_config, words } = undiscovered;
    let words = format!("is registered, and it is not known what it covers: {words}");
    Answer { extension: format!("ExtensionConfig {extension_config}"), words }
}
