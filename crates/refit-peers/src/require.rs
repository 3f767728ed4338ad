//! What a test calls that needs a peer: it gets the peer, or says loudly that it was skipped.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use crate::report::{chain, say};
use crate::{ClusterApi, GoError, Peers, PeersError, cluster_api_module};

/// Names a file to which every skipped test adds a line, so that a summary at the end can repeat them.
pub const SKIPPED_TESTS: &str = "REFIT_SKIPPED_TESTS";

/// The real servers, built when they are not there yet. `None`: there is no Go, this was said, and the test should return.
///
/// # Panics
/// When there is no Go and `CI` is `true`, and whenever the servers should be there but are not.
pub fn require_peers() -> Option<Peers> {
    or_skip(Peers::find_or_build(), PeersError::is_go_missing, is_ci(), skip)
}

/// The Go extension, ready to be given to [`GoExtension::start`](crate::GoExtension::start); otherwise like [`require_peers`].
///
/// # Panics
/// When there is no Go and `CI` is `true`, and when the build fails.
pub fn require_extension() -> Option<PathBuf> {
    or_skip(Peers::extension(), PeersError::is_go_missing, is_ci(), skip)
}

/// The folder of a Go module of Cluster API; otherwise like [`require_peers`].
///
/// # Panics
/// When there is no Go and `CI` is `true`, and when the download fails.
pub fn require_cluster_api_module(part: ClusterApi) -> Option<PathBuf> {
    or_skip(cluster_api_module(part), GoError::is_missing, is_ci(), skip)
}

/// Whether nothing may be skipped: the environment says `CI=true`.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn or_skip<T, E: Error>(
    peer: Result<T, E>,
    is_go_missing: fn(&E) -> bool,
    ci: bool,
    skip: impl FnOnce(&str),
) -> Option<T> {
    match peer {
        Ok(peer) => Some(peer),
        Err(error) if is_go_missing(&error) && !ci => {
            skip(&chain(&error));
            None
        }
        Err(error) => panic!("a peer that this test needs is not there: {}", chain(&error)),
    }
}

/// Says that the test of this thread is skipped, now and in the summary.
fn skip(reason: &str) {
    // The test harness names each test's thread after the test.
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {reason}", thread.name().unwrap_or("a test"));
    say(&line);
    if let Some(summary) = std::env::var_os(SKIPPED_TESTS) {
        let file = OpenOptions::new().append(true).create(true).open(&summary);
        // One write per line, because tests run side by side.
        if let Err(error) = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
            say(&format!("cannot write to {}: {error}", summary.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: Result<u8, GoError>, ci: bool, expected: Option<u8>) {
        let mut said = None;
        assert_eq!(or_skip(peer, GoError::is_missing, ci, |reason| said = Some(reason.to_owned())), expected);
        assert_eq!(said.is_some(), expected.is_none(), "a test is skipped if and only if that is said");
    }

    #[test]
    fn found_peer_is_given() {
        check(Ok(7), false, Some(7));
        check(Ok(7), true, Some(7));
    }

    #[test]
    fn missing_go_skips_the_test() {
        check(Err(GoError::Missing), false, None);
    }

    #[test]
    #[should_panic(expected = "a peer that this test needs is not there")]
    fn missing_go_fails_the_test_under_ci() {
        check(Err(GoError::Missing), true, None);
    }

    #[test]
    #[should_panic(expected = "a peer that this test needs is not there")]
    fn failed_download_is_never_skipped() {
        check(Err(GoError::Failed { arguments: "mod download".into(), output: "no network".into() }), false, None);
    }
}
