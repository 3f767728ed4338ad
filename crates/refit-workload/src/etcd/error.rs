//! How talking to etcd fails. Nothing here ever holds key material.

use std::error::Error;

/// Why etcd could not be asked or changed.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    #[error("there is no Node to reach etcd through")]
    NoNodes,
    /// Each Node with its reason.
    #[error("no member of etcd answers: {}", .0.join("; "))]
    NoneAnswers(Vec<String>),
    #[error("the certificate authority of etcd cannot be used: {what}")]
    Authority { what: &'static str },
    #[error("no stream to the etcd of Node {node}")]
    Stream {
        node: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("no TLS connection to the etcd of Node {node}")]
    Tls {
        node: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{why}")]
    Unfit { why: &'static str },
    #[error("{what} took longer than {seconds} seconds")]
    Late { what: String, seconds: u64 },
    /// What etcd or the connection said.
    #[error("{what} failed: {why}")]
    Call { what: &'static str, why: String },
    #[error("member {id:x} is not removed: it is the last one that votes")]
    LastMember { id: u64 },
    #[error("{count} members of etcd are named {name:?}, so none of them is removed; remove one with etcdctl")]
    Ambiguous { name: String, count: usize },
    #[error("none of the candidates took over the leadership of etcd: {}", .0.join("; "))]
    NoSuccessor(Vec<String>),
}
