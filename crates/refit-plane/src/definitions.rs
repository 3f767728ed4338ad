//! Installs the definitions of all kinds, on any API server.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// Who writes definitions; the same as `refit apiserver --with-crds`.
const MANAGER: &str = "refit";
/// How long a server may take until it serves a kind; a second is usual.
const SERVED_LIMIT: Duration = Duration::from_secs(180);
const EVERY: Duration = Duration::from_millis(50);

/// Why a kind is not served.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("definition {name} was refused")]
    Refused {
        name: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("definition {name} is not served after {}s", SERVED_LIMIT.as_secs())]
    NotServed { name: String },
}

/// Installs Cluster API's kinds, refit's own and those of the simulated provider, or brings them up to date. Waits until
/// all are served.
pub async fn install(client: &Client) -> Result<(), DefinitionError> {
    let all: Vec<Value> = refit_api::crd::all().into_iter().chain(refit_provider_sim::crds()).collect();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in &all {
        apply(&api, definition).await?;
    }
    for definition in &all {
        wait_served(&api, &name_of(definition)).await?;
    }
    Ok(())
}

async fn apply(api: &Api<CustomResourceDefinition>, definition: &Value) -> Result<(), DefinitionError> {
    let name = name_of(definition);
    let applied = api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(definition)).await;
    applied.map(drop).map_err(|source| DefinitionError::Refused { name, source: Box::new(source) })
}

async fn wait_served(api: &Api<CustomResourceDefinition>, name: &str) -> Result<(), DefinitionError> {
    let began = Instant::now();
    while !is_served(api.get_opt(name).await.ok().flatten()) {
        if began.elapsed() > SERVED_LIMIT {
            return Err(DefinitionError::NotServed { name: name.to_owned() });
        }
        sleep(EVERY).await;
    }
    Ok(())
}

fn is_served(definition: Option<CustomResourceDefinition>) -> bool {
    let conditions = definition.and_then(|it| it.status).and_then(|status| status.conditions).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

fn name_of(definition: &Value) -> String {
    definition["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
