//! Kubeconfig files.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::Pair;

/// A kubeconfig with one cluster, one user and one context, as JSON, which is YAML.
pub fn kubeconfig(server: &str, authority: &str, user: &str, pair: &Pair) -> String {
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "refit",
            "cluster": {"server": server, "certificate-authority-data": encode(authority)},
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": encode(&pair.certificate),
                "client-key-data": encode(&pair.key),
            },
        }],
        "contexts": [{"name": "refit", "context": {"cluster": "refit", "user": user}}],
        "current-context": "refit",
    });
    format!("{config:#}\n")
}
