//! What extensions have said of changes, shared by who asks about the same one.
//!
//! A MachineDeployment and its MachineSets depend on the same answers, and one change of many machines is one question.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use refit_hooks::extensions::{ANSWER_LIFETIME, UNSETTLED_LIFETIME};
use refit_hooks::registry::Namespace;
use refit_hooks::{Extensions, chain};
use refit_plan::coverage::{ContentHash, Coverage};
use refit_plan::machine_deployment::decide::Ask;
use tokio::time::Instant;

/// How many answers are kept: a few for each of several hundred rollouts at a time. Above that, all are asked for anew.
const MAX_ANSWERS: usize = 1_024;

/// The answers that are still good. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    answers: BTreeMap<ContentHash, Answer>,
    /// Counts how often all was forgotten: an answer of before is not kept after.
    age: u64,
}

#[derive(Debug)]
struct Answer {
    coverage: Coverage,
    /// An extension that was replaced by another version says nothing of it: after this time it is asked again.
    good_until: Instant,
}

impl Known {
    fn good(&self) -> impl Iterator<Item = (&ContentHash, &Coverage)> {
        let now = Instant::now();
        let good = self.answers.iter().filter(move |(_, answer)| now < answer.good_until);
        good.map(|(key, answer)| (key, &answer.coverage))
    }
}

impl Answers {
    /// The answers under these keys, as far as there are any that are still good.
    pub fn get<'a>(&self, keys: impl IntoIterator<Item = &'a ContentHash>) -> BTreeMap<ContentHash, Coverage> {
        let known = self.known();
        let keys: BTreeSet<&ContentHash> = keys.into_iter().collect();
        let found = known.good().filter(|(key, _)| keys.contains(key));
        found.map(|(key, coverage)| (key.clone(), coverage.clone())).collect()
    }

    /// All answers. There are few: one for each pair of MachineSets between which machines move.
    pub fn all(&self) -> BTreeMap<ContentHash, Coverage> {
        self.known().good().map(|(key, coverage)| (key.clone(), coverage.clone())).collect()
    }

    /// Forgets all of them: other extensions are registered than those that gave them.
    pub fn forget(&self) {
        let mut known = self.known();
        known.answers.clear();
        known.age += 1;
    }

    /// Asks, and keeps the answer if it is one. Where nobody could be asked, nothing is known of the change.
    pub async fn ask(&self, extensions: &Extensions, ask: &Ask, namespace: &Namespace) -> Coverage {
        let age = self.known().age;
        let left = || ask.question.changes();
        let coverage = match extensions.coverage(ask.question.clone(), namespace).await {
            Ok(asked) => asked.coverage,
            Err(error) => {
                tracing::info!(machine_set = ask.machine_set, error = chain(&error), "extensions not asked");
                Coverage::Undecided { left: left(), answers: Vec::new(), undiscovered: Vec::new() }
            }
        };
        if !matches!(coverage, Coverage::Undecided { .. }) {
            self.keep(age, ask.key.clone(), coverage.clone());
        }
        coverage
    }

    fn keep(&self, age: u64, key: ContentHash, coverage: Coverage) {
        let mut known = self.known();
        if known.age != age {
            return;
        }
        if known.answers.len() >= MAX_ANSWERS {
            known.answers.clear();
        }
        let lifetime = match coverage {
            Coverage::Covered { .. } => ANSWER_LIFETIME,
            // Machines may be replaced for it: that it lasts is to be seen.
            Coverage::Uncovered { .. } | Coverage::Undecided { .. } => UNSETTLED_LIFETIME,
        };
        known.answers.insert(key, Answer { coverage, good_until: Instant::now() + lifetime });
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_not_good_for_ever() {
        let (answers, key) = (Answers::default(), ContentHash::of(&json!("a change")));
        let uncovered = Coverage::Uncovered { left: Default::default(), answers: Vec::new() };
        answers.keep(0, key.clone(), uncovered);
        assert_eq!((answers.get([&key]).len(), answers.all().len()), (1, 1));
        tokio::time::advance(UNSETTLED_LIFETIME).await;
        assert_eq!((answers.get([&key]).len(), answers.all().len()), (0, 0));
    }
}
