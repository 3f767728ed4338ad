//! Who may do what, over HTTPS.

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Config};

use crate::running::{Running, refusal};

async fn get(client: &Client, path: &str) -> (u16, String) {
    let request = Request::get(path).body(Vec::new()).expect("it must be a request");
    match client.request_text(request).await {
        Ok(text) => (200, text),
        Err(error) => refusal(Err::<(), _>(error)),
    }
}

#[tokio::test]
async fn tokens_tell_the_kinds_of_users_apart() {
    let running = Running::start().await;
    for (user, lists, secrets, writes) in
        [("admin", 200, 200, 200), ("read-only", 200, 403, 403), ("no-access", 403, 403, 403)]
    {
        let client = running.client_by_token(&running.token(user)).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let all: Api<Secret> = Api::all(client.clone());
        let mut map = ConfigMap::default();
        map.metadata.generate_name = Some("x-".to_owned());
        assert_eq!(refusal(maps.list(&ListParams::default()).await).0, lists, "{user}");
        assert_eq!(refusal(all.list(&ListParams::default()).await).0, secrets, "{user}");
        assert_eq!(refusal(maps.create(&PostParams::default(), &map).await).0, writes, "{user}");
        assert_eq!(get(&client, "/version").await.0, 200, "{user}");
    }
    running.stop().await;
}

#[tokio::test]
async fn strangers_see_health_only_and_a_bad_token_not_even_that() {
    let running = Running::start().await;
    let stranger = running.client_without_identity().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(get(&stranger, path).await, (200, "ok".to_owned()), "{path}");
    }
    for path in ["/version", "/api", "/nowhere", "/api/v1/namespaces", "/clusters/a/api/v1/pods"] {
        assert_eq!(get(&stranger, path).await, (401, "Unauthorized".to_owned()), "{path}");
    }
    let liar = running.client_by_token("bad").await;
    assert_eq!(get(&liar, "/healthz").await.0, 401);
    running.stop().await;
}

/// Health, versions and questions about one's own rights must not tell which logical clusters there are.
#[tokio::test]
async fn strangers_do_not_find_out_which_clusters_there_are() {
    let running = Running::start().await;
    running.host.clusters().create("known").await.expect("a cluster must be made");
    let stranger = running.client_without_identity().await;
    let nobody = running.client_by_token(&running.token("no-access")).await;
    let admin = running.client_by_token(&running.token("admin")).await;
    let review = |cluster: &str| {
        let body = r#"{"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}"#;
        let uri = format!("/clusters/{cluster}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
        Request::post(uri).header("content-type", "application/json").body(body.as_bytes().to_vec()).unwrap()
    };
    for cluster in ["known", "unknown"] {
        for page in ["livez", "readyz", "healthz", "version", "api"] {
            let path = format!("/clusters/{cluster}/{page}");
            assert_eq!(get(&stranger, &path).await.0, 401, "{path}");
            assert_eq!(get(&nobody, &path).await.0, 403, "{path}");
        }
        assert_eq!(refusal(nobody.request_text(review(cluster)).await).0, 403, "{cluster}");
    }
    assert_eq!(get(&admin, "/clusters/known/livez").await, (200, "ok".to_owned()));
    assert_eq!(get(&admin, "/clusters/unknown/livez").await.0, 404);
    running.stop().await;
}

#[tokio::test]
async fn a_client_that_trusts_another_authority_does_not_talk_to_the_server() {
    let (running, other) = (Running::start().await, Running::start().await);
    let mut config: Config = other.config().await;
    config.cluster_url = running.url.parse().expect("it must be an address");
    let client = Client::try_from(config).expect("there must be a client");
    let (code, message) = get(&client, "/healthz").await;
    assert_eq!(code, 0, "{message}");
    other.stop().await;
    running.stop().await;
}
