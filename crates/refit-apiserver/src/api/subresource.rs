//! Parts of objects that have a path of their own.

use http::StatusCode;
use serde_json::{Value, json};

use super::write::{MAX_ATTEMPTS, Refused};
use super::{Answer, Api, Call, not_allowed};
use crate::body::{self, media_type};
use crate::budget::Budget;
use crate::metadata::text;
use crate::request::Verb;
use crate::status::Status;
use crate::store::{Record, Scope, Write};
use crate::write::delete::DeleteOptions;
use crate::write::eviction::{self, Permission};
use crate::write::{Options, PatchType, rescale, scale_of};

/// Where disruption budgets are stored.
const BUDGETS: &str = "policy/poddisruptionbudgets";

impl Api {
    /// Answers a request on a part of an object.
    pub(super) async fn subresource(&self, call: &Call<'_>, part: &str) -> Result<Answer, Status> {
        let Some(name) = call.path.name.as_deref() else { return Ok(Answer::unserved(call.path)) };
        let resource = call.resource;
        match (part, call.verb) {
            ("status", Verb::Get) if resource.has_status => self.get(call, name).await,
            ("status", Verb::Update | Verb::Patch) if resource.has_status => self.write(call).await,
            ("scale", Verb::Get) if resource.scale.is_some() => self.scale(call, name),
            ("scale", Verb::Update | Verb::Patch) if resource.scale.is_some() => self.rescale(call, name).await,
            ("finalize", Verb::Update) if resource.is("", "namespaces") => self.write(call).await,
            ("eviction", Verb::Create) if resource.is("", "pods") => self.evict(call, name).await,
            ("status", _) if resource.has_status => Err(unsupported(call)),
            ("scale", _) if resource.scale.is_some() => Err(unsupported(call)),
            ("finalize", _) if resource.is("", "namespaces") => Err(not_allowed()),
            ("eviction", _) if resource.is("", "pods") => Err(not_allowed()),
            _ if resource.is_custom() => Err(Status::not_found(resource.qualified_plural(), name)),
            _ => Err(super::answer::not_served()),
        }
    }

    fn scale(&self, call: &Call<'_>, name: &str) -> Result<Answer, Status> {
        let record = self.shared.store.get(&call.key(name));
        let record = record.ok_or_else(|| Status::not_found(call.resource.qualified_plural(), name))?;
        Ok(Answer::json(StatusCode::OK, &scale_of(call.resource, &record.value())?))
    }

    async fn rescale(&self, call: &Call<'_>, name: &str) -> Result<Answer, Status> {
        let patch = match call.verb {
            // A Scale is no custom resource: it takes strategic patches, too.
            Verb::Patch => Some(PatchType::of(false, &media_type(call.request))?),
            _ => None,
        };
        let options = Options::parse(&call.request.query, call.verb, patch == Some(PatchType::Apply))?;
        let fresh = self.shared.entropy.fresh();
        self.change(call, &options, name, |live, budget| {
            rescale(&self.scene(call, &options, &fresh, budget), live, patch)
        })
        .await
    }

    /// Deletes a pod unless a budget forbids it. The budget's count and the deletion are two writes, as they are in the
    /// real server: a failure between them costs the budget one disruption until its controller counts again.
    async fn evict(&self, call: &Call<'_>, name: &str) -> Result<Answer, Status> {
        let options = eviction_options(call, name)?;
        self.spend_budget(call, name, options.is_dry_run).await?;
        self.delete_object(call.resource, &call.key(name), &options).await?;
        let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Answer::json(StatusCode::CREATED, &success))
    }

    async fn spend_budget(&self, call: &Call<'_>, name: &str, is_dry_run: bool) -> Result<(), Status> {
        let namespace = call.path.namespace.as_deref().unwrap_or_default();
        for _ in 0..MAX_ATTEMPTS {
            let pod = self.shared.store.get(&call.key(name));
            let pod = pod.ok_or_else(|| Status::not_found(call.resource.qualified_plural(), name))?.value();
            let scope = Scope::resource(call.request.cluster.clone(), BUDGETS).in_namespace(namespace);
            let budgets =
                self.shared.store.list(&scope, None, None).map_err(|error| Status::internal(error.to_string()))?;
            let selecting: Vec<&Record> =
                budgets.records.iter().filter(|budget| eviction::selects(&budget.value(), &pod)).collect();
            let values: Vec<_> = selecting.iter().map(|record| record.value()).collect();
            let values: Vec<&Value> = values.iter().map(|value| &**value).collect();
            let (Permission::Spends(budget), Some(record)) =
                (eviction::judge(&pod, &values, self.now())?, selecting.first())
            else {
                return Ok(());
            };
            if is_dry_run {
                return Ok(());
            }
            match self.commit(Write::replace(record.key().clone(), record.revision(), budget), None).await {
                Ok(_) => return Ok(()),
                Err(Refused::Taken(_)) => {}
                Err(Refused::Status(status)) => return Err(status),
            }
        }
        Err(Status::too_many_requests("the disruption budget changes too often", 10))
    }
}

/// A part that does not have the verb.
fn unsupported(call: &Call<'_>) -> Status {
    if !call.resource.is_custom() {
        return not_allowed();
    }
    let about = call.resource.qualified_plural();
    let message = format!("{} is not supported on resources of kind \"{about}\"", call.verb.as_str());
    Status::new(StatusCode::METHOD_NOT_ALLOWED, Some("MethodNotAllowed"), message)
        .with("group", about.group)
        .with("kind", about.name)
}

/// How the pod of an Eviction is to be deleted.
fn eviction_options(call: &Call<'_>, name: &str) -> Result<DeleteOptions, Status> {
    let encoding = body::encoding(call.request)?;
    let eviction = body::parse(encoding, &call.request.body, &Budget::small()).map_err(Status::bad_request)?.value;
    if eviction["kind"].as_str().is_some_and(|kind| kind != "Eviction") {
        return Err(Status::bad_request(format!("not a Eviction object: {}", eviction["kind"])));
    }
    if text(&eviction, "name") != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let is_dry_run = Options::parse(&call.request.query, Verb::Create, false)?.is_dry_run;
    let mut options = DeleteOptions::from_value(&eviction["deleteOptions"])?;
    options.is_dry_run |= is_dry_run;
    Ok(options)
}
