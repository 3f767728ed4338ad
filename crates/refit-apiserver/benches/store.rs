//! Durable writes per second, and the memory that objects take: `cargo bench -p refit-apiserver --bench store`.
//!
//! Ratios count, not numbers: compare on one machine, in one run.

use std::{fs, time::Instant};

use refit_apiserver::store::{Key, Record, Scope, Store, Write};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const OBJECTS: usize = 50_000;
const WRITES: usize = 4_000;

fn main() {
    // `cargo test --benches` runs this, too, and only wants to know that it works.
    let (objects, writes) = if std::env::args().any(|it| it == "--bench") { (OBJECTS, WRITES) } else { (50, 50) };
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime must start");
    for writers in [1, 16, 128] {
        durable_writes(&runtime, writers, writes);
    }
    memory(&runtime, objects);
}

fn durable_writes(runtime: &Runtime, writers: usize, writes: usize) {
    let folder = TempDir::new().expect("a folder must be made");
    let store = Store::open(folder.path()).expect("the store must open");
    let start = Instant::now();
    runtime.block_on(async {
        let tasks: Vec<_> =
            (0..writers).map(|n| tokio::spawn(update(store.clone(), n, writes / writers + 1))).collect();
        for task in tasks {
            task.await.expect("a writer must not panic");
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{writers:>4} writers: {:>7.0} durable writes/s",
        (writes / writers + 1) as f64 * writers as f64 / seconds
    );
}

async fn update(store: Store, writer: usize, rounds: usize) {
    let mut last: Option<Record> = None;
    for round in 0..rounds {
        let write = match &last {
            None => Write::create(key(writer), object(writer, round)),
            Some(last) => Write::replace(key(writer), last.revision(), object(writer, round)),
        };
        last = store.commit(vec![write]).await.expect("nobody else writes this object").pop();
    }
}

fn memory(runtime: &Runtime, objects: usize) {
    let folder = TempDir::new().expect("a folder must be made");
    let store = Store::open(folder.path()).expect("the store must open");
    let start = Instant::now();
    for first in (0..objects).step_by(200) {
        let writes = (first..(first + 200).min(objects)).map(|n| Write::create(key(n), object(n, n))).collect();
        runtime.block_on(store.commit(writes)).expect("nobody else writes");
    }
    println!("{objects} objects written in {:.2} s, resident {} MiB with history", seconds(start), resident_mib());
    drop(store);
    let start = Instant::now();
    let store = Store::open(folder.path()).expect("the store must open");
    println!("opened again in {:.2} s, resident {} MiB", seconds(start), resident_mib());
    let start = Instant::now();
    let records = store.list(&Scope::resource("main", "g/machines"), None, None).expect("the latest is there").records;
    let bytes: usize = records.iter().map(|record| record.json().len()).sum();
    println!("listed {} objects, {} MiB of JSON, in {:.4} s", records.len(), bytes >> 20, seconds(start));
    let start = Instant::now();
    let values: Vec<_> = records.iter().map(Record::value).collect();
    println!("decoded all in {:.2} s, resident {} MiB while held", seconds(start), resident_mib());
    drop(values);
}

fn seconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}

fn resident_mib() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|it| it.parse::<usize>().ok()).unwrap_or_default() * 4 / 1024
}

fn key(number: usize) -> Key {
    Key::new("main", "g/machines", "default", format!("machine-{number:06}"))
}

/// About 4 KiB, shaped like a Machine with managed fields and conditions.
fn object(number: usize, round: usize) -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Ready", "observedGeneration": round,
               "lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""})
    };
    let fields = |names: &[&str]| names.iter().map(|name| (format!("f:{name}"), json!({}))).collect::<Value>();
    let spec = ["clusterName", "version", "providerID", "bootstrap", "infrastructureRef", "readinessGates", "deletion"];
    let labels: Value =
        (0..12).map(|n| (format!("example.io/label-{n}"), json!(format!("value-{number}-{n}")))).collect();
    let entry = json!({"manager": "controller", "operation": "Apply", "apiVersion": "g/v1", "fieldsType": "FieldsV1",
                       "fieldsV1": {"f:spec": fields(&spec), "f:metadata": {"f:labels": fields(&spec)}}});
    let kinds =
        ["Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "Deleting"];
    json!({
        "apiVersion": "g/v1", "kind": "Machine",
        "metadata": {"name": format!("machine-{number:06}"), "namespace": "default", "labels": labels,
                     "uid": format!("00000000-0000-4000-8000-{number:012}"), "managedFields": [entry, entry, entry]},
        "spec": {"clusterName": "prod", "version": "v1.36.3", "providerID": format!("sim:///{number}"),
                 "failureDomain": "a", "bootstrap": {"dataSecretName": format!("machine-{number:06}")}},
        "status": {"phase": "Running", "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                   "conditions": kinds.map(condition)},
    })
}
