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
    /// By group and version.
    openapi: Mutex<BTreeMap<(String, String), Arc<Document>>>,
}

const AGGREGATED: Form<'_> = Form { group: "apidiscovery.k8s.io", version: "v2", kind: "APIGroupDiscoveryList" };

impl Api {
    /// A page of the logical cluster, or `None` where there is none at this path.
    pub(super) fn page(&self, request: &Request, path: &str) -> Option<Answer> {
        let page = self.find_page(request, path.trim_end_matches('/'))?;
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
        let key = (group.to_owned(), version.to_owned());
        let mut documents = catalog.pages.openapi.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = documents.get(&key) {
            return Some(document.clone());
        }
        let scope = Scope::resource(request.cluster.clone(), DEFINITIONS);
        let records = self.shared.store.list(&scope, None, None).map(|list| list.records).unwrap_or_default();
        let definitions: Vec<Arc<Value>> = records.iter().map(Record::value).collect();
        let definitions = definitions.iter().map(|definition| &**definition);
        let document = Arc::new(openapi::document(catalog, definitions, group, version)?);
        documents.insert(key, document.clone());
        Some(document)
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
