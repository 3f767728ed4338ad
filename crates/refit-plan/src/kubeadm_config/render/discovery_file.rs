//! The kubeconfig file by which a Machine finds its cluster, where a user asks for one.

use refit_api::bootstrap::{File, KubeConfigUser, KubeadmConfigSpec};
use serde_json::{Value, json};

use super::yaml;

const DEFAULT_EXEC_API: &str = "client.authentication.k8s.io/v1";

/// The file, if its content is given and it is not on the host already.
pub fn of(spec: &KubeadmConfigSpec) -> Option<File> {
    let file = spec.join_configuration.discovery.file.as_ref()?;
    let kubeconfig = file.kube_config.as_ref()?;
    let cluster = &kubeconfig.cluster;
    let cluster = without_nulls(json!({
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data,
        "proxy-url": cluster.proxy_url,
    }));
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "default", "cluster": cluster }],
        "users": [{ "name": "default", "user": user(&kubeconfig.user) }],
        "contexts": [{ "name": "default", "context": { "cluster": "default", "user": "default" } }],
        "current-context": "default",
    });
    Some(File {
        path: file.kube_config_path.clone(),
        owner: Some("root:root".to_owned()),
        permissions: Some("0640".to_owned()),
        content: Some(format!("---\n{}", yaml::write(&document))),
        ..File::default()
    })
}

fn user(user: &KubeConfigUser) -> Value {
    let plugin = user.auth_provider.as_ref().map(|it| json!({ "name": it.name, "config": it.config }));
    let command = user.exec.as_ref().map(|exec| {
        without_nulls(json!({
            "apiVersion": exec.api_version.as_deref().unwrap_or(DEFAULT_EXEC_API),
            "command": exec.command,
            "args": (!exec.args.is_empty()).then_some(&exec.args),
            "env": (!exec.env.is_empty()).then_some(&exec.env),
            "provideClusterInfo": exec.provide_cluster_info.unwrap_or(false),
            "interactiveMode": "Never",
        }))
    });
    without_nulls(json!({ "auth-provider": plugin, "exec": command }))
}

fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
