//! Answers in the form that the client asked for.

use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use super::{Answer, Api, Body, Call};
use crate::body::Encoding;
use crate::read::View;
use crate::read::accept;
use crate::request::Request;
use crate::status::Status;

impl Api {
    /// Makes a write and shows what was written. Whether it can be shown is known before it is made.
    pub(super) async fn written(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let view = View::of_object(call.request)?;
        let mut answer = self.write(call).await?;
        if let Body::Whole(text) = &answer.body
            && view != View::Full
            && let Some(text) = view.written(call.resource, text, self.now())
        {
            answer.body = Body::Whole(text);
        }
        Ok(answer)
    }
}

/// Writes a JSON answer as YAML, or with indentation, where the client asked for that.
pub fn encode(request: &Request, mut answer: Answer) -> Answer {
    let is_json = answer.headers.get(CONTENT_TYPE).is_some_and(|name| name == "application/json");
    if !is_json || accept::encoding(request) == Encoding::Json {
        if let Body::Whole(text) = &answer.body
            && is_json
            && request.query.is_true("pretty")
            && let Some(indented) = indented(text)
        {
            answer.body = Body::Whole(indented.into());
        }
        return answer;
    }
    if let Body::Whole(text) = &answer.body
        && let Some(yaml) = yaml(text)
    {
        answer.body = Body::Whole(yaml.into());
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
    }
    answer
}

fn indented(json: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(json).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

fn yaml(json: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&value, options).ok()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http::header::ACCEPT;

    use super::*;
    use crate::request::{Path, Query, User};

    fn check(accept: &'static str, expected: (&str, &str)) {
        let request = Request {
            method: http::Method::GET,
            cluster: std::sync::Arc::from(""),
            path: Path::parse("/api/v1/pods"),
            query: Query::default(),
            headers: http::HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]),
            body: bytes::Bytes::new(),
            user: User::default(),
        };
        let answer = encode(&request, Answer::json_text(StatusCode::OK, "{\"a\":\"1\"}"));
        let Body::Whole(text) = answer.body else { panic!("it must be whole") };
        let found = (answer.headers[CONTENT_TYPE].to_str().unwrap(), std::str::from_utf8(&text).unwrap().trim());
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn yaml_is_for_those_whose_first_wish_it_is() {
        let (json, yaml) = (("application/json", "{\"a\":\"1\"}"), ("application/yaml", "a: \"1\""));
        check("", json);
        check("application/yaml", yaml);
        check("application/yaml;as=Foo;g=meta.k8s.io;v=v1,application/json", json);
        check("application/json,application/yaml", json);
    }
}
