//! refit-plan decides and does nothing else. What it depends on shows whether that is so.

use super::cargo::{CargoError, cargo_output};
use crate::workspace;

const CRATE: &str = "refit-plan";
/// Each stands for something that the planner must not know: a runtime, a client, randomness.
const BANNED: [&str; 4] = ["tokio", "kube-client", "hyper", "rand"];

/// Why the planner is not pure.
#[derive(Debug, thiserror::Error)]
pub enum PurityError {
    #[error("cannot list the dependencies of {CRATE}")]
    Tree(#[source] CargoError),
    #[error("{CRATE} must be pure, but depends on {}", .0.join(", "))]
    Impure(Vec<String>),
}

/// Fails when refit-plan depends on something that is banned there.
pub fn check() -> Result<(), PurityError> {
    if !workspace::root().join("crates").join(CRATE).exists() {
        println!("there is no {CRATE} yet");
        return Ok(());
    }
    let arguments =
        ["tree", "--package", CRATE, "--edges", "normal", "--prefix", "none", "--format", "{p}", "--locked"];
    let found = banned(&cargo_output(&arguments).map_err(PurityError::Tree)?);
    if found.is_empty() { Ok(()) } else { Err(PurityError::Impure(found)) }
}

/// The banned ones among lines such as `tokio v1.2.3`.
fn banned(tree: &str) -> Vec<String> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let mut found: Vec<String> = names.filter(|name| BANNED.contains(name)).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_count() {
        assert_eq!(banned("serde v1.0.0\ntokio v1.2.3\ntokio v1.2.3 (*)\nrand v0.9.0"), ["rand", "tokio"]);
        assert!(banned("tokio-free v1.0.0\nrandom v1.0.0\n").is_empty());
    }
}
