//! The API in one value: requests in, answers out. The only place that waits for the store.

mod answer;
mod decide;
mod delete;
mod entropy;
mod lifecycle;
mod pages;
mod pretty;
mod read;
mod shown;
mod subresource;
mod turns;
mod write;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use crate::request::{Path, Request, ResourcePath, Verb};
use crate::resource::{Catalog, Resource};
use crate::status::Status;
use crate::store::{Key, Record, Scope, Store};

pub use answer::{Answer, Body};
pub use entropy::Entropy;
pub(crate) use pages::Pages;
pub(crate) use pretty::indented;

use decide::off_the_threads_of_connections;
use lifecycle::Attention;
use turns::Turns;

/// How definitions of custom resources are stored.
const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// The group of what calls others when objects are written.
const WEBHOOKS: &str = "admissionregistration.k8s.io";

/// The largest body of a request: 3 MiB.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The API of all logical clusters of one store. Cloning shares it.
#[derive(Clone)]
pub struct Api {
    shared: Arc<Shared>,
}

/// What an API does beyond what Kubernetes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether Cluster API's own defaulting and validation run, which upstream serves as webhooks.
    pub admission: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { admission: true }
    }
}

struct Shared {
    store: Store,
    settings: Settings,
    clock: Clock,
    entropy: Entropy,
    /// What each logical cluster serves; made when it is first asked for, and anew when a definition changes.
    catalogs: RwLock<BTreeMap<Arc<str>, Arc<Catalog>>>,
    /// Whose turn it is to renew the catalog of a logical cluster.
    renewals: Mutex<BTreeMap<Arc<str>, Arc<Mutex<()>>>>,
    /// Which logical clusters need looking after.
    attention: Attention,
    /// Turns of decisions, and of showing objects, that may take long.
    turns: Arc<Turns>,
}

/// A request on a resource that is served.
struct Call<'a> {
    request: &'a Request,
    path: &'a ResourcePath,
    resource: &'a Arc<Resource>,
    verb: Verb,
}

impl Api {
    pub fn new(store: Store, clock: Clock, entropy: Entropy) -> Self {
        Self::with_settings(store, clock, entropy, Settings::default())
    }

    pub fn with_settings(store: Store, clock: Clock, entropy: Entropy, settings: Settings) -> Self {
        let (catalogs, attention) = (RwLock::default(), Attention::default());
        let (renewals, turns) = (Mutex::default(), Arc::default());
        Self { shared: Arc::new(Shared { store, settings, clock, entropy, catalogs, renewals, attention, turns }) }
    }

    /// Answers a request. Who asks was found out before, and whether they may.
    pub async fn handle(&self, request: &Request) -> Answer {
        let answer = match &request.path {
            Path::Resource(_) if request.body.len() > MAX_BODY_BYTES => Answer::refusal(&too_large()),
            Path::Resource(path) => {
                self.resource(request, path).await.unwrap_or_else(|status| Answer::refusal(&status))
            }
            Path::Other(path) => self.page(request, path).await.unwrap_or_else(|| Answer::page_not_found(path)),
        };
        let answer = self.encode(request, answer).await;
        if request.query.is_true("pretty") { indented(answer) } else { answer }
    }

    async fn resource(&self, request: &Request, path: &ResourcePath) -> Result<Answer, Status> {
        let catalog = self.catalog(&request.cluster);
        let Some(resource) = catalog.find(&path.group, &path.version, &path.plural) else {
            return if path.group == WEBHOOKS { Err(no_webhooks()) } else { Ok(Answer::unserved(path)) };
        };
        let verb = Verb::of(&request.method, path, &request.query).ok_or_else(|| match resource.is_custom() {
            true => Status::unsupported_method(resource.qualified_plural()),
            false => not_allowed(),
        })?;
        if resource.is_namespaced && path.namespace.is_none() && !matches!(verb, Verb::List | Verb::Watch) {
            return nowhere(resource, path);
        }
        if !resource.is_namespaced && path.namespace.is_some() {
            return Ok(Answer::unserved(path));
        }
        let answer = self.call(&Call { request, path, resource, verb }).await;
        let Some(warning) = &resource.deprecation_warning else { return answer };
        Ok(answer.unwrap_or_else(|status| Answer::refusal(&status)).with_first_warning(warning))
    }

    async fn call(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let Call { path, resource, verb, .. } = *call;
        if let Some(part) = path.subresource.as_deref() {
            return self.subresource(call, part).await;
        }
        match (verb, path.name.as_deref()) {
            (Verb::Create, Some(_)) if !resource.is_custom() => Err(not_allowed()),
            (Verb::Create, None) if resource.is_namespaced && path.namespace.is_none() => match resource.is_custom() {
                true => Ok(Answer::page_not_found("")),
                false => Err(not_allowed()),
            },
            (Verb::Create | Verb::Update | Verb::Patch, _) => self.written(call).await,
            (Verb::Get, Some(name)) => self.get(call, name).await,
            (Verb::Get | Verb::List, _) => self.list(call).await,
            (Verb::Watch, _) => self.watch(call).await,
            (Verb::Delete, Some(name)) => self.delete(call, name).await,
            (Verb::Delete | Verb::DeleteCollection, _) => self.delete_collection(call).await,
        }
    }

    /// What a logical cluster serves now.
    pub fn catalog(&self, cluster: &Arc<str>) -> Arc<Catalog> {
        let catalogs = &self.shared.catalogs;
        if let Some(catalog) = catalogs.read().unwrap_or_else(PoisonError::into_inner).get(cluster) {
            return catalog.clone();
        }
        off_the_threads_of_connections(|| self.renew_catalog(cluster))
    }

    /// Reads the definitions of a logical cluster again.
    fn renew_catalog(&self, cluster: &Arc<str>) -> Arc<Catalog> {
        // One after the other, so that the catalog made last is also the one that saw most. Rules may take long to
        // compile; nobody who uses the catalog that there is waits for that.
        let turn = self
            .shared
            .renewals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(cluster.clone())
            .or_default()
            .clone();
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = Scope::resource(cluster.clone(), DEFINITIONS);
        let records = self.shared.store.list(&scope, None, None).map(|list| list.records).unwrap_or_default();
        let catalogs = &self.shared.catalogs;
        let known = catalogs.read().unwrap_or_else(PoisonError::into_inner).get(cluster).cloned().unwrap_or_default();
        let catalog = Arc::new(known.renewed(&records));
        catalogs.write().unwrap_or_else(PoisonError::into_inner).insert(cluster.clone(), catalog.clone());
        catalog
    }

    /// Group, names and status of a stored definition.
    fn summary(&self, definition: &Record) -> Arc<Value> {
        let known = self.catalog(&Arc::from(definition.key().cluster())).summary(definition);
        known.unwrap_or_else(|| off_the_threads_of_connections(|| definition.value()))
    }

    /// What the definitions of all logical clusters hold in memory, this one aside.
    fn held_by_definitions_of_others(&self, cluster: &str) -> usize {
        let catalogs = self.shared.catalogs.read().unwrap_or_else(PoisonError::into_inner);
        catalogs.iter().filter(|(name, _)| ***name != *cluster).map(|(_, catalog)| catalog.held_bytes_without("")).sum()
    }

    /// Where the objects of all clusters are.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Forgets what a logical cluster served, after it was dropped.
    pub(crate) fn forget_catalog(&self, cluster: &str) {
        self.shared.catalogs.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.shared.renewals.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }

    /// The time, by the clock that all decisions go by.
    pub(crate) fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }
}

impl Call<'_> {
    /// Where an object of this name, in the namespace of the path, is stored.
    fn key(&self, name: &str) -> Key {
        let namespace = self.path.namespace.as_deref().filter(|_| self.resource.is_namespaced).unwrap_or_default();
        Key::new(self.request.cluster.clone(), self.resource.storage_name(), namespace, name)
    }
}

/// A request on objects of all namespaces at once that is only answered for one of them.
fn nowhere(resource: &Resource, path: &ResourcePath) -> Result<Answer, Status> {
    match &path.name {
        _ if resource.is_custom() => Ok(Answer::page_not_found("")),
        Some(_) => Err(answer::not_served()),
        None => Err(not_allowed()),
    }
}

/// Who registers a webhook must know that it would never be called.
fn no_webhooks() -> Status {
    let message = "this server calls no admission webhooks and knows no admission policies; nothing can be registered in admissionregistration.k8s.io";
    Status::new(StatusCode::NOT_IMPLEMENTED, Some("NotImplemented"), message).with_empty_details()
}

fn too_large() -> Status {
    let message = format!("Request entity too large: limit is {MAX_BODY_BYTES}");
    Status::new(StatusCode::PAYLOAD_TOO_LARGE, Some("RequestEntityTooLarge"), message)
}

fn not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(StatusCode::METHOD_NOT_ALLOWED, Some("MethodNotAllowed"), message).with_empty_details()
}
