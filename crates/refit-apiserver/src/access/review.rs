//! Questions of a user about their own rights, as `kubectl auth can-i` asks them.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Attempt, Place, authorize, rules};
use crate::api::Answer;
use crate::body;
use crate::budget::Budget;
use crate::request::{Path, Query, Request, ResourcePath};
use crate::resource::Catalog;
use crate::status::Status;

/// Questions about one thing.
const ACCESS: &str = "selfsubjectaccessreviews";
/// Questions about everything.
const RULES: &str = "selfsubjectrulesreviews";

/// How long the name of a namespace may be.
const MAX_NAMESPACE_BYTES: usize = 63;

/// Whether this is such a question. Everybody who was authenticated may ask.
pub fn is_review(method: &Method, path: &Path) -> bool {
    let is_reviews = |path: &ResourcePath| {
        path.group == "authorization.k8s.io"
            && path.version == "v1"
            && matches!(path.plural.as_str(), ACCESS | RULES)
            && path.namespace.is_none()
            && path.name.is_none()
    };
    method == Method::POST && matches!(path, Path::Resource(path) if is_reviews(path))
}

/// Answers it. The catalog says what there is to have rights on.
pub fn review(request: &Request, place: Place<'_>, catalog: &Catalog) -> Result<Answer, Status> {
    let encoding = body::encoding(request)?;
    let body = body::parse(encoding, &request.body, &Budget::small()).map_err(Status::bad_request)?.value;
    match &request.path {
        Path::Resource(path) if path.plural == RULES => rules_review(request, place, catalog, &body["spec"]),
        _ => access_review(request, place, &body["spec"]),
    }
}

/// All that the user may do in a namespace.
fn rules_review(request: &Request, place: Place<'_>, catalog: &Catalog, spec: &Value) -> Result<Answer, Status> {
    let namespace = text(spec, "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    // One that is longer names nothing; each resource would be tried with it.
    if namespace.len() > MAX_NAMESPACE_BYTES {
        let message = format!("spec.namespace: must be no more than {MAX_NAMESPACE_BYTES} characters");
        return Err(Status::bad_request(message));
    }
    let is_allowed = |verb: &str, group: &str, resource: &str| {
        let asked = json!({"verb": verb, "group": group, "resource": resource, "namespace": namespace});
        resource_attempts(&asked)
            .iter()
            .all(|(method, path, query)| authorize(Attempt { user: &request.user, place, method, path, query }).is_ok())
    };
    let is_page_allowed = |path: &str| {
        let (path, query) = (Path::Other(path.to_owned()), Query::default());
        authorize(Attempt { user: &request.user, place, method: &Method::GET, path: &path, query: &query }).is_ok()
    };
    let review = json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": rules::status(catalog, is_allowed, is_page_allowed),
    });
    Ok(Answer::json(StatusCode::CREATED, &review))
}

/// What was asked, and whether it is allowed.
fn access_review(request: &Request, place: Place<'_>, spec: &Value) -> Result<Answer, Status> {
    let is_allowed = |(method, path, query): &(Method, Path, Query)| {
        authorize(Attempt { user: &request.user, place, method, path, query }).is_ok()
    };
    let allowed = match (&spec["resourceAttributes"], &spec["nonResourceAttributes"]) {
        (resource @ Value::Object(_), Value::Null) => resource_attempts(resource).iter().all(is_allowed),
        (Value::Null, other @ Value::Object(_)) => {
            is_allowed(&(method(text(other, "verb")), Path::Other(text(other, "path").to_owned()), Query::default()))
        }
        _ => {
            return Err(Status::bad_request(
                "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ));
        }
    };
    let review = json!({
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": allowed},
    });
    Ok(Answer::json(StatusCode::CREATED, &review))
}

/// The requests that a question stands for. One about all resources is about the most guarded, too.
fn resource_attempts(asked: &Value) -> Vec<(Method, Path, Query)> {
    let verb = text(asked, "verb");
    let query = if verb == "watch" { Query::parse("watch=1") } else { Query::default() };
    let has_name = !matches!(verb, "list" | "watch" | "create" | "deletecollection");
    let given = |field| Some(text(asked, field).to_owned()).filter(|text| !text.is_empty());
    let path = ResourcePath {
        group: text(asked, "group").to_owned(),
        version: text(asked, "version").to_owned(),
        namespace: given("namespace"),
        plural: text(asked, "resource").to_owned(),
        name: has_name.then(|| given("name").unwrap_or_else(|| "any".to_owned())),
        subresource: given("subresource"),
    };
    let guarded = ResourcePath { group: String::new(), plural: "secrets".to_owned(), ..path.clone() };
    let is_about_all = path.plural == "*" && matches!(path.group.as_str(), "" | "*");
    let paths = [Some(path), is_about_all.then_some(guarded)];
    paths.into_iter().flatten().map(|path| (method(verb), Path::Resource(path), query.clone())).collect()
}

/// The method of a verb. What is unknown, or all verbs at once, counts as a write.
fn method(verb: &str) -> Method {
    match verb {
        "get" | "list" | "watch" => Method::GET,
        "head" => Method::HEAD,
        "update" | "put" => Method::PUT,
        "patch" => Method::PATCH,
        "delete" | "deletecollection" => Method::DELETE,
        _ => Method::POST,
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::HeaderMap;

    use super::super::{admin, nobody, viewer};
    use super::*;
    use crate::api::Body;
    use crate::request::User;

    fn ask(user: User, spec: &Value) -> Result<bool, u16> {
        Ok(send(user, ACCESS, spec)?["status"]["allowed"] == true)
    }

    fn send(user: User, plural: &str, spec: &Value) -> Result<Value, u16> {
        let request = Request {
            method: Method::POST,
            cluster: Arc::from(""),
            path: Path::parse(&format!("/apis/authorization.k8s.io/v1/{plural}")),
            query: Query::default(),
            headers: HeaderMap::new(),
            body: json!({"spec": spec}).to_string().into(),
            user,
        };
        assert!(is_review(&request.method, &request.path));
        let answer = review(&request, Place::Root, &Catalog::new([])).map_err(|status| status.code.as_u16())?;
        let Body::Whole(text) = answer.body else { panic!("it must be whole") };
        Ok(serde_json::from_slice(&text).unwrap())
    }

    /// What the administrator, the viewer and nobody in particular may do.
    fn check(verb: &str, resource: &str, expected: [bool; 3]) {
        let spec = json!({"resourceAttributes": {"verb": verb, "resource": resource, "namespace": "default"}});
        let found = [admin(), viewer(), nobody()].map(|user| ask(user, &spec));
        assert_eq!(found, expected.map(Ok), "{verb} {resource}");
    }

    #[test]
    fn the_answer_is_what_a_request_would_meet() {
        check("get", "pods", [true, true, false]);
        check("watch", "pods", [true, true, false]);
        check("get", "secrets", [true, false, false]);
        check("list", "*", [true, false, false]);
        check("delete", "pods", [true, false, false]);
        check("*", "pods", [true, false, false]);
        let version = json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}});
        assert_eq!(ask(nobody(), &version), Ok(true));
        assert_eq!(ask(admin(), &json!({})), Err(400));
    }

    #[test]
    fn the_rules_say_what_requests_would_meet() {
        let status = |user| send(user, RULES, &json!({"namespace": "default"})).unwrap()["status"].clone();
        let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
        assert_eq!(status(admin())["resourceRules"], all);
        let viewer = status(viewer());
        let core = viewer["resourceRules"].as_array().unwrap().iter().find(|rule| rule["apiGroups"] == json!([""]));
        let core = core.expect("there must be a rule for the core group");
        assert_eq!(core["verbs"], json!(["get", "list", "watch"]));
        let resources = core["resources"].as_array().unwrap();
        assert!(resources.contains(&json!("pods")) && !resources.contains(&json!("secrets")), "{core}");
        let nobody = status(nobody());
        assert_eq!(nobody["resourceRules"], json!([]));
        assert!(nobody["nonResourceRules"][0]["nonResourceURLs"].as_array().unwrap().contains(&json!("/version")));
        assert_eq!(send(admin(), RULES, &json!({})), Err(400));
    }

    #[test]
    fn other_paths_are_no_reviews() {
        for path in ["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", "/api/v1/selfsubjectaccessreviews"] {
            assert!(!is_review(&Method::POST, &Path::parse(path)), "{path}");
        }
        assert!(!is_review(&Method::GET, &Path::parse("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")));
    }
}
