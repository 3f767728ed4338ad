//! What a KubeadmConfig takes from other objects: content of files, passwords, the version of the control plane.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use refit_api::bootstrap::{File, FileContentFormat, KubeadmConfigSpec, User};
use refit_plan::kubeadm_config::{Observed, Sources};
use refit_plan::machine::External;
use serde_json::Value;

use super::problem::{Problem, within_limit};
use crate::context::Context;

/// The Secrets that were read already, by name.
type Secrets = BTreeMap<String, BTreeMap<String, ByteString>>;

/// Reads the sources, or says what is missing in them.
pub async fn read(context: &Context, observed: &Observed) -> Result<Result<Sources, String>, Problem> {
    let spec = &observed.config.spec;
    let mut secrets = Secrets::new();
    for name in names(spec) {
        match secret(context, observed, &name).await? {
            Some(data) => drop(secrets.insert(name, data)),
            None => {
                return Ok(Err(format!("Secret {name} that the KubeadmConfig refers to does not exist; create it")));
            }
        }
    }
    let control_plane_version = match has_templates(spec) {
        true => match control_plane_version(context, observed).await {
            Ok(version) => version,
            Err(why) => return Ok(Err(why)),
        },
        false => None,
    };
    let files: Result<Vec<File>, String> = spec.files.iter().map(|it| file(it, &secrets)).collect();
    let users: Result<Vec<User>, String> = spec.users.iter().map(|it| user(it, &secrets)).collect();
    Ok(files.and_then(|files| Ok(Sources { files, users: users?, control_plane_version })))
}

fn names(spec: &KubeadmConfigSpec) -> Vec<String> {
    let of_files = spec.files.iter().filter_map(|file| file.content_from.as_ref()).map(|from| from.secret.name.clone());
    let of_users = spec.users.iter().filter_map(|user| user.passwd_from.as_ref()).map(|from| from.secret.name.clone());
    let mut names: Vec<String> = of_files.chain(of_users).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn has_templates(spec: &KubeadmConfigSpec) -> bool {
    spec.files.iter().any(|file| file.content_format == Some(FileContentFormat::Template))
}

async fn secret(
    context: &Context,
    observed: &Observed,
    name: &str,
) -> Result<Option<BTreeMap<String, ByteString>>, Problem> {
    let namespace = observed.config.metadata.namespace.as_deref().unwrap_or_default();
    let what = format!("Secret {namespace}/{name}");
    let api = Api::<Secret>::namespaced(context.client.clone(), namespace);
    let answer = within_limit(&what, api.get_opt(name)).await?;
    let found = answer.map_err(|source| Problem::read(&what, source))?;
    Ok(found.map(|secret| secret.data.unwrap_or_default()))
}

fn file(file: &File, secrets: &Secrets) -> Result<File, String> {
    let Some(from) = &file.content_from else { return Ok(file.clone()) };
    let content = text(secrets, &from.secret.name, &from.secret.key)?;
    Ok(File { content: Some(content), content_from: None, ..file.clone() })
}

fn user(user: &User, secrets: &Secrets) -> Result<User, String> {
    let Some(from) = &user.passwd_from else { return Ok(user.clone()) };
    let passwd = text(secrets, &from.secret.name, &from.secret.key)?;
    Ok(User { passwd: Some(passwd), passwd_from: None, ..user.clone() })
}

fn text(secrets: &Secrets, name: &str, key: &str) -> Result<String, String> {
    let value = secrets.get(name).and_then(|data| data.get(key));
    let ByteString(bytes) = value.ok_or_else(|| format!("Secret {name} has no key {key:?}; add it"))?;
    let no_text = || format!("key {key:?} of Secret {name} is no text; encode it, and set encoding of the file");
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| no_text())
}

/// The version of the control plane, if there is a control plane object that says it.
async fn control_plane_version(context: &Context, observed: &Observed) -> Result<Option<String>, String> {
    let Some(reference) = &observed.cluster.spec.control_plane_ref else { return Ok(None) };
    let namespace = observed.cluster.metadata.namespace.as_deref().unwrap_or_default();
    match context.external(reference, namespace, |_| ()).await {
        External::Found { object, .. } => {
            Ok(object.pointer("/spec/version").and_then(Value::as_str).map(str::to_owned))
        }
        External::NotReferenced => Ok(None),
        External::Missing => Err(format!("{} {} does not exist", reference.kind, reference.name)),
        External::Unreadable { why } => Err(format!("{} {} cannot be read: {why}", reference.kind, reference.name)),
    }
}
