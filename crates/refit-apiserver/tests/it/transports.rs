//! The same over both transports: in process, and over HTTPS.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::running::{Running, admin_in_process, refusal};

/// Does the same with a client of each transport, on a new server each time.
pub async fn check_both<F: Future<Output = ()>>(test: impl Fn(Client) -> F) {
    let running = Running::start().await;
    test(admin_in_process(&running.host)).await;
    running.stop().await;
    let running = Running::start().await;
    test(running.client().await).await;
    running.stop().await;
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..Default::default() };
    ConfigMap { metadata, data: Some([("k".to_owned(), value.to_owned())].into()), ..Default::default() }
}

#[tokio::test]
async fn objects_are_made_read_changed_and_listed() {
    check_both(|client| async move {
        let maps: Api<ConfigMap> = Api::namespaced(client, "default");
        let made = maps.create(&PostParams::default(), &config_map("x", "1")).await.expect("it must be made");
        assert_eq!(refusal(maps.create(&PostParams::default(), &config_map("x", "1")).await).0, 409);
        let patch = json!({"data": {"k": "2"}});
        let patched = maps.patch("x", &PatchParams::default(), &Patch::Merge(patch)).await.expect("it must be patched");
        let uid = made.metadata.uid.clone();
        assert_eq!((patched.metadata.uid, patched.data.unwrap()["k"].as_str()), (uid, "2"));
        let stale = ConfigMap { metadata: made.metadata, ..config_map("x", "3") };
        let (code, _) = refusal(maps.replace("x", &PostParams::default(), &stale).await);
        assert_eq!(code, 409);
        assert_eq!(maps.list(&ListParams::default()).await.expect("they must be listed").items.len(), 1);
        assert_eq!(refusal(maps.get("y").await), (404, "configmaps \"y\" not found".to_owned()));
    })
    .await;
}
