//! Bodies, by somebody who may do nothing.

use http::{Method, StatusCode};

use super::{Attack, message};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const BODY_BYTES: usize = 3 * 1024 * 1024;

async fn check(body: String, media_type: &str, expected: &str) {
    let attack = Attack::by_nobody().await;
    assert!(body.len() <= BODY_BYTES, "{}", body.len());
    let answer = attack.send(Method::POST, REVIEWS, media_type, body.into_bytes()).await;
    assert!(message(&answer).contains(expected), "{} {}", answer.0, message(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_are_there_twice_under_a_long_name() {
    let members = r#""a":1,"#.repeat(BODY_BYTES / 2 / 6 - 10);
    let body = format!(r#"{{"{}":{{{members}"a":1}}}}"#, "k".repeat(BODY_BYTES / 2 - 100));
    check(body, "application/json", "the object is too large: it would take too many steps").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_name_over_a_long_list() {
    let body = format!(r#"{{"{}":[{}1]}}"#, "k".repeat(BODY_BYTES / 2 - 100), "1,".repeat(BODY_BYTES / 4 - 10));
    check(body, "application/json", "the object is too large: it would take too many steps").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_tiny_objects_as_there_is_room_for() {
    let body = format!("[{}1]", r#"{"":0},"#.repeat(BODY_BYTES / 7 - 10));
    check(body, "application/json", "the object is too large: it would take up too much memory").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_nests_as_deep_as_it_is_long() {
    check("[".repeat(BODY_BYTES), "application/json", "exceeded max depth").await;
    check("[".repeat(BODY_BYTES), "application/yaml", "yaml:").await;
    check(format!("a:\n{}", " -".repeat(BODY_BYTES / 4)), "application/yaml", "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anchors_that_repeat_themselves() {
    let mut body = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..20 {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        body.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    check(body, "application/yaml", "yaml:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn yaml_that_nests_too_deep_is_refused_in_words() {
    let attack = Attack::by_admin().await;
    let of_depth = |depth: usize| {
        let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nunknown: {value}\n").into_bytes()
    };
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    let answer = attack.send(Method::POST, path, "application/yaml", of_depth(60)).await;
    assert_eq!(answer.0, StatusCode::CREATED, "{}", message(&answer));
    let answer = attack.send(Method::POST, path, "application/yaml", of_depth(70)).await;
    assert_eq!(answer.0, StatusCode::BAD_REQUEST);
    let said = message(&answer);
    assert!(said.contains("max depth of 64") && !said.contains("Depth {"), "{said}");
}
