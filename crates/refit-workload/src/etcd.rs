//! Talking to etcd: who its members are, who leads, and the two changes that a control plane needs.

mod authority;
mod certificate;
mod channel;
mod client;
mod error;
mod key;
mod messages;
mod port_forward;

use std::error::Error;
use std::sync::Arc;

use futures::future::BoxFuture;

pub use authority::EtcdAuthority;
pub use channel::EtcdStream;
pub use client::{Dialed, EtcdDialer, Now, connector};
pub use error::EtcdError;
pub use port_forward::by_port_forward;

/// How much of what others say goes into an error, in characters.
const LONGEST_WORDS: usize = 256;

/// A connection to one member of an etcd cluster.
pub trait Etcd: Send + Sync {
    /// The members as the cluster agrees on them now: without a quorum, this fails.
    fn membership(&self) -> BoxFuture<'_, Result<Membership, EtcdError>>;

    /// Makes this member the leader. Only the member that leads now carries that out.
    fn move_leader(&self, to: u64) -> BoxFuture<'_, Result<(), EtcdError>>;

    /// Takes the member out, unless it is the last one that votes. One that is not there any more is no error.
    fn remove_member(&self, id: u64) -> BoxFuture<'_, Result<(), EtcdError>>;
}

/// Connects to the first member of a cluster that answers.
pub type EtcdConnector = Arc<dyn Fn(EtcdTarget) -> BoxFuture<'static, Result<Box<dyn Etcd>, EtcdError>> + Send + Sync>;

/// Which etcd is meant, and how it is reached.
#[derive(Clone)]
pub struct EtcdTarget {
    /// For the workload cluster.
    pub client: kube::Client,
    /// The namespace of the Cluster in the management cluster.
    pub namespace: String,
    /// The name of the Cluster.
    pub name: String,
    /// The Nodes whose members are tried, in this order.
    pub nodes: Vec<String>,
    pub authority: EtcdAuthority,
}

/// Who is in an etcd cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Membership {
    pub members: Vec<Member>,
    /// The id of the member that leads.
    pub leader: Option<u64>,
    pub alarms: Vec<Alarm>,
}

/// A member of etcd.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    pub id: u64,
    /// Empty while it starts. kubeadm names a member after its Node.
    pub name: String,
    pub is_learner: bool,
}

/// An alarm that a member raises.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alarm {
    pub member: u64,
    /// As etcd writes it: `NOSPACE`, `CORRUPT`.
    pub name: String,
}

/// What others say, not longer than an error should be.
pub(crate) fn clip(words: &str) -> String {
    match words.char_indices().nth(LONGEST_WORDS) {
        None => words.to_owned(),
        Some((end, _)) => format!("{}...", &words[..end]),
    }
}

/// An error and its causes on one line, not longer than an error should be.
pub(crate) fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    clip(&causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}")))
}
