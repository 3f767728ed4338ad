//! Decides about a KubeadmConfig: what one Machine is given to become a Node of its cluster.
//!
//! [`decide`] says whether anything is due: nothing, keeping a token good, or the bootstrap data. For the latter, [`next_step`] names one step after another; the shell carries out each and tells what came of it in a [`Progress`].
//! Each step finds what an earlier try has left behind, so the process may end between any two: the token is written into
//! the KubeadmConfig before it is good for anything, and the Secret with the data is created once.
//!
//! Bootstrap data is never made again. What an update in place changes in a KubeadmConfig is for the extension that
//! carries the update out.

mod complete;
mod decision;
mod lock;
mod owner;
mod progress;
pub mod render;
mod status;
#[cfg(test)]
mod tests;
pub mod token;

pub use decision::{Decision, Observed, decide};
pub use lock::{InitLock, LOCK_KEY, lock_content, lock_holder, lock_name};
pub use owner::{DataSecret, Owner, data_secret, owner_of, owns};
pub use progress::{Authority, PairsSeen, Progress, Sources, Step, TokenStep, next_step};
pub use status::{Outcome, report};

/// What the bootstrap data is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first Machine of a control plane: `kubeadm init`.
    Init,
    /// Another Machine of the control plane: `kubeadm join`.
    JoinControlPlane,
    /// Any other Machine: `kubeadm join`.
    JoinWorker,
}
