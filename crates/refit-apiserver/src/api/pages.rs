//! Everything that is no resource: discovery and OpenAPI. What is the same for a whole catalog is made once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::{Answer, Api, Body, DEFINITIONS, not_allowed};
use crate::discovery::{self, Discovery};
use crate::openapi::{self, Document};
use crate::read::accept::{self, Form};
use crate::request::Request;
use crate::resource::Catalog;
use crate::status::Status;
use crate::store::{Record, Scope};

/// Documents of one catalog, made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    discovery: OnceLock<Discovery>,
    /// By group and version. Who asks for one that somebody else makes waits for that one only.
    openapi: Mutex<BTreeMap<GroupVersion, Arc<Entry>>>,
}

/// A group and one of its versions.
type GroupVersion = (String, String);
/// A document; none, where nothing is served in that version.
type Entry = OnceLock<Option<Arc<Document>>>;

impl Pages {
    /// What is still true of another catalog.
    pub(crate) fn still_true(&self, catalog: &Catalog) -> Self {
        let known = self.openapi.lock().unwrap_or_else(PoisonError::into_inner);
        let is_true = |((group, version), entry): &(&GroupVersion, &Arc<Entry>)| {
            let document = entry.get().and_then(Option::as_ref);
            document.is_some_and(|document| document.hash == openapi::hash(catalog, group, version))
        };
        let kept = known.iter().filter(is_true).map(|(key, entry)| (key.clone(), entry.clone())).collect();
        Self { discovery: OnceLock::new(), openapi: Mutex::new(kept) }
    }

    /// A document, where it was made already.
    fn known(&self, group: &str, version: &str) -> Option<Arc<Document>> {
        let documents = self.openapi.lock().unwrap_or_else(PoisonError::into_inner);
        documents.get(&(group.to_owned(), version.to_owned()))?.get()?.clone()
    }

    /// Of what is served only: nobody shall fill memory with names.
    fn entry(&self, group: &str, version: &str) -> Arc<Entry> {
        let mut documents = self.openapi.lock().unwrap_or_else(PoisonError::into_inner);
        documents.entry((group.to_owned(), version.to_owned())).or_default().clone()
    }
}

const AGGREGATED: Form<'_> = Form { group: "apidiscovery.k8s.io", version: "v2", kind: "APIGroupDiscoveryList" };

impl Api {
    /// A page of the logical cluster, or `None` where there is none at this path.
    ///
    /// It is made from all that is served: of large definitions, that takes a while. So what is not made yet is made where
    /// nobody else waits for it.
    pub(super) async fn page(&self, request: &Request, path: &str) -> Option<Answer> {
        let path = path.trim_end_matches('/');
        let is_made = || {
            let pages = &self.catalog(&request.cluster).pages;
            let document = openapi::parse_path(path).map(|(group, version)| pages.known(group, version).is_some());
            document.unwrap_or_else(|| pages.discovery.get().is_some_and(|discovery| discovery.plain(path).is_some()))
        };
        let page = if is_made() {
            self.find_page(request, path)?
        } else {
            self.aside(&request.user, || self.find_page(request, path)).await?
        };
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        let page = if is_read { page } else { Err(not_allowed()) };
        Some(page.unwrap_or_else(|status| Answer::refusal(&status)))
    }

    fn find_page(&self, request: &Request, path: &str) -> Option<Result<Answer, Status>> {
        let catalog = self.catalog(&request.cluster);
        let discovery = catalog.pages.discovery.get_or_init(|| Discovery::new(&catalog));
        if path.is_empty() {
            return Some(Ok(Answer::json(StatusCode::OK, &root(discovery, &catalog))));
        }
        if discovery.plain(path).is_some() {
            return Some(discover(request, discovery, path));
        }
        if path == openapi::ROOT {
            return Some(Ok(tagged(request, &openapi::index(&catalog))));
        }
        if path == openapi::V2 {
            let is_protobuf = request.header(ACCEPT).unwrap_or_default().contains(openapi::V2_PROTOBUF);
            let (content_type, text) = openapi::empty_v2(is_protobuf);
            return Some(Ok(Answer::new(StatusCode::OK, content_type, Body::Whole(text.into()))));
        }
        let (group, version) = openapi::parse_path(path)?;
        let document = self.openapi(request, &catalog, group, version)?;
        Some(Ok(tagged(request, &document)))
    }

    fn openapi(&self, request: &Request, catalog: &Catalog, group: &str, version: &str) -> Option<Arc<Document>> {
        if !openapi::is_served(catalog, group, version) {
            return None;
        }
        let make = || {
            let scope = Scope::resource(request.cluster.clone(), DEFINITIONS);
            let records = self.shared.store.list(&scope, None, None).map(|list| list.records).unwrap_or_default();
            let is_of_group =
                |record: &&Record| record.key().name().split_once('.').is_some_and(|name| name.1 == group);
            let definitions: Vec<Arc<Value>> = records.iter().filter(is_of_group).map(Record::value).collect();
            let definitions = definitions.iter().map(|definition| &**definition);
            openapi::document(catalog, definitions, group, version).map(Arc::new)
        };
        catalog.pages.entry(group, version).get_or_init(make).clone()
    }
}

/// Every path that is not a resource. Clients ask for it to see whether anybody answers.
fn root(discovery: &Discovery, catalog: &Catalog) -> Value {
    let own = [openapi::ROOT, openapi::V2, "/healthz", "/livez", "/readyz", "/version"].map(str::to_owned);
    let documents = openapi::paths(catalog);
    let mut paths: Vec<String> = discovery.paths().map(str::to_owned).chain(own).chain(documents).collect();
    paths.sort_unstable();
    json!({"paths": paths})
}

fn discover(request: &Request, discovery: &Discovery, path: &str) -> Result<Answer, Status> {
    for wish in accept::wishes(request) {
        match (wish.form, discovery.aggregated(path)) {
            (AGGREGATED, Some(whole)) => {
                let body = Body::Whole(whole.text.clone());
                let mut answer = unless_known(request, &whole.tag, discovery::AGGREGATED_TYPE, body);
                answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
                answer.headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
                return Ok(answer);
            }
            (form, _) if form.is_none() => {
                let text = discovery.plain(path).cloned().unwrap_or_default();
                return Ok(Answer::json_text(StatusCode::OK, text));
            }
            _ => {}
        }
    }
    Err(accept::not_acceptable("application/json, application/yaml"))
}

/// An OpenAPI document. Who asks for it by its hash may keep it for good.
fn tagged(request: &Request, document: &Document) -> Answer {
    let tag = format!("\"{}\"", document.hash);
    let mut answer = unless_known(request, &tag, "application/json", Body::Whole(document.text.clone()));
    if request.query.get("hash") == Some(&document.hash) {
        answer.headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    answer
}

/// The body, or only that the client has it already.
fn unless_known(request: &Request, tag: &str, content_type: &'static str, body: Body) -> Answer {
    let known = request.header(IF_NONE_MATCH).unwrap_or_default();
    let mut answer = if known.split(',').any(|known| known.trim() == tag) {
        Answer { status: StatusCode::NOT_MODIFIED, headers: HeaderMap::new(), body: Body::Whole(Vec::new().into()) }
    } else {
        Answer::new(StatusCode::OK, content_type, body)
    };
    if let Ok(tag) = HeaderValue::from_str(tag) {
        answer.headers.insert(ETAG, tag);
    }
    answer
}
