//! What extensions have said of changes, shared by who asks about the same one.
//!
//! A MachineDeployment and its MachineSets depend on the same answers, and one change of many machines is one question.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use refit_hooks::registry::Namespace;
use refit_hooks::{Extensions, chain};
use refit_plan::coverage::{ContentHash, Coverage};
use refit_plan::machine_deployment::decide::Ask;

/// How many answers are kept: a few for each of several hundred rollouts at a time. Above that, all are asked for anew.
const MAX_ANSWERS: usize = 1_024;

/// The answers that are still good. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    answers: BTreeMap<ContentHash, Coverage>,
    /// Counts how often all was forgotten: an answer of before is not kept after.
    age: u64,
}

impl Answers {
    /// The answers under these keys, as far as there are any.
    pub fn get<'a>(&self, keys: impl IntoIterator<Item = &'a ContentHash>) -> BTreeMap<ContentHash, Coverage> {
        let known = self.known();
        let found = |key: &ContentHash| Some((key.clone(), known.answers.get(key)?.clone()));
        keys.into_iter().filter_map(found).collect()
    }

    /// All answers. There are few: one for each pair of MachineSets between which machines move.
    pub fn all(&self) -> BTreeMap<ContentHash, Coverage> {
        self.known().answers.clone()
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
                Coverage::Undecided { left: left(), answers: Vec::new() }
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
        known.answers.insert(key, coverage);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
