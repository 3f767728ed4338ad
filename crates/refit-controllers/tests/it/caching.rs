use std::time::Duration;

use kube::api::{Patch, PatchParams};
use refit_controllers::cache::{BY_CLUSTER, Cache, ObjectKey};
use refit_controllers::chance::Chance;
use serde_json::json;

use crate::world::{api, create, embedded, machine};

const LIMIT: Duration = Duration::from_secs(180);
const VERSION: &str = "cluster.x-k8s.io/v1beta2";

#[tokio::test]
async fn a_write_is_seen_in_the_cache_and_found_by_its_cluster() {
    let client = embedded().await;
    create(&client, VERSION, "Machine", Some("default"), machine("m1")).await;
    let cache = Cache::start(&client, &Chance::from_seed(1));
    assert!(cache.wait_ready(LIMIT).await, "all kinds must be listed");
    let key = ObjectKey::new("default", "m1");
    assert!(cache.machines.get(&key).is_some());
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    let machines = api(&client, VERSION, "Machine", Some("default"));
    let written = machines.patch("m1", &PatchParams::default(), &patch).await.expect("it must be patched");
    let version =
        written.metadata.resource_version.expect("it must have a version").parse().expect("it must be a number");
    assert!(cache.machines.wait_seen(version, LIMIT).await);
    let found = cache.machines.by(BY_CLUSTER, "default/c");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].metadata.labels.as_ref().and_then(|labels| labels.get("a")).map(String::as_str), Some("b"));
    let definition = ObjectKey::new("", "machines.cluster.x-k8s.io");
    assert!(cache.definitions.get(&definition).is_some());
}
