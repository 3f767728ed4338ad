//! What is wrong in a way that trying again may cure.

use refit_api::selector::SelectorError;

use crate::machine_set::complete_move::CompleteError;
use crate::machine_set::objects::ObjectError;
use crate::machine_set::ownership::ClaimError;
use crate::machine_set::remediation::OwnerError;
use crate::machine_set::start_move::NotMoved;
use crate::ownership::NoIdentity;
use crate::reading::{NotFound, Unreadable};

/// Something that kept a part of the decision from being made. The shell logs it and comes back later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nothing is known of the machines: nothing is done to their number.
    #[error("the Machines are not known, so none is created, moved or deleted")]
    Machines(#[source] Unreadable),
    #[error("it cannot be told whose Machine {machine} is")]
    Claim { machine: String, source: ClaimError },
    #[error("it cannot be told whose the MachineSet is")]
    Owner(#[source] OwnerError),
    #[error("the MachineSet cannot join its Cluster")]
    Identity(#[source] NoIdentity),
    #[error("a template is needed")]
    Template(#[source] NotFound),
    #[error("Machine {machine} cannot be synced")]
    Sync { machine: String, source: Box<ObjectError> },
    #[error("Machine {machine} lacks an object")]
    Object { machine: String, source: NotFound },
    #[error("the update of a Machine cannot begin")]
    Update(#[source] Box<CompleteError>),
    #[error("it is not known what was left of earlier creations, so no Machine is created")]
    Orphans(#[source] Unreadable),
    #[error("no Machine can be created")]
    Create(#[source] Box<ObjectError>),
    #[error("the MachineSet that Machines move to cannot be used")]
    MoveTarget(#[source] NotFound),
    #[error("a Machine does not move")]
    Move(#[source] Box<NotMoved>),
    /// Upstream deletes all machines.
    #[error("spec.replicas is {0}, so no Machine is created, moved or deleted; set it to 0 or more")]
    NegativeReplicas(i32),
    #[error("the status cannot be told")]
    Status(#[source] SelectorError),
}
