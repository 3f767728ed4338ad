use std::sync::Arc;

use http::header::{ACCEPT, HeaderValue};
use http::{HeaderMap, Method};

use super::*;
use crate::request::{Path, Query, User};

fn request(accept: &'static str, query: &str) -> Request {
    Request {
        method: Method::GET,
        cluster: Arc::from(""),
        path: Path::parse("/api/v1/pods"),
        query: Query::parse(query),
        headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]),
        body: Bytes::new(),
        user: User::default(),
    }
}

/// The view of an object and of a list, or the code of the refusal.
fn check(accept: &'static str, object: Result<View, u16>, list: Result<View, u16>) {
    let request = request(accept, "");
    let code = |status: Status| status.code.as_u16();
    assert_eq!(View::of_object(&request).map_err(code), object, "{accept}");
    assert_eq!(View::of_list(&request).map_err(code), list, "{accept}");
}

#[test]
fn the_first_wish_that_can_be_met_decides() {
    let table = View::Table(MetaVersion::V1, IncludeObject::Metadata);
    check("", Ok(View::Full), Ok(View::Full));
    check("application/vnd.kubernetes.protobuf,application/json", Ok(View::Full), Ok(View::Full));
    check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Ok(table), Ok(table));
    check("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Ok(View::Full), Ok(View::Full));
    let older = View::Table(MetaVersion::V1Beta1, IncludeObject::Metadata);
    check("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Ok(older), Ok(older));
    check("application/yaml;as=Table;v=v1;g=meta.k8s.io", Ok(table), Ok(table));
    check(
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        Ok(View::Metadata(MetaVersion::V1)),
        Err(406),
    );
    check(
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        Err(406),
        Ok(View::Metadata(MetaVersion::V1)),
    );
    for refused in ["application/xml", "application/json;as=Table", "application/json;as=Foo;g=meta.k8s.io;v=v1"] {
        check(refused, Err(406), Err(406));
    }
}

#[test]
fn watches_are_not_served_as_yaml() {
    let view = |accept| View::of_watch(&request(accept, "watch=1")).map_err(|status| status.code.as_u16());
    assert_eq!(view("application/yaml"), Err(406));
    assert_eq!(view("application/yaml,application/json"), Ok(View::Full));
    assert_eq!(
        view("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        Ok(View::Metadata(MetaVersion::V1))
    );
}

#[test]
fn a_row_takes_along_what_is_asked_for() {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let view = |query: &str| View::of_object(&request(accept, query)).map_err(|status| status.code.as_u16());
    assert_eq!(view("includeObject=None"), Ok(View::Table(MetaVersion::V1, IncludeObject::None)));
    assert_eq!(view("includeObject=Object"), Ok(View::Table(MetaVersion::V1, IncludeObject::Object)));
    assert_eq!(view("includeObject=Foo"), Err(400));
}
