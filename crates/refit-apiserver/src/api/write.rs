//! Carrying out writes: read, decide, commit; again when somebody else was first.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::decide::off_the_threads_of_connections;
use super::{Answer, Api, Call, DEFINITIONS};
use crate::body::media_type;
use crate::budget::Budget;
use crate::definition;
use crate::metadata::{is_being_deleted, text};
use crate::read::View;
use crate::read::view;
use crate::request::Verb;
use crate::resource::built_in;
use crate::status::{Qualified, Status};
use crate::store::{Key, Record, Scope, Write, WriteError};
use crate::write::{
    Change, Decoded, Fresh, Options, Outcome, PatchType, Scene, create, create_named, decode, patch, scale_of, update,
};

/// How often a write that named no version is tried again when somebody else was first. With sixteen writers of one
/// object each gets through, and a writer that loses this often is told so.
pub(super) const MAX_ATTEMPTS: usize = 64;
/// How often a generated name is replaced when it is taken: a collision is one in fourteen million.
const MAX_NAMES: usize = 8;

impl Api {
    pub(super) async fn write(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let patch_type = match call.verb {
            Verb::Patch => Some(PatchType::of(call.resource.is_custom(), &media_type(call.request))?),
            _ => None,
        };
        let options = Options::parse(&call.request.query, call.verb, patch_type == Some(PatchType::Apply))?;
        match (call.verb, patch_type) {
            (Verb::Create, _) => self.create(call, &options).await,
            (Verb::Patch, Some(patch_type)) => self.patch(call, &options, patch_type).await,
            _ => self.update(call, &options).await,
        }
    }

    async fn create(&self, call: &Call<'_>, options: &Options) -> Result<Answer, Status> {
        let mut fresh = self.shared.entropy.fresh();
        let decoded = self.decide(call, |budget| decode(&self.scene(call, options, &fresh, budget))).await?;
        let is_generated = text(&decoded.object, "name").is_empty();
        for _ in 0..MAX_NAMES {
            let outcome = self.decide(call, |budget| {
                self.sized(call, create(&self.scene(call, options, &fresh, budget), decoded.clone())?, budget)
            });
            let outcome = outcome.await?;
            match self.store_new(call, options, outcome).await {
                Err(Refused::Taken(_)) if is_generated => fresh = self.shared.entropy.fresh(),
                Err(Refused::Taken(key)) => return Err(self.taken(call, &key, &decoded)),
                Err(Refused::Status(status)) => return Err(status),
                Ok(answer) => return Ok(answer),
            }
        }
        Err(Status::internal("no free name was found"))
    }

    async fn update(&self, call: &Call<'_>, options: &Options) -> Result<Answer, Status> {
        let Some(name) = call.path.name.as_deref() else { return Err(unnamed(call)) };
        let fresh = self.shared.entropy.fresh();
        let decoded = self.decide(call, |budget| decode(&self.scene(call, options, &fresh, budget))).await?;
        let is_made = built_in::is_made_by_update(call.resource) && call.path.subresource.is_none();
        self.change(call, options, name, |live, budget| {
            let scene = self.scene(call, options, &fresh, budget);
            match live {
                Some(live) => update(&scene, live, decoded.clone()),
                None if is_made => create_named(&scene, decoded.clone()),
                None => Err(Status::not_found(call.resource.qualified_plural(), name)),
            }
        })
        .await
    }

    async fn patch(&self, call: &Call<'_>, options: &Options, patch_type: PatchType) -> Result<Answer, Status> {
        let Some(name) = call.path.name.as_deref() else { return Err(unnamed(call)) };
        let fresh = self.shared.entropy.fresh();
        self.change(call, options, name, |live, budget| {
            patch(&self.scene(call, options, &fresh, budget), live, patch_type)
        })
        .await
    }

    /// Decides upon what is there until a decision meets what it was made for.
    pub(super) async fn change(
        &self,
        call: &Call<'_>,
        options: &Options,
        name: &str,
        decide: impl Fn(Option<&Value>, &Budget) -> Result<Outcome, Status>,
    ) -> Result<Answer, Status> {
        let key = call.key(name);
        for _ in 0..MAX_ATTEMPTS {
            let live = self.shared.store.get(&key);
            let value = live.as_ref().map(|record| view::live(call.resource, record));
            let bytes = live.as_ref().map_or(0, |record| record.json().len());
            let outcome = self.decide(call, |budget| {
                // What is there is walked over several times.
                budget.take_steps(bytes / 2)?;
                self.sized(call, decide(value.as_deref(), budget)?, budget)
            });
            let outcome = outcome.await?;
            let stored = match &live {
                Some(live) => self.store_change(call, options, live, outcome).await,
                None => self.store_new(call, options, outcome).await,
            };
            match stored {
                Ok(answer) => return Ok(answer),
                Err(Refused::Taken(_)) => {}
                Err(Refused::Status(status)) => return Err(status),
            }
        }
        Err(Status::modified(call.resource.qualified_plural(), name))
    }

    async fn store_new(&self, call: &Call<'_>, options: &Options, outcome: Outcome) -> Result<Answer, Refused> {
        let Outcome { change, warnings } = outcome;
        let (Change::Put(value) | Change::Remove(value)) = change else {
            return Err(Refused::Status(Status::internal("a new object cannot be left as it is")));
        };
        if call.resource.is_terminating {
            let why = "create not allowed while custom resource definition is terminating";
            let status = Status::forbidden(call.resource.qualified_plural(), text(&value, "name"), why);
            return Err(Refused::Status(status));
        }
        let key = call.key(text(&value, "name"));
        let answer = if options.is_dry_run {
            self.namespace(call)?;
            if self.shared.store.get(&key).is_some() {
                return Err(Refused::Taken(key));
            }
            Answer::json(StatusCode::CREATED, &value)
        } else {
            let record = self.commit_new(call, key, value).await?;
            Answer::json_text(StatusCode::CREATED, View::full(call.resource, &record))
        };
        Ok(answer.with_warnings(&warnings))
    }

    /// Stores a new object while its namespace is there. A namespace that was only changed meanwhile is looked at again.
    async fn commit_new(&self, call: &Call<'_>, key: Key, value: Value) -> Result<Record, Refused> {
        let value = self.to_stored(call, value);
        for _ in 0..MAX_ATTEMPTS {
            let namespace = self.namespace(call)?;
            match self.commit(Write::create(key.clone(), value.clone()), namespace).await {
                Err(Refused::Taken(taken)) if taken != key => {}
                committed => return committed,
            }
        }
        let about = Qualified { group: "", name: "namespaces" };
        Err(Refused::Status(Status::modified(about, call.path.namespace.as_deref().unwrap_or_default())))
    }

    async fn store_change(
        &self,
        call: &Call<'_>,
        options: &Options,
        live: &Record,
        outcome: Outcome,
    ) -> Result<Answer, Refused> {
        let Outcome { change, warnings } = outcome;
        let (key, at) = (live.key().clone(), live.revision());
        let answer = match change {
            Change::Nothing => call.changed(live)?,
            Change::Put(value) | Change::Remove(value) if options.is_dry_run => call.would_change(&value)?,
            Change::Put(value) => {
                let value = self.to_stored(call, value);
                let record = self.commit(Write::replace(key, at, value), None).await?;
                call.changed(&record)?
            }
            Change::Remove(value) => {
                self.commit(Write::delete(key, at), None).await?;
                call.would_change(&value)?
            }
        };
        Ok(answer.with_warnings(&warnings))
    }

    /// An object as it is stored. Definitions get their names here, where the other definitions are known.
    pub(super) fn to_stored(&self, call: &Call<'_>, mut object: Value) -> Value {
        if definition::is_definition(call.resource) {
            self.accept_names(&call.request.cluster, &mut object);
            return off_the_threads_of_connections(|| view::to_stored(call.resource, object));
        }
        view::to_stored(call.resource, object)
    }

    /// Says in the status of a definition which names it has, beside the other definitions of the cluster.
    pub(super) fn accept_names(&self, cluster: &Arc<str>, object: &mut Value) {
        let scope = Scope::resource(cluster.clone(), DEFINITIONS);
        let records = self.shared.store.list(&scope, None, None).map(|list| list.records).unwrap_or_default();
        let others = records.iter().filter(|record| record.key().name() != text(object, "name"));
        let others: Vec<Arc<Value>> = others.map(|record| self.summary(record)).collect();
        definition::accept_names(object, others.iter().map(|other| &**other), self.now());
    }

    /// Makes one write, on the condition that another object stays as it is. Returns the written object.
    pub(super) async fn commit(&self, write: Write, condition: Option<Write>) -> Result<Record, Refused> {
        let key = write.key().clone();
        let is_gone = write.is_delete();
        let writes = condition.into_iter().chain([write]).collect();
        match self.shared.store.commit(writes).await {
            Ok(records) => {
                if key.resource() == DEFINITIONS {
                    off_the_threads_of_connections(|| self.renew_catalog(&Arc::from(key.cluster())));
                }
                let written = records.into_iter().next_back();
                let written = written.ok_or_else(|| Refused::Status(Status::internal("nothing was written")))?;
                self.shared.attention.written(&written, is_gone);
                Ok(written)
            }
            Err(WriteError::Conflict { key, .. }) => Err(Refused::Taken(key)),
            Err(error) => Err(Refused::Status(Status::internal(error.to_string()))),
        }
    }

    /// The condition that the namespace of a new object exists and stays while it is made.
    fn namespace(&self, call: &Call<'_>) -> Result<Option<Write>, Refused> {
        let Some(namespace) = call.path.namespace.as_deref().filter(|_| call.resource.is_namespaced) else {
            return Ok(None);
        };
        let key = Key::new(call.request.cluster.clone(), "/namespaces", "", namespace);
        let about = Qualified { group: "", name: "namespaces" };
        let Some(record) = self.shared.store.get(&key) else {
            return Err(Refused::Status(Status::not_found(about, namespace)));
        };
        if is_being_deleted(&record.value()) {
            return Err(Refused::Status(terminating(call, namespace)));
        }
        Ok(Some(Write::require_or(key, record.revision(), |namespace| !is_being_deleted(namespace))))
    }

    /// The refusal of a name that is taken.
    fn taken(&self, call: &Call<'_>, key: &Key, decoded: &Decoded) -> Status {
        let about = call.resource.qualified_plural();
        let is_deleted = self.shared.store.get(key).is_some_and(|record| is_being_deleted(&record.value()));
        let mut status = Status::already_exists(about, key.name());
        if is_deleted {
            status.message = format!("object is being deleted: {}", status.message);
        }
        if !text(&decoded.object, "generateName").is_empty() {
            status.message =
                format!("{}, the server was not able to generate a unique name for the object", status.message);
            status = status.with("retryAfterSeconds", 1);
        }
        status
    }

    pub(super) fn scene<'a>(
        &self,
        call: &Call<'a>,
        options: &'a Options,
        fresh: &'a Fresh,
        budget: &'a Budget,
    ) -> Scene<'a> {
        Scene {
            request: call.request,
            path: call.path,
            resource: call.resource,
            options,
            now: self.now(),
            fresh,
            has_admission: self.shared.settings.admission,
            budget,
        }
    }
}

impl Call<'_> {
    /// The answer to a change: the object, or the part of it that was written to.
    fn changed(&self, record: &Record) -> Result<Answer, Refused> {
        match self.path.subresource.as_deref() {
            Some("scale") => self.would_change(&record.value()),
            _ => Ok(Answer::json_text(StatusCode::OK, View::full(self.resource, record))),
        }
    }

    /// The same for an object that is not stored.
    fn would_change(&self, object: &Value) -> Result<Answer, Refused> {
        match self.path.subresource.as_deref() {
            Some("scale") => {
                let scale = scale_of(self.resource, object).map_err(Refused::Status)?;
                Ok(Answer::json(StatusCode::OK, &scale))
            }
            _ => Ok(Answer::json(StatusCode::OK, object)),
        }
    }
}

/// Why a decision was not carried out.
pub(super) enum Refused {
    /// Somebody else changed the object meanwhile, or made it; or the object that the write depends on.
    Taken(Key),
    Status(Status),
}

fn terminating(call: &Call<'_>, namespace: &str) -> Status {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = serde_json::json!([{
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    }]);
    Status::forbidden(call.resource.qualified_plural(), call.path.name.as_deref().unwrap_or_default(), why)
        .with("causes", cause)
}

/// An update of a collection.
fn unnamed(call: &Call<'_>) -> Status {
    if call.resource.is_custom() {
        return Status::bad_request("name must be provided");
    }
    super::not_allowed()
}
