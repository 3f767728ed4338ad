//! Certificates and kubeconfigs of clusters, on the embedded API server.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::config::Kubeconfig;
use refit_api::bootstrap::{ClusterConfiguration, EncryptionAlgorithmType};
use refit_controllers::cache::ObjectKey;
use refit_controllers::certificates::{
    CertificateError, ClientIdentity, ClusterCertificates, KeyPair, KeySettings, issue_client, public_key_hashes,
};
use refit_controllers::clock::Clock;
use refit_plan::certificates::{NeededPair, Purpose, needed_by_control_plane};
use serde_json::{Value, json};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::world::{create, embedded};

const QUICK: KeySettings = KeySettings { algorithm: EncryptionAlgorithmType::EcdsaP256, authority_days: 30 };
const RSA: KeySettings = KeySettings { algorithm: EncryptionAlgorithmType::Rsa2048, authority_days: 30 };

fn cluster() -> ObjectKey {
    ObjectKey::new("default", "c")
}

/// An object that is there: what belongs to one that is not is collected as garbage.
async fn owner(client: &Client) -> OwnerReference {
    let metadata = json!({ "name": "owner", "namespace": "default" });
    let made = create(client, "v1", "ConfigMap", Some("default"), json!({ "metadata": metadata })).await;
    reference(made["metadata"]["uid"].as_str().expect("it must have a uid"))
}

fn reference(uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "owner".to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn needed() -> Vec<NeededPair> {
    needed_by_control_plane(&ClusterConfiguration::default())
}

fn at(client: &Client, time: Timestamp) -> ClusterCertificates {
    ClusterCertificates::new(client.clone(), Clock::beginning(time))
}

async fn secret(client: &Client, name: &str) -> Secret {
    Api::<Secret>::namespaced(client.clone(), "default").get(name).await.expect("the Secret must be there")
}

/// Holds a certificate against what it should be; `signer` has signed it.
fn check_signed(certificate: &str, signer: &str, subject: &str, validity: SignedDuration) {
    let (_, block) = parse_x509_pem(certificate.as_bytes()).expect("it must be PEM");
    let (_, certificate) = X509Certificate::from_der(&block.contents).expect("it must be a certificate");
    let (_, block) = parse_x509_pem(signer.as_bytes()).expect("it must be PEM");
    let (_, signer) = X509Certificate::from_der(&block.contents).expect("it must be a certificate");
    assert_eq!(certificate.subject().to_string(), subject);
    assert_eq!(certificate.issuer(), signer.subject());
    let (from, until) = (certificate.validity().not_before, certificate.validity().not_after);
    let expected = validity.as_secs() + 5 * 60;
    assert!((until.timestamp() - from.timestamp()).abs_diff(expected) <= 1, "{from} {until}");
    certificate.verify_signature(Some(signer.public_key())).expect("the signature must be the authority's");
}

#[tokio::test]
async fn what_is_missing_is_made_once_and_never_written_again() {
    let client = embedded().await;
    let owner = owner(&client).await;
    let store = at(&client, Timestamp::now());
    let made = store.find_or_make(&cluster(), &needed(), QUICK, &owner).await.expect("they must be made");
    assert_eq!(made.missing, []);
    let ca = made.get(Purpose::ClusterAuthority).expect("it must be there");
    check_signed(ca.certificate(), ca.certificate(), "CN=kubernetes", SignedDuration::from_hours(24 * 30));
    let stored = secret(&client, "c-etcd").await;
    assert_eq!(stored.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(stored.metadata.owner_references.as_deref(), Some([owner.clone()].as_slice()));
    let labels = stored.metadata.labels.expect("it must have labels");
    assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "c");
    let again = store.find_or_make(&cluster(), &needed(), RSA, &reference("other")).await.expect("they must be found");
    assert_eq!(again, made);
    assert_eq!(store.find(&cluster(), &needed()).await.expect("they must be found"), made);
}

#[tokio::test]
async fn two_that_make_at_once_end_with_the_same_pairs() {
    let client = embedded().await;
    let (one, other) = (at(&client, Timestamp::now()), at(&client, Timestamp::now()));
    let (all, cluster, owner) = (needed(), cluster(), owner(&client).await);
    let make = |store: ClusterCertificates| {
        let (all, cluster, owner) = (all.clone(), cluster.clone(), owner.clone());
        async move { store.find_or_make(&cluster, &all, QUICK, &owner).await.expect("they must be made") }
    };
    let (one, other) = tokio::join!(make(one), make(other));
    assert_eq!(one, other);
}

#[tokio::test]
async fn nothing_is_made_where_that_is_forbidden() {
    let client = embedded().await;
    let found = at(&client, Timestamp::now()).find(&cluster(), &needed()).await.expect("it must be read");
    assert_eq!(found.missing_secrets("c"), ["c-ca", "c-etcd", "c-proxy", "c-sa"]);
    let listed = Api::<Secret>::namespaced(client, "default").list(&Default::default()).await;
    assert_eq!(listed.expect("they must be listed").items.len(), 0);
}

#[tokio::test]
async fn keys_are_of_the_kind_that_was_asked_for_and_sign() {
    use EncryptionAlgorithmType::{EcdsaP256, EcdsaP384, Rsa2048, Rsa3072};
    for (algorithm, bits) in [(EcdsaP256, 256), (EcdsaP384, 384), (Rsa2048, 2048), (Rsa3072, 3072)] {
        let client = embedded().await;
        let owner = owner(&client).await;
        let (store, now) = (at(&client, Timestamp::now()), Timestamp::now());
        let settings = KeySettings { algorithm, authority_days: 1 };
        let pairs = store.find_or_make(&cluster(), &needed(), settings, &owner).await.expect("they must be made");
        let ca = pairs.get(Purpose::EtcdAuthority).expect("it must be there");
        let (_, block) = parse_x509_pem(ca.certificate().as_bytes()).expect("it must be PEM");
        let (_, certificate) = X509Certificate::from_der(&block.contents).expect("it must be a certificate");
        let key = certificate.public_key().parsed().expect("it must be a known kind of key");
        assert_eq!(key.key_size(), bits);
        let identity = ClientIdentity { user: "u".to_owned(), group: None, validity: SignedDuration::from_hours(2) };
        let issued = issue_client(ca, &identity, algorithm, now).await.expect("it must be issued");
        check_signed(issued.certificate(), ca.certificate(), "CN=u", identity.validity);
        let sa = pairs.get(Purpose::ServiceAccount).expect("it must be there");
        assert!(sa.certificate().starts_with("-----BEGIN PUBLIC KEY-----"), "{}", sa.certificate());
    }
}

/// Pairs as openssl writes them: PKCS#1 and SEC1. Upstream stores them so, too.
#[tokio::test]
async fn authorities_of_users_in_older_forms_sign() {
    for (key, certificate) in [("ca-rsa.key", "ca-rsa.crt"), ("ca-ec.key", "ca-ec.crt")] {
        let client = embedded().await;
        let read = |name: &str| {
            std::fs::read_to_string(format!("{}/tests/it/pki/{name}", env!("CARGO_MANIFEST_DIR")))
                .expect("the file must be there")
        };
        user_pair(&client, json!({ "tls.crt": read(certificate), "tls.key": read(key) })).await;
        let store = at(&client, Timestamp::now());
        let needed = &needed()[..1];
        let pairs = store.find(&cluster(), needed).await.expect("it must be read");
        let ca = pairs.get(Purpose::ClusterAuthority).expect("it must be there");
        let identity = ClientIdentity {
            user: "u".to_owned(),
            group: Some("g".to_owned()),
            validity: SignedDuration::from_hours(2),
        };
        let issued = issue_client(ca, &identity, EncryptionAlgorithmType::EcdsaP256, Timestamp::now()).await;
        let issued = issued.expect("it must be issued");
        check_signed(issued.certificate(), ca.certificate(), "O=g, CN=u", identity.validity);
        let hashes = public_key_hashes(ca.certificate()).expect("it must be hashed");
        let expected = read(&format!("{certificate}.sha256"));
        assert_eq!(hashes, [format!("sha256:{}", expected.trim())]);
    }
}

async fn user_pair(client: &Client, data: Value) {
    let secret = json!({ "metadata": { "name": "c-ca", "namespace": "default" }, "stringData": data });
    create(client, "v1", "Secret", Some("default"), secret).await;
}

async fn check_unusable(data: Value, expected: &str) {
    let client = embedded().await;
    let owner = owner(&client).await;
    user_pair(&client, data).await;
    let store = at(&client, Timestamp::now());
    let error = store.find_or_make(&cluster(), &needed(), QUICK, &owner).await.expect_err("it must be refused");
    assert_eq!(error.to_string(), expected);
    let listed = Api::<Secret>::namespaced(client, "default").list(&Default::default()).await;
    assert_eq!(listed.expect("they must be listed").items.len(), 1, "nothing is made beside a broken one");
}

#[tokio::test]
async fn a_secret_that_is_partial_or_broken_is_named_and_its_content_is_not() {
    let pair = pair().await;
    let no_key = "Secret default/c-ca has no key \"tls.key\"; complete it, or delete it if it was never used";
    check_unusable(json!({ "tls.crt": pair.certificate() }), no_key).await;
    let no_certificate = "Secret default/c-ca has no key \"tls.crt\"; complete it, or delete it if it was never used";
    check_unusable(json!({ "tls.key": pair.key() }), no_certificate).await;
    check_unusable(
        json!({ "tls.crt": pair.certificate(), "tls.key": "secret words" }),
        "key \"tls.key\" of Secret default/c-ca cannot be used: there is no private key in it",
    )
    .await;
    check_unusable(
        json!({ "tls.crt": pair.key(), "tls.key": pair.key() }),
        "key \"tls.crt\" of Secret default/c-ca cannot be used: there is no certificate in it",
    )
    .await;
    assert_eq!(format!("{pair:?}"), "KeyPair { .. }");
}

async fn pair() -> KeyPair {
    let client = embedded().await;
    let owner = owner(&client).await;
    let pairs = at(&client, Timestamp::now()).find_or_make(&cluster(), &needed()[..1], QUICK, &owner).await;
    pairs.expect("it must be made").get(Purpose::ClusterAuthority).cloned().expect("it must be there")
}

async fn kubeconfig(client: &Client) -> (Kubeconfig, String) {
    let data = secret(client, "c-kubeconfig").await.data.expect("it must have data");
    let text = String::from_utf8(data["value"].0.clone()).expect("it must be text");
    (Kubeconfig::from_yaml(&text).expect("it must be a kubeconfig"), text)
}

const ENDPOINT: &str = "c.example:6443";

#[tokio::test]
async fn a_kubeconfig_is_made_renewed_in_time_and_keeps_its_address() {
    let (client, start) = (embedded().await, Timestamp::now());
    let owner = owner(&client).await;
    let early = at(&client, start);
    early.find_or_make(&cluster(), &needed(), QUICK, &owner).await.expect("they must be made");
    let made = early.kubeconfig(&cluster(), ENDPOINT, QUICK, &owner).await.expect("it must be made");
    assert!(made.is_written);
    let (parsed, first) = kubeconfig(&client).await;
    let known = parsed.clusters[0].cluster.clone().expect("it must name a cluster");
    assert_eq!(known.server.as_deref(), Some("https://c.example:6443"));
    let data = parsed.auth_infos[0].auth_info.clone().and_then(|user| user.client_certificate_data);
    let text = BASE64_STANDARD.decode(data.expect("it must be there")).expect("it must be base64");
    let ca = secret(&client, "c-ca").await.data.expect("it must have data")["tls.crt"].0.clone();
    check_signed(
        &String::from_utf8(text).expect("it must be text"),
        &String::from_utf8(ca).expect("it must be text"),
        "O=system:masters, CN=kubernetes-admin",
        SignedDuration::from_hours(365 * 24),
    );
    let kept = early.kubeconfig(&cluster(), "other:1", QUICK, &owner).await.expect("it must be read");
    let after = kept.look_again_after.expect("it will be due").as_secs();
    assert!(!kept.is_written && after.abs_diff(365 * 12 * 3600) < 60, "{kept:?}");
    let late = at(&client, start + SignedDuration::from_hours(365 * 24 / 2 + 1));
    let renewed = late.kubeconfig(&cluster(), "other:1", QUICK, &owner).await.expect("it must be renewed");
    assert!(renewed.is_written);
    let (parsed, second) = kubeconfig(&client).await;
    assert_ne!(first, second);
    let known = parsed.clusters[0].cluster.clone().expect("it must name a cluster");
    assert_eq!(known.server.as_deref(), Some("https://c.example:6443"));
}

#[tokio::test]
async fn a_kubeconfig_of_somebody_else_is_left_alone() {
    let (client, start) = (embedded().await, Timestamp::now());
    let owner = owner(&client).await;
    let early = at(&client, start);
    early.find_or_make(&cluster(), &needed(), QUICK, &owner).await.expect("they must be made");
    early.kubeconfig(&cluster(), ENDPOINT, QUICK, &owner).await.map(drop).expect("it must be made");
    let (_, first) = kubeconfig(&client).await;
    let late = at(&client, start + SignedDuration::from_hours(365 * 24));
    let outcome = late.kubeconfig(&cluster(), ENDPOINT, QUICK, &reference("v")).await.expect("it must be left");
    assert!(!outcome.is_written && outcome.look_again_after.is_none(), "{outcome:?}");
    assert_eq!(kubeconfig(&client).await.1, first);
    let token = "apiVersion: v1\nkind: Config\nusers: [{ name: u, user: { token: t } }]\n";
    let patch = Patch::Merge(json!({ "stringData": { "value": token } }));
    let secrets = Api::<Secret>::namespaced(client.clone(), "default");
    secrets.patch("c-kubeconfig", &PatchParams::default(), &patch).await.expect("it must be changed");
    let outcome = late.kubeconfig(&cluster(), ENDPOINT, QUICK, &owner).await.expect("it must be left");
    assert!(!outcome.is_written, "another login is a user's own");
}

#[tokio::test]
async fn a_kubeconfig_waits_for_the_authority() {
    let client = embedded().await;
    let owner = owner(&client).await;
    let store = at(&client, Timestamp::now());
    let error = store.kubeconfig(&cluster(), ENDPOINT, QUICK, &owner).await.expect_err("it must wait");
    assert!(matches!(&error, CertificateError::Missing { secret } if secret == "default/c-ca"), "{error}");
}
