//! What no well-behaved client sends.

use http::Method;
use serde_json::json;

use crate::conformance::definitions::{WIDGETS, widget};
use crate::conformance::script::{Case, case};

const MAPS: &str = "/api/v1/namespaces/$ns/configmaps";

/// Sends each body as a new widget, a new config map, and as patches of both.
fn bodies(name: &'static str, bodies: &[&[u8]]) -> Case {
    let start = case(name).post(WIDGETS, widget("base", json!({}))).post(MAPS, json!({"metadata": {"name": "base"}}));
    bodies.iter().fold(start, |case, body| {
        case.raw(Method::POST, WIDGETS, "application/json", *body)
            .raw(Method::POST, MAPS, "application/json", *body)
            .raw(Method::PUT, &format!("{WIDGETS}/base"), "application/json", *body)
            .raw(Method::PATCH, &format!("{WIDGETS}/base"), "application/merge-patch+json", *body)
            .raw(Method::PATCH, &format!("{MAPS}/base"), "application/merge-patch+json", *body)
            .raw(Method::PATCH, &format!("{MAPS}/base"), "application/strategic-merge-patch+json", *body)
            .raw(Method::PATCH, &format!("{WIDGETS}/base"), "application/json-patch+json", *body)
            .raw(Method::DELETE, &format!("{WIDGETS}/nosuch"), "application/json", *body)
    })
}

pub fn cases() -> Vec<Case> {
    let deep = [b"[".repeat(20_000), b"]".repeat(20_000)].concat();
    let deep_object = [br#"{"a":"#.repeat(20_000), b"1".to_vec(), b"}".repeat(20_000)].concat();
    let rest = format!(
        r#"{{"apiVersion":"conf.refit.dev/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"any":{{"deep":{}1{}}}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    vec![
        bodies("broken JSON", &[b"", b"{", b"nul", b"{\"a\":}", b"{\"a\" 1}", b"{} {}", b"{'a': 1}", b"{\"a\":1,}"]),
        bodies("JSON of another shape", &[b"[]", b"1", b"\"text\"", b"null", b"true", b"[{}]"]),
        bodies("bytes that are no text", &[b"\xff\xfe", b"{\"metadata\":{\"name\":\"\xff\"}}", b"\0", b"{\"metadata\":{\"name\":\"a\\u0000b\"}}"]),
        bodies("50 deep nesting", &[&deep, &deep_object]),
        case("500 levels are not too deep for the real server")
            .raw(Method::POST, WIDGETS, "application/json", rest)
            .differs("nesting"),
        case("50 a body that is too large")
            .raw(Method::POST, MAPS, "application/json", vec![b' '; 3 * 1024 * 1024 + 1])
            .raw(Method::POST, WIDGETS, "application/json", vec![b' '; 3 * 1024 * 1024 + 1])
            .raw(Method::PATCH, &format!("{MAPS}/a"), "application/merge-patch+json", vec![b' '; 3 * 1024 * 1024 + 1]),
        case("content types that nobody knows")
            .raw(Method::POST, WIDGETS, "text/plain", "{}")
            .raw(Method::POST, MAPS, "text/plain", "{}")
            .raw(Method::POST, MAPS, "garbage", "{}")
            .raw(Method::POST, MAPS, "application/xml", "{}")
            .raw(Method::PUT, &format!("{MAPS}/a"), "text/plain", "{}")
            .raw(Method::POST, MAPS, "application/json; charset=utf-8", r#"{"metadata":{"name":"ok"}}"#)
            .raw(Method::POST, MAPS, "", r#"{"metadata":{"name":"ok2"}}"#)
            .raw(Method::DELETE, &format!("{MAPS}/ok"), "text/plain", "{}")
            .raw(Method::DELETE, &format!("{MAPS}/ok"), "application/yaml", "dryRun: [All]"),
        case("values of the wrong type in a built-in kind")
            .post(MAPS, json!({"metadata": {"name": 1}}))
            .post(MAPS, json!({"metadata": []}))
            .post(MAPS, json!({"metadata": {"name": "a", "labels": {"a": 1}}}))
            .post(MAPS, json!({"metadata": {"name": "a", "labels": []}}))
            .post(MAPS, json!({"metadata": {"name": "a", "creationTimestamp": 5}}))
            .post(MAPS, json!({"metadata": {"name": "a", "generation": "x"}}))
            .post(MAPS, json!({"metadata": {"name": "a", "generation": 1.5}}))
            .post(MAPS, json!({"metadata": {"name": "a", "ownerReferences": {}}}))
            .post(MAPS, json!({"metadata": {"name": "a"}, "data": {"a": {"b": 1}}}))
            .post(MAPS, json!({"metadata": {"name": "a"}, "immutable": 1}))
            .post(MAPS, json!({"apiVersion": 1, "kind": "ConfigMap"}))
            .post(WIDGETS, json!({"apiVersion": 1, "kind": "Widget"}))
            .post(WIDGETS, json!({"apiVersion": "conf.refit.dev/v1", "kind": {}}))
            .post(WIDGETS, json!({"apiVersion": "a/b/c", "kind": "Widget"}))
            .raw(Method::POST, WIDGETS, "application/json", r#"{"apiVersion":"conf.refit.dev/v1","kind":"Widget","metadata":{"name":"n"},"spec":{"any":{"a":1e400}}}"#)
            .raw(Method::POST, WIDGETS, "application/json", r#"{"apiVersion":"conf.refit.dev/v1","kind":"Widget","metadata":{"name":"n"},"spec":{"any":{"a":99999999999999999999,"b":-0.0,"c":1E5,"d":0.1e1}}}"#)
            .raw(Method::POST, WIDGETS, "application/json", r#"{"apiVersion":"conf.refit.dev/v1","kind":"Widget","metadata":{"name":"o"},"spec":{"any":{"a":"\ud800","b":"<&>"}}}"#),
        case("methods that a path does not have")
            .raw(Method::PUT, "/api/v1/namespaces/$ns/nosuch/a", "application/json", "{}")
            .raw(Method::POST, "/nosuch", "application/json", "{}")
            .raw(Method::OPTIONS, MAPS, "application/json", "")
            .raw(Method::TRACE, MAPS, "application/json", "")
            .raw(Method::from_bytes(b"WHAT").expect("a method must be made"), MAPS, "application/json", "")
            .raw(Method::from_bytes(b"WHAT").expect("a method must be made"), WIDGETS, "application/json", ""),
        case("absurd paths and queries")
            .get("/api/v1/namespaces/$ns/configmaps/a%2Fb")
            .differs("odd-paths")
            .get("/api/v1/namespaces/$ns/configmaps/%00")
            .get("/api/v1/namespaces//configmaps")
            .differs("odd-paths")
            .get("/api/v1//namespaces/$ns/configmaps")
            .differs("odd-paths")
            .get(&format!("{MAPS}/"))
            .get(&format!("{MAPS}?%zz=1"))
            .get(&format!("{MAPS}?a=b;c=d"))
            .get(&format!("{MAPS}?limit=1&limit=2"))
            .get(&format!("{MAPS}?{}", "a=b&".repeat(200)))
            .get(&format!("{MAPS}?limit=99999999999999999999"))
            .get(&format!("{MAPS}?resourceVersion=99999999999999999999"))
            .get(&format!("{MAPS}/.."))
            .differs("odd-paths"),
    ]
}
