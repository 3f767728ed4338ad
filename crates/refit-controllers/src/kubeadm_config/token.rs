//! Bootstrap tokens in the workload cluster.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use refit_api::vocabulary::managers;
use refit_hooks::chain;
use refit_plan::kubeadm_config::token::{
    EXPIRATION_KEY, TOKEN_NAMESPACE, TOKEN_SECRET_TYPE, Token, TokenDecision, TokenSecret, decide, expiration,
};
use refit_plan::kubeadm_config::{Observed, TokenStep};
use serde_json::json;

use super::problem::{Problem, within_limit};
use crate::cache::ObjectKey;
use crate::context::Context;

/// Makes the token good: creates it, extends it, or leaves it alone.
pub async fn make(context: &Context, observed: &Observed, token: &Token) -> TokenStep {
    let cluster = ObjectKey::of(&observed.cluster);
    let Some(connected) = context.workloads.get(&cluster).connected else {
        return TokenStep::Failed("Waiting for the workload cluster to be reachable".to_owned());
    };
    match good(&connected.client, observed, token).await {
        Ok(step) => step,
        Err(problem) => TokenStep::Failed(format!("in the workload cluster: {}", chain(&problem))),
    }
}

async fn good(client: &Client, observed: &Observed, token: &Token) -> Result<TokenStep, Problem> {
    let (name, api) = (token.secret_name(), Api::<Secret>::namespaced(client.clone(), TOKEN_NAMESPACE));
    let what = format!("Secret {TOKEN_NAMESPACE}/{name}");
    let found = within_limit(&what, api.get_opt(&name)).await?.map_err(|source| Problem::read(&what, source))?;
    let known = found.as_ref().map_or(TokenSecret::Missing, |secret| look_at(token, secret));
    match decide(&known, observed.now) {
        Ok(TokenDecision::Keep) => {}
        Ok(TokenDecision::Create) => {
            let params = PostParams { field_manager: Some(managers::PATCHES.to_owned()), ..PostParams::default() };
            let answer = within_limit(&what, api.create(&params, &new(observed, token))).await?;
            answer.map_err(|source| Problem::write(&what, source))?;
        }
        Ok(TokenDecision::Extend) => {
            let params = PatchParams { field_manager: Some(managers::PATCHES.to_owned()), ..PatchParams::default() };
            let end = ByteString(expiration(observed.now).into_bytes());
            let uid = found.and_then(|secret| secret.metadata.uid);
            let patch = Patch::Merge(json!({ "metadata": { "uid": uid }, "data": { EXPIRATION_KEY: end } }));
            let answer = within_limit(&what, api.patch(&name, &params, &patch)).await?;
            answer.map_err(|source| Problem::write(&what, source))?;
        }
        Err(why) => return Ok(TokenStep::Failed(format!("{what} in the workload cluster: {why}; delete it"))),
    }
    Ok(TokenStep::Good)
}

fn look_at(token: &Token, secret: &Secret) -> TokenSecret {
    token.look_at(|key| {
        let ByteString(bytes) = secret.data.as_ref()?.get(key)?;
        String::from_utf8(bytes.clone()).ok()
    })
}

fn new(observed: &Observed, token: &Token) -> Secret {
    let data = token.data(observed.now).into_iter().map(|(key, value)| (key, ByteString(value.into_bytes())));
    Secret {
        metadata: ObjectMeta {
            name: Some(token.secret_name()),
            namespace: Some(TOKEN_NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        type_: Some(TOKEN_SECRET_TYPE.to_owned()),
        data: Some(data.collect::<BTreeMap<_, _>>()),
        ..Secret::default()
    }
}
