use serde_json::{Value, json};

use crate::admission::Admission;
use crate::admission::testing::{check, check_default, check_update, decode};
use crate::runtime::ExtensionConfig;

fn url(url: &str) -> Value {
    json!({ "spec": { "clientConfig": { "url": url } } })
}

/// An extension behind a Service that is as it should be, save for `change`.
fn service(change: Value) -> Value {
    let mut service = json!({ "name": "ext", "namespace": "default" });
    for (key, value) in change.as_object().into_iter().flatten() {
        service[key] = value.clone();
    }
    json!({ "spec": { "clientConfig": { "url": null, "service": service } } })
}

#[test]
fn an_extension_is_for_all_namespaces() {
    check_default::<ExtensionConfig>(json!({}), "/spec/namespaceSelector", json!({}));
    let selector = json!({ "matchLabels": { "a": "b" } });
    let patch = json!({ "spec": { "namespaceSelector": selector } });
    check_default::<ExtensionConfig>(patch, "/spec/namespaceSelector", selector);
}

#[test]
fn a_service_has_the_port_of_https() {
    check_default::<ExtensionConfig>(service(json!({})), "/spec/clientConfig/service/port", json!(443));
    check_default::<ExtensionConfig>(service(json!({ "port": 8443 })), "/spec/clientConfig/service/port", json!(8443));
    check_default::<ExtensionConfig>(json!({}), "/spec/clientConfig/service", Value::Null);
}

#[test]
fn the_name_has_no_dots() {
    let name = |name: &str| json!({ "metadata": { "name": name } });
    check::<ExtensionConfig>(name("my-extension"), &[]);
    for bad in ["my.extension", "My", &"a".repeat(64)] {
        check::<ExtensionConfig>(name(bad), &["metadata.name"]);
    }
}

#[test]
fn an_extension_is_at_one_place() {
    let mut both = service(json!({}));
    both["spec"]["clientConfig"]["url"] = json!("https://example.com");
    check::<ExtensionConfig>(service(json!({})), &[]);
    check::<ExtensionConfig>(both, &["spec.clientConfig"]);
    check::<ExtensionConfig>(json!({ "spec": { "clientConfig": { "url": null } } }), &["spec.clientConfig"]);
}

#[test]
fn the_url_is_https() {
    for good in ["https://example.com", "HTTPS://example.com", "https://[::1]:8443/prefix", "https://example.com/a/b"] {
        check::<ExtensionConfig>(url(good), &[]);
    }
    for bad in ["http://example.com", "example.com", "/path", "https://", "https://a b", "https:", ""] {
        check::<ExtensionConfig>(url(bad), &["spec.clientConfig.url"]);
    }
}

#[test]
fn the_name_of_a_service_starts_with_a_letter() {
    check::<ExtensionConfig>(service(json!({ "name": "a0" })), &[]);
    for bad in ["0a", "", "a.b"] {
        check::<ExtensionConfig>(service(json!({ "name": bad })), &["spec.clientConfig.service.name"]);
    }
}

#[test]
fn the_namespace_of_a_service_is_a_label() {
    check::<ExtensionConfig>(service(json!({ "namespace": "0a" })), &[]);
    for bad in ["", "a.b", "A"] {
        check::<ExtensionConfig>(service(json!({ "namespace": bad })), &["spec.clientConfig.service.namespace"]);
    }
}

#[test]
fn the_path_of_a_service_is_absolute() {
    check::<ExtensionConfig>(service(json!({ "path": "/a/b" })), &[]);
    for bad in ["a/b", "", "*", "?a", "/a b", "https://example.com/a"] {
        check::<ExtensionConfig>(service(json!({ "path": bad })), &["spec.clientConfig.service.path"]);
    }
}

#[test]
fn the_port_of_a_service_exists() {
    for good in [1, 65535] {
        check::<ExtensionConfig>(service(json!({ "port": good })), &[]);
    }
    for bad in [-1, 0, 65536] {
        check::<ExtensionConfig>(service(json!({ "port": bad })), &["spec.clientConfig.service.port"]);
    }
}

#[test]
fn the_namespace_selector_is_there_and_can_be_read() {
    let undefaulted = decode::<ExtensionConfig>(json!({})).validate(None);
    assert_eq!(undefaulted.errors.len(), 1, "{:?}", undefaulted.errors);
    let patch = |key: &str| json!({ "spec": { "namespaceSelector": { "matchLabels": { key: "b" } } } });
    check::<ExtensionConfig>(patch("a"), &[]);
    check::<ExtensionConfig>(patch("a b"), &["spec.namespaceSelector"]);
}

#[test]
fn the_order_is_an_integer() {
    let annotated = |key: &str, value: &str| json!({ "metadata": { "annotations": { key: value } } });
    check::<ExtensionConfig>(annotated("refit.dev/order", "-5"), &[]);
    check::<ExtensionConfig>(annotated("refit.dev/order", "last"), &["metadata.annotations[refit.dev/order]"]);
    check::<ExtensionConfig>(annotated("refit.dev/oder", "1"), &["metadata.annotations[refit.dev/oder]"]);
}

#[test]
fn nothing_of_an_extension_is_immutable() {
    check_update::<ExtensionConfig>(json!({}), service(json!({})), &[]);
}
