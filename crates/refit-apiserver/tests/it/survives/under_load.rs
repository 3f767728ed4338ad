//! The worst of all bounds together: as many of the largest decisions as are made at a time.

use futures::future::join_all;
use http::{Method, StatusCode};
use refit_apiserver::budget::{DECISION_BYTES, DECISIONS_AT_A_TIME};

use super::{Attack, message};

/// What the process may have taken at its worst besides decisions: bodies, answers, other tests of this program.
const BESIDES_BYTES: u64 = 1 << 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_decisions_at_once_stay_within_the_promised_memory() {
    let attack = Attack::by_admin().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let body = || format!(r#"{{"data":[{}1]}}"#, r#"{"":0},"#.repeat(330_000)).into_bytes();
    let requests =
        (0..3 * DECISIONS_AT_A_TIME).map(|_| attack.send_alone(Method::POST, path, "application/json", body()));
    for answer in attack.meanwhile(join_all(requests)).await {
        // On a machine that is busy with other tests, the last of them may have to wait too long.
        let is_refused = answer.0.is_client_error() || answer.0 == StatusCode::GATEWAY_TIMEOUT;
        assert!(is_refused, "{} {}", answer.0, message(&answer));
    }
    let promised = DECISIONS_AT_A_TIME as u64 * DECISION_BYTES + BESIDES_BYTES;
    assert!(peak_bytes() < promised, "{} MiB", peak_bytes() >> 20);
}

/// The most memory that this process has taken up so far.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
