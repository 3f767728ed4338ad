//! `cargo xtask peers`: the real servers, ready before the tests want them.

use refit_peers::{ClusterApi, GoError, Peers, PeersError, Program, cluster_api_module};

/// Why a peer is not there.
#[derive(Debug, thiserror::Error)]
pub enum PeersTaskError {
    #[error(transparent)]
    Programs(#[from] PeersError),
    #[error("cannot download Cluster API, whose CRDs ours are compared with")]
    ClusterApi(#[source] GoError),
}

impl PeersTaskError {
    /// Whether installing Go is what helps.
    pub fn is_go_missing(&self) -> bool {
        match self {
            Self::Programs(error) => error.is_go_missing(),
            Self::ClusterApi(error) => error.is_missing(),
        }
    }
}

/// Builds what is missing and prints one line per peer: its name and where it is.
pub fn print() -> Result<(), PeersTaskError> {
    let peers = Peers::find_or_build()?;
    for program in Program::ALL {
        if let Some(path) = peers.path(program) {
            println!("{} {}", program.name(), path.display());
        }
    }
    println!("extension {}", Peers::extension()?.display());
    let module = cluster_api_module(ClusterApi::Controllers).map_err(PeersTaskError::ClusterApi)?;
    println!("cluster-api {}", module.display());
    Ok(())
}
