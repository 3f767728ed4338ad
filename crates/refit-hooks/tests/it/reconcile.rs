//! ExtensionConfigs on a real kube-apiserver, with real extensions behind them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use refit_api::conditions::get;
use refit_api::crd;
use refit_api::hooks::Hook;
use refit_api::runtime::ExtensionConfig;
use refit_hooks::extension_config::{NOT_READY_INTERVAL, REDISCOVERY_INTERVAL, reconcile, warm_up};
use refit_hooks::{Extensions, chain};
use refit_peers::{ControlPlane, Options, require_peers};
use serde_json::{Value, json};

use crate::certificates::Authority;
use crate::objects::namespace;
use crate::peer::{HOST, Peer, Reply, client};

/// How long a CRD may take until its kind is served; a second is usual.
const ESTABLISH_LIMIT: Duration = Duration::from_secs(180);

#[test]
fn extension_configs_are_reconciled_as_upstream_does() {
    let Some(peers) = require_peers() else { return };
    let plane = ControlPlane::start(&peers, Options::default()).expect("a control plane must start");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime must start");
    runtime.block_on(async {
        let cluster = Cluster::connect(&plane).await;
        cluster.install().await;
        one_broken_extension_does_not_hold_up_the_others(&cluster).await;
        the_status_follows_the_extension(&cluster).await;
        pausing_and_deleting_are_respected(&cluster).await;
    });
}

async fn one_broken_extension_does_not_hold_up_the_others(cluster: &Cluster) {
    let peer = extension(Arc::default()).await;
    cluster.create_secret("good-ca", peer.ca.as_bytes()).await;
    cluster.create("good", peer.port, Some("default/good-ca")).await;
    cluster.create("known", 1, None).await;
    let handler = json!({
        "name": "update.known",
        "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" },
    });
    let status = Patch::Merge(json!({ "status": { "handlers": [handler] } }));
    cluster.configs.patch_status("known", &PatchParams::default(), &status).await.expect("the status must be written");
    cluster.create("no-secret", peer.port, Some("default/nothing")).await;

    let extensions = Extensions::new(client());
    let early = reconcile(&cluster.client, &extensions, "good", Timestamp::now()).await;
    assert_eq!(early.expect("a cold registry is no error"), Some(NOT_READY_INTERVAL));
    let failures = warm_up(&cluster.client, &extensions, Timestamp::now()).await.expect("the list must be read");
    let names: Vec<&str> = failures.iter().map(|failure| failure.extension_config.as_str()).collect();
    assert_eq!(names, ["known", "no-secret"]);
    assert!(failures[1].words.contains("failed to get secret \"default/nothing\""), "{}", failures[1].words);
    assert_eq!(updaters(&extensions), ["update.good", "update.known"], "what was known before is not forgotten");
    assert_eq!(cluster.discovered("known").await.0, "False");
    assert_eq!(get(&cluster.get("no-secret").await.status.conditions, "Discovered"), None);
    for name in ["good", "known", "no-secret"] {
        cluster.configs.delete(name, &DeleteParams::default()).await.expect("it must be deleted");
    }
}

async fn the_status_follows_the_extension(cluster: &Cluster) {
    let is_broken = Arc::<AtomicBool>::default();
    let peer = extension(Arc::clone(&is_broken)).await;
    cluster.create_secret("ca", peer.ca.as_bytes()).await;
    cluster.create("ext", peer.port, Some("default/ca")).await;
    let extensions = Extensions::new(client());
    extensions.set_ready();
    let reconciled = async || reconcile(&cluster.client, &extensions, "ext", Timestamp::now()).await;

    assert_eq!(reconciled().await.expect("it must be reconciled"), Some(REDISCOVERY_INTERVAL));
    let config = cluster.get("ext").await;
    assert_eq!(config.spec.client_config.ca_bundle, Some(ByteString(peer.ca.clone().into_bytes())));
    assert_eq!(config.metadata.generation, Some(2), "the certificates are a change of the spec");
    assert_eq!(cluster.discovered("ext").await, ("True".to_owned(), "Discovered".to_owned(), Some(2), String::new()));
    let handlers = serde_json::to_value(&config.status.handlers).expect("handlers must encode");
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" });
    let expected = json!({ "name": "update.ext", "requestHook": hook, "timeoutSeconds": 10, "failurePolicy": "Fail" });
    assert_eq!(handlers, json!([expected]));
    assert_eq!(updaters(&extensions), ["update.ext"]);

    reconciled().await.expect("it must be reconciled");
    let again = cluster.get("ext").await;
    assert_eq!(again.metadata.resource_version, config.metadata.resource_version, "nothing is written the second time");

    is_broken.store(true, Ordering::SeqCst);
    let error = reconciled().await.expect_err("the extension is broken");
    let says = "failed to discover extension \"ext\": got failure response with message: out of order";
    assert_eq!(chain(&error), format!("failed to discover ExtensionConfig ext: {says}"));
    let (status, reason, generation, message) = cluster.discovered("ext").await;
    assert_eq!((status.as_str(), reason.as_str(), generation), ("False", "NotDiscovered", Some(2)));
    assert_eq!(message, format!("Error in discovery: {says}"));
    assert_eq!(cluster.get("ext").await.status.handlers.len(), 1, "what was known stays");
    assert_eq!(updaters(&extensions), ["update.ext"]);

    is_broken.store(false, Ordering::SeqCst);
    let other = Authority::new().pem();
    let data = Patch::Merge(json!({ "data": { "ca.crt": ByteString(other.into_bytes()) } }));
    cluster.secrets.patch("ca", &PatchParams::default(), &data).await.expect("the Secret must be written");
    let error = reconciled().await.expect_err("the extension is a stranger now");
    assert!(chain(&error).contains("invalid peer certificate"), "{}", chain(&error));
    assert_eq!(cluster.discovered("ext").await.2, Some(3), "the condition is about the spec as it is now");
    let data = Patch::Merge(json!({ "data": { "ca.crt": null, "tls.crt": "eA==" } }));
    cluster.secrets.patch("ca", &PatchParams::default(), &data).await.expect("the Secret must be written");
    let error = chain(&reconciled().await.expect_err("there is no certificate"));
    let says = "failed to reconcile caBundle: secret default/ca does not contain a \"ca.crt\" entry";
    assert_eq!(error, format!("failed to reconcile ExtensionConfig: {says}"));
}

async fn pausing_and_deleting_are_respected(cluster: &Cluster) {
    let peer = extension(Arc::default()).await;
    cluster.create_secret("ca2", peer.ca.as_bytes()).await;
    cluster.create("paused", peer.port, Some("default/ca2")).await;
    let extensions = Extensions::new(client());
    extensions.set_ready();
    let reconciled = async || reconcile(&cluster.client, &extensions, "paused", Timestamp::now()).await;
    reconciled().await.expect("it must be reconciled");
    let asked = peer.received().len();
    let pause = Patch::Merge(json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": "" } } }));
    cluster.configs.patch("paused", &PatchParams::default(), &pause).await.expect("it must be paused");
    assert_eq!(reconciled().await.expect("it must be reconciled"), None);
    let config = cluster.get("paused").await;
    let condition = get(&config.status.conditions, "Paused").expect("there must be the condition");
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Paused"));
    assert_eq!(condition.message, "ExtensionConfig has the cluster.x-k8s.io/paused annotation");
    assert_eq!(peer.received().len(), asked, "a paused extension is not asked");
    assert_eq!(updaters(&extensions), ["update.paused"]);
    cluster.configs.delete("paused", &DeleteParams::default()).await.expect("it must be deleted");
    assert_eq!(reconciled().await.expect("it must be reconciled"), None);
    assert!(updaters(&extensions).is_empty());
}

/// An extension with one handler, which can be broken.
async fn extension(is_broken: Arc<AtomicBool>) -> Peer {
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" });
    let good = json!({ "status": "Success", "handlers": [{ "name": "update", "requestHook": hook }] });
    Peer::start(move |_, _| {
        let broken = json!({ "status": "Failure", "message": "out of order" });
        Reply::Json(if is_broken.load(Ordering::SeqCst) { broken } else { good.clone() })
    })
    .await
}

fn updaters(extensions: &Extensions) -> Vec<String> {
    let matching = extensions.registry().matching(Hook::UpdateMachine, &namespace()).expect("it must be ready");
    matching.iter().map(|registration| registration.name.to_string()).collect()
}

struct Cluster {
    client: kube::Client,
    configs: Api<ExtensionConfig>,
    secrets: Api<Secret>,
}

impl Cluster {
    async fn connect(plane: &ControlPlane) -> Self {
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig must be readable");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = kube::Client::try_from(config.expect("the kubeconfig must be complete"));
        let client = client.expect("a client must be made");
        let (configs, secrets) = (Api::all(client.clone()), Api::namespaced(client.clone(), "default"));
        Self { client, configs, secrets }
    }

    /// Creates the CRD and waits until its kind is served.
    async fn install(&self) {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        let object = serde_json::from_value(crd::of::<ExtensionConfig>()).expect("a CRD must be an object");
        crds.create(&PostParams::default(), &object).await.expect("the CRD must be taken");
        let is_served = async || self.configs.list(&kube::api::ListParams::default()).await.is_ok();
        tokio::time::timeout(ESTABLISH_LIMIT, async {
            while !is_served().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .expect("the kind must be served");
    }

    async fn create_secret(&self, name: &str, ca: &[u8]) {
        let secret = json!({ "metadata": { "name": name }, "data": { "ca.crt": ByteString(ca.to_vec()) } });
        let secret = serde_json::from_value(secret).expect("the Secret must decode");
        self.secrets.create(&PostParams::default(), &secret).await.expect("the Secret must be created");
    }

    async fn create(&self, name: &str, port: u16, secret: Option<&str>) {
        let annotations: Value = match secret {
            Some(secret) => json!({ "runtime.cluster.x-k8s.io/inject-ca-from-secret": secret }),
            None => json!({}),
        };
        let config = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "clientConfig": { "url": format!("https://{HOST}:{port}") }, "namespaceSelector": {} },
        });
        let config = serde_json::from_value(config).expect("the ExtensionConfig must decode");
        self.configs.create(&PostParams::default(), &config).await.expect("the ExtensionConfig must be created");
    }

    async fn get(&self, name: &str) -> ExtensionConfig {
        self.configs.get(name).await.expect("the ExtensionConfig must be there")
    }

    /// Status, reason, generation and message of the condition `Discovered`.
    async fn discovered(&self, name: &str) -> (String, String, Option<i64>, String) {
        let config = self.get(name).await;
        let condition = get(&config.status.conditions, "Discovered").expect("there must be the condition").clone();
        (condition.status, condition.reason, condition.observed_generation, condition.message)
    }
}
