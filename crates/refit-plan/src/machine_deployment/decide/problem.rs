//! What is wrong in a way that somebody, or another try, may cure.

use refit_api::int_or_percent::AmountError;
use refit_api::selector::SelectorError;

use crate::coverage::QuestionError;
use crate::machine_deployment::RevisionError;
use crate::machine_deployment::machine_sets::MachineSetError;
use crate::machine_deployment::ownership::ClaimError;
use crate::ownership::NoIdentity;
use crate::reading::Unreadable;

/// Something that kept a part of the decision from being made. The shell logs it and comes back later.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error(transparent)]
    Identity(#[from] NoIdentity),
    #[error("spec.replicas is not set")]
    NoReplicas,
    #[error("spec.replicas must not be negative, it is {0}")]
    NegativeReplicas(i32),
    #[error("spec.rollout.strategy makes no sense")]
    Strategy(#[source] AmountError),
    #[error("what is asked of rollouts cannot be read: {why}")]
    Policy { why: String },
    #[error("extensions cannot be asked about MachineSet {machine_set}")]
    Question { machine_set: String, source: QuestionError },
    #[error(transparent)]
    MachineSet(#[from] MachineSetError),
    #[error(transparent)]
    Revision(#[from] RevisionError),
    #[error("spec.selector cannot be used")]
    Selector(#[from] SelectorError),
}

impl Problem {
    /// The problem and its cause in one line, for people who look at the MachineDeployment.
    pub(super) fn words(&self) -> String {
        let first: &dyn std::error::Error = self;
        let chain = std::iter::successors(Some(first), |&error| error.source());
        chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}
