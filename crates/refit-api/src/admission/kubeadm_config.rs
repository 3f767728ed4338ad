//! KubeadmConfig: no defaults, and rules for what kubeadm and the host are told.

mod host;
mod ignition;
#[cfg(test)]
mod tests;

use super::{Admission, FieldError, FieldPath, Verdict};
use crate::bootstrap::{BootstrapToken, InitConfiguration, JoinConfiguration, KubeadmConfig, KubeadmConfigSpec};

impl Admission for KubeadmConfig {
    fn set_defaults(&mut self, _old: Option<&Self>) {}

    fn validate(&self, _old: Option<&Self>) -> Verdict {
        validate_spec(&self.spec, &FieldPath::new("spec")).into()
    }
}

/// Errors of the spec at `path`: the rules that hold wherever a KubeadmConfigSpec stands.
pub(super) fn validate_spec(spec: &KubeadmConfigSpec, path: &FieldPath) -> Vec<FieldError> {
    [
        host::validate_files(&spec.files, &path.child("files")),
        host::validate_users(&spec.users, &path.child("users")),
        ignition::validate(spec, path),
        host::validate_partitions(&spec.disk_setup.partitions, &path.child("diskSetup.partitions")),
        validate_tokens(&spec.init_configuration, &path.child("initConfiguration")),
        validate_discovery(&spec.join_configuration, &path.child("joinConfiguration")),
    ]
    .concat()
}

fn validate_tokens(init: &InitConfiguration, path: &FieldPath) -> Vec<FieldError> {
    const WRONG: &str = "must be six and sixteen lowercase letters or digits, with a dot between";
    let is_wrong = |token: &BootstrapToken| !is_bootstrap_token(&token.token);
    let tokens = init.bootstrap_tokens.iter().enumerate();
    tokens
        .filter(|(_, token)| is_wrong(token))
        // The token is a secret, so the error does not repeat it.
        .map(|(index, _)| path.child("bootstrapTokens").index(index).child("token").invalid("(not shown)", WRONG))
        .collect()
}

fn is_bootstrap_token(token: &str) -> bool {
    let is_part =
        |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    token.split_once('.').is_some_and(|(id, secret)| is_part(id, 6) && is_part(secret, 16))
}

/// The schema sees to it that a user has at least one way to log in.
fn validate_discovery(join: &JoinConfiguration, path: &FieldPath) -> Vec<FieldError> {
    let kube_config = join.discovery.file.as_ref().and_then(|file| file.kube_config.as_ref());
    let has_both = kube_config.is_some_and(|config| config.user.auth_provider.is_some() && config.user.exec.is_some());
    let path = path.child("discovery.file.kubeConfig.user");
    has_both.then(|| path.forbidden("may have authProvider or exec, not both")).into_iter().collect()
}
