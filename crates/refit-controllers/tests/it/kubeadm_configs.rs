//! Machines that become Nodes by kubeadm: from an empty cluster to workers, on the embedded API server.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, ListParams, Patch};
use refit_api::bootstrap::KubeadmConfig;
use refit_api::conditions::get;
use serde_json::{Value, json};

use crate::plain::{self, CORE, INFRASTRUCTURE_V1, Provider, named, reference};
use crate::plane::Plane;
use crate::rollouts::memory_updater;
use crate::world::{api, create, until};

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
/// More often than the controllers write for one Machine.
const CRASHES: usize = 40;

/// A Cluster whose infrastructure is there. Its API does not answer yet.
async fn cluster(client: &Client) {
    plain::cluster(client).await;
    plain::provision_one(client, "PlainCluster", "c").await;
    if api(client, "v1", "Namespace", None).get_opt("kube-system").await.expect("it must be read").is_none() {
        create(client, "v1", "Namespace", None, json!({ "metadata": { "name": "kube-system" } })).await;
    }
}

/// A Machine with a KubeadmConfig and a host, as their owners make them.
async fn machine(client: &Client, name: &str, is_control_plane: bool, spec: Value) {
    let mut labels = json!({ "cluster.x-k8s.io/cluster-name": "c" });
    if is_control_plane {
        labels["cluster.x-k8s.io/control-plane"] = json!("");
    }
    let metadata = json!({ "name": name, "namespace": "default", "labels": labels });
    let config = json!({ "metadata": metadata, "spec": spec });
    create(client, BOOTSTRAP, "KubeadmConfig", Some("default"), config).await;
    create(client, INFRASTRUCTURE_V1, "PlainMachine", Some("default"), named(name, json!({}))).await;
    let bootstrap = json!({ "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name });
    let spec = json!({
        "clusterName": "c",
        "version": "v1.34.0",
        "bootstrap": { "configRef": bootstrap },
        "infrastructureRef": reference("PlainMachine", name),
    });
    create(client, CORE, "Machine", Some("default"), json!({ "metadata": metadata, "spec": spec })).await;
}

/// The first host is up: the API answers.
async fn first_host(client: &Client, name: &str) {
    plain::kubeconfig(client).await;
    host(client, name).await;
}

/// The host is up, and kubeadm has done its work.
async fn host(client: &Client, name: &str) {
    plain::node(client, name).await;
    plain::provision_one(client, "PlainMachine", name).await;
}

/// Keys that are quickly made.
fn quick() -> Value {
    json!({ "clusterConfiguration": { "encryptionAlgorithm": "ECDSA-P256" } })
}

/// A spec must not be empty.
fn plain_spec() -> Value {
    json!({ "verbosity": 2 })
}

async fn secret(client: &Client, namespace: &str, name: &str) -> Option<Secret> {
    Api::<Secret>::namespaced(client.clone(), namespace).get_opt(name).await.expect("it must be read")
}

fn text(secret: &Secret, key: &str) -> String {
    let value = secret.data.as_ref().and_then(|data| data.get(key)).expect("it must have the key");
    String::from_utf8(value.0.clone()).expect("it must be text")
}

/// The Secret with the bootstrap data once the Machine knows of it.
async fn data(client: &Client, name: &str) -> Secret {
    let machines = api(client, CORE, "Machine", Some("default"));
    until(&format!("{name} has bootstrap data"), async || {
        let machine = machines.get(name).await.expect("it must be there");
        machine.data["spec"]["bootstrap"]["dataSecretName"].as_str().map(str::to_owned)
    })
    .await;
    secret(client, "default", name).await.expect("it must be there")
}

async fn config(client: &Client, name: &str) -> KubeadmConfig {
    Api::<KubeadmConfig>::namespaced(client.clone(), "default").get(name).await.expect("it must be there")
}

async fn lock(client: &Client) -> Option<String> {
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let lock = maps.get_opt("c-lock").await.expect("it must be read")?;
    lock.data.and_then(|mut data| data.remove("lock-information"))
}

async fn tokens(client: &Client) -> Vec<Secret> {
    let secrets = Api::<Secret>::namespaced(client.clone(), "kube-system");
    let all = secrets.list(&ListParams::default()).await.expect("they must be listed").items;
    all.into_iter().filter(|secret| secret.type_.as_deref() == Some("bootstrap.kubernetes.io/token")).collect()
}

fn expiration(token: &Secret) -> Timestamp {
    text(token, "expiration").parse().expect("it must be a time")
}

/// Why there is no bootstrap data.
async fn message(client: &Client, name: &str) -> Option<String> {
    let config = config(client, name).await;
    let condition = get(&config.status.conditions, "DataSecretAvailable")?;
    (condition.status == "False").then(|| condition.message.clone())
}

async fn message_is(client: &Client, name: &str, expected: &str) {
    until(expected, async || message(client, name).await.filter(|message| message == expected)).await;
}

/// From an empty cluster to one with its first control plane Machine.
async fn started(plane: &Plane) {
    cluster(&plane.client).await;
    machine(&plane.client, "cp-0", true, quick()).await;
    data(&plane.client, "cp-0").await;
    first_host(&plane.client, "cp-0").await;
    until("the control plane is initialized", async || {
        let cluster = api(&plane.client, CORE, "Cluster", Some("default")).get("c").await.expect("it must be there");
        (cluster.data["status"]["initialization"]["controlPlaneInitialized"] == true).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_started_by_one_machine_and_joined_by_the_others() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    cluster(client).await;
    machine(client, "w-0", false, plain_spec()).await;
    message_is(client, "w-0", "Waiting for Cluster control plane to be initialized").await;
    machine(client, "cp-0", true, quick()).await;
    let init = data(client, "cp-0").await;
    let told = text(&init, "value");
    assert!(told.starts_with("## template: jinja\n#cloud-config\n") && told.contains("kubeadm init"), "{told}");
    assert!(told.contains("controlPlaneEndpoint: localhost:6443"), "{told}");
    assert_eq!(text(&init, "format"), "cloud-config");
    let ca = secret(client, "default", "c-ca").await.expect("it must be made");
    let first_line = text(&ca, "tls.crt").lines().nth(1).map(str::to_owned).expect("it has lines");
    assert!(told.contains(&first_line), "the authority goes to the host");
    assert_eq!(lock(client).await.as_deref(), Some(r#"{"machineName":"cp-0"}"#));
    assert!(secret(client, "default", "w-0").await.is_none());

    first_host(client, "cp-0").await;
    let joined = text(&data(client, "w-0").await, "value");
    assert!(joined.contains("kubeadm join") && joined.contains("node.cluster.x-k8s.io/uninitialized"), "{joined}");
    assert!(!joined.contains(&first_line), "a worker gets no certificates");
    let discovery = config(client, "w-0").await.spec.join_configuration.discovery.bootstrap_token;
    let token = discovery.token.expect("it must be written back");
    assert!(joined.contains(&token) && discovery.ca_cert_hashes.len() == 1, "{joined}");
    assert_eq!(discovery.api_server_endpoint.as_deref(), Some("localhost:6443"));
    assert_eq!(lock(client).await, None, "the cluster runs");

    machine(client, "cp-1", true, plain_spec()).await;
    let joined = text(&data(client, "cp-1").await, "value");
    assert!(joined.contains("kubeadm join") && joined.contains(&first_line), "{joined}");
    let written = config(client, "cp-1").await.spec.join_configuration;
    assert!(written.control_plane.is_some(), "that is how kubeadm knows a control plane");
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_good_until_its_machine_has_a_node() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    started(&plane).await;
    machine(client, "w-0", false, plain_spec()).await;
    data(client, "w-0").await;
    let [made] = tokens(client).await.try_into().expect("there must be one token");
    assert_eq!(text(&made, "auth-extra-groups"), "system:bootstrappers:kubeadm:default-node-token");
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    let [kept] = tokens(client).await.try_into().expect("there must be the same token");
    assert_eq!(text(&made, "token-secret"), text(&kept, "token-secret"));
    assert!(expiration(&kept) > plane.clock.now(), "{} {}", expiration(&kept), plane.clock.now());
    host(client, "w-0").await;
    let machines = api(client, CORE, "Machine", Some("default"));
    until("the Machine has a Node", async || {
        let machine = machines.get("w-0").await.expect("it must be there");
        (!machine.data["status"]["nodeRef"].is_null()).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    let [left] = tokens(client).await.try_into().expect("Kubernetes' own cleaner does not run here");
    assert!(expiration(&left) < plane.clock.now(), "nobody needs it any more");
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn data_is_never_made_again_whatever_becomes_of_the_spec() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    started(&plane).await;
    machine(client, "w-0", false, plain_spec()).await;
    let before = data(client, "w-0").await;
    let configs = api(client, BOOTSTRAP, "KubeadmConfig", Some("default"));
    let patch = Patch::Merge(json!({ "spec": { "files": [{ "path": "/new", "content": "new" }] } }));
    configs.patch("w-0", &Default::default(), &patch).await.expect("it must be changed");
    plane.at_rest().await;
    let after = secret(client, "default", "w-0").await.expect("it must be there");
    assert_eq!(before, after);
    let observed = config(client, "w-0").await;
    assert_eq!(observed.status.observed_generation, observed.metadata.generation);
    assert_eq!(get(&observed.status.conditions, "Ready").map(|it| it.status.as_str()), Some("True"));
    // As after a restore: the status is lost, and the Secret's owner.
    let lost = Patch::Json::<()>(
        serde_json::from_value(json!([{ "op": "remove", "path": "/status" }])).expect("it must be a patch"),
    );
    configs.patch_status("w-0", &Default::default(), &lost).await.expect("it must be changed");
    let orphan = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
    let secrets = Api::<Secret>::namespaced(client.clone(), "default");
    secrets.patch("w-0", &Default::default(), &orphan).await.expect("it must be changed");
    configs
        .patch("w-0", &Default::default(), &Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } })))
        .await
        .expect("it must be changed");
    plane.at_rest().await;
    let restored = secret(client, "default", "w-0").await.expect("it must be there");
    assert_eq!(restored.data, before.data);
    assert_eq!(restored.metadata.owner_references, before.metadata.owner_references);
    assert_eq!(config(client, "w-0").await.status.data_secret_name.as_deref(), Some("w-0"));
    plane.end().await;
}

#[tokio::test(start_paused = true)]
async fn content_comes_from_secrets_and_what_is_missing_is_named() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    started(&plane).await;
    let spec = json!({
        "files": [
            { "path": "/etc/extra", "contentFrom": { "secret": { "name": "extra", "key": "file" } } },
            { "path": "/etc/version", "contentFormat": "Template",
              "content": "{{ if .controlPlane }}{{ .controlPlane.version }}{{ else }}unknown{{ end }}" },
        ],
        "users": [{ "name": "admin", "passwdFrom": { "secret": { "name": "extra", "key": "hash" } } }],
    });
    machine(client, "w-0", false, spec).await;
    message_is(client, "w-0", "Secret extra that the KubeadmConfig refers to does not exist; create it").await;
    assert_eq!(tokens(client).await.len(), 0, "what cannot be rendered takes no token");
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let extra = json!({ "metadata": { "name": "extra" }, "data": { "file": bytes("from the Secret\n") } });
    create(client, "v1", "Secret", Some("default"), extra).await;
    message_is(client, "w-0", "Secret extra has no key \"hash\"; add it").await;
    let secrets = Api::<Secret>::namespaced(client.clone(), "default");
    let patch = Patch::Merge(json!({ "data": { "hash": bytes("$6$hash") } }));
    secrets.patch("extra", &Default::default(), &patch).await.expect("it must be changed");
    let told = text(&data(client, "w-0").await, "value");
    assert!(told.contains("      from the Secret\n") && told.contains("passwd: '$6$hash'"), "{told}");
    assert!(told.contains("path: /etc/version\n    content: unknown"), "{told}");
    machine(client, "w-1", false, json!({ "format": "ignition" })).await;
    message_is(client, "w-1", "spec.format ignition is not supported yet; use cloud-config").await;
    plane.end().await;
}

#[tokio::test]
async fn a_process_that_dies_after_any_write_leads_to_one_token_and_one_secret() {
    let mut plane = Plane::start(memory_updater()).await;
    started(&plane).await;
    let client = plane.client.clone();
    plane.at_rest().await;
    let before = tokens(&client).await.len();
    machine(&client, "w-0", false, plain_spec()).await;
    let mut crashes = 0;
    while crashes < CRASHES {
        let writes = || plane.writes.lock().expect("nobody must panic while counting").values().sum::<usize>();
        let before = writes();
        let wrote = async {
            while writes() == before {
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(10), wrote).await.is_err() {
            break;
        }
        plane.crash().await;
        crashes += 1;
    }
    assert!(crashes > 0, "there must be something to die in");
    let told = text(&data(&client, "w-0").await, "value");
    plane.at_rest().await;
    assert_eq!(before, 0);
    let [token] = tokens(&client).await.try_into().expect("there must be one token");
    let token = format!("{}.{}", text(&token, "token-id"), text(&token, "token-secret"));
    assert!(told.contains(&token), "{told}");
    let written = config(&client, "w-0").await.spec.join_configuration.discovery.bootstrap_token;
    assert_eq!(written.token, Some(token));
    assert_eq!(text(&data(&client, "w-0").await, "value"), told);
    plane.end().await;
}

#[tokio::test]
async fn workers_of_a_machine_deployment_get_a_config_of_the_template_each() {
    let plane = Plane::start(memory_updater()).await;
    let client = &plane.client;
    started(&plane).await;
    let _provider = Provider::start(client.clone());
    let spec = json!({ "files": [{ "path": "/etc/motd", "content": "hello\n" }] });
    let template = named("w", json!({ "template": { "spec": spec } }));
    create(client, BOOTSTRAP, "KubeadmConfigTemplate", Some("default"), template).await;
    plain::template(client, "small", "4Gi").await;
    let mut machines = plain::machine_template("small");
    let of_template = json!({ "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "w" });
    machines["spec"]["bootstrap"] = json!({ "configRef": of_template });
    let selector = json!({ "matchLabels": { "app": "w" } });
    let spec = json!({ "clusterName": "c", "replicas": 2, "selector": selector, "template": machines });
    create(client, CORE, "MachineDeployment", Some("default"), named("md", spec)).await;
    crate::rollouts::rolled_out(client, "small", 2).await;
    let all = Api::<KubeadmConfig>::namespaced(client.clone(), "default").list(&ListParams::default()).await;
    let all = all.expect("they must be listed").items;
    let workers: Vec<_> = all.iter().filter(|config| config.metadata.name.as_deref() != Some("cp-0")).collect();
    assert_eq!(workers.len(), 2);
    for worker in workers {
        let name = worker.metadata.name.as_deref().expect("it must have a name");
        let told = text(&data(client, name).await, "value");
        assert!(told.contains("path: /etc/motd") && told.contains("kubeadm join"), "{told}");
        let token = worker.spec.join_configuration.discovery.bootstrap_token.token.as_deref();
        assert!(token.is_some_and(|token| told.contains(token)), "each has a token of its own");
    }
    plane.end().await;
}
