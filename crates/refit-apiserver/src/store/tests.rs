//! The store through its public face, in memory and on disk.

mod crash;
mod disk;
mod model;
mod reads;
mod watches;
mod writes;

use proptest::prelude::ProptestConfig;
use serde_json::{Value, json};

use super::*;

const CLUSTER: &str = "main";
const RESOURCE: &str = "example.io/widgets";

fn key(name: &str) -> Key {
    Key::new(CLUSTER, RESOURCE, "default", name)
}

fn scope() -> Scope {
    Scope::resource(CLUSTER, RESOURCE)
}

fn object(name: &str, number: u64) -> Value {
    json!({"metadata": {"name": name}, "spec": {"number": number}})
}

fn number(record: &Record) -> u64 {
    record.value()["spec"]["number"].as_u64().unwrap()
}

async fn create(store: &Store, name: &str, number: u64) -> Record {
    store.commit(vec![Write::create(key(name), object(name, number))]).await.unwrap().remove(0)
}

async fn replace(store: &Store, old: &Record, number: u64) -> Record {
    let name = old.key().name().to_owned();
    let write = Write::replace(old.key().clone(), old.revision(), object(&name, number));
    store.commit(vec![write]).await.unwrap().remove(0)
}

async fn delete(store: &Store, old: &Record) -> Record {
    store.commit(vec![Write::delete(old.key().clone(), old.revision())]).await.unwrap().remove(0)
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.records.iter().map(|record| record.key().name()).collect()
}

/// So many cases, or as many as `PROPTEST_CASES` says.
fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases, ..config } }
}

fn few(resource_events: usize) -> Limits {
    Limits { resource_events, ..Limits::default() }
}
