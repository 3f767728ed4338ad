//! What the controllers of one process share.

use std::ops::Deref;

use crate::answers::Answers;
use crate::cache::ObjectKey;
use crate::made_from::MadeFroms;
use crate::queue::{Backoff, Queue, QueueMetrics};
use crate::reasons::Reasons;
use crate::shell::Shell;

/// What the controllers of one process share. Clones are the same.
#[derive(Clone)]
pub struct Context {
    pub shell: Shell,
    /// What extensions have said of changes.
    pub answers: Answers,
    /// What rollouts wait for.
    pub reasons: Reasons,
    /// What machines were made from whose templates are gone.
    pub made_froms: MadeFroms,
    pub metrics: QueueMetrics,
}

impl Context {
    /// Nobody was asked anything yet.
    pub fn new(shell: Shell, metrics: QueueMetrics) -> Self {
        let (answers, reasons, made_froms) = (Answers::default(), Reasons::default(), MadeFroms::default());
        let forgetful = answers.clone();
        // Before anybody else is told that other extensions are registered: who asks then is not to find an old answer.
        shell.extensions.listen(Box::new(move || forgetful.forget()));
        Self { shell, answers, reasons, made_froms, metrics }
    }

    /// An empty queue, shown in the metrics under `name`.
    pub fn queue(&self, name: &'static str) -> Queue<ObjectKey> {
        Queue::new(name, Backoff::default(), self.shell.chance.clone(), &self.metrics)
    }
}

impl Deref for Context {
    type Target = Shell;

    fn deref(&self) -> &Shell {
        &self.shell
    }
}
