//! What an update costs per machine does not follow from how many machines there are.

use std::collections::BTreeMap;

use serde_json::json;

use crate::plain::Provider;
use crate::plane::Plane;
use crate::rollouts::{extension_config, memory_updater, rolled_out, settle, want_more_memory};

/// The fleets that are compared, one four times the other.
const SMALL: usize = 8;
const LARGE: usize = 32;
/// Where a machine's event costs a pass over every other machine, a fleet of four times the size costs four times as
/// much per machine. How many events become one pass is a matter of luck; that much luck it is not.
const LUCK: f64 = 2.0;

/// How often something was done for one machine, on average.
type PerMachine = BTreeMap<String, f64>;

struct Cost {
    passes: PerMachine,
    writes: PerMachine,
    reads: BTreeMap<String, usize>,
}

/// Updates a fleet in place, a quarter of it at a time.
async fn update(machines: usize) -> Cost {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    let _provider = Provider::start(client.clone());
    extension_config(client).await;
    settle(client, machines, json!("25%")).await;
    plane.at_rest().await;
    let before = plane.passes();
    plane.reads.lock().expect("nobody must panic while counting").clear();

    want_more_memory(client).await;
    rolled_out(client, "large", machines).await;
    let writes = plane.at_rest().await;
    let mut reads = plane.reads.lock().expect("nobody must panic while counting").clone();
    reads.retain(|what, _| what.starts_with("GET"));
    let since = |(controller, passes): (String, usize)| {
        let passes = passes - before.get(&controller).copied().unwrap_or_default();
        (controller, passes)
    };
    let passes = plane.passes().into_iter().map(since);
    let per_machine = |(what, count): (String, usize)| (what, count as f64 / machines as f64);
    let cost = Cost {
        passes: passes.map(per_machine).collect(),
        writes: writes.into_iter().map(per_machine).collect(),
        reads,
    };
    plane.end().await;
    cost
}

fn assert_no_more(what: &str, small: &PerMachine, large: &PerMachine) {
    for (name, count) in large {
        // What is done once per rollout is less than once per machine, and may be anything.
        let usual = small.get(name).copied().unwrap_or_default().max(1.0);
        assert!(*count <= usual * LUCK, "{what} of {name} per machine: {count} of {large:?}, and {small:?} before");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_larger_fleet_costs_no_more_per_machine() {
    let (small, large) = tokio::join!(update(SMALL), update(LARGE));
    assert_no_more("passes", &small.passes, &large.passes);
    assert_no_more("writes", &small.writes, &large.writes);
    assert_eq!((small.reads, large.reads), Default::default(), "everything is known from watches");
    assert!(large.passes.get("machine").is_some_and(|passes| *passes >= 1.0), "{:?}", large.passes);
}
