//! Answers in the form that the client asked for.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use super::decide::off_the_threads_of_connections;
use super::turns::Turns;
use super::{Answer, Api, Body, Call};
use crate::body::Encoding;
use crate::budget::{DECISION_STEPS, PIECE_BYTES, SMALL_STEPS};
use crate::read::View;
use crate::read::accept;
use crate::read::pieces::{ListText, whole_yaml};
use crate::read::view::Page;
use crate::request::{Request, User};
use crate::status::Status;
use crate::store::{Record, Revision};

impl Api {
    /// Makes a write and shows what was written. Whether it can be shown is known before it is made.
    pub(super) async fn written(&self, call: &Call<'_>) -> Result<Answer, Status> {
        let view = View::of_object(call.request)?;
        let mut answer = self.write(call).await?;
        if let Body::Whole(text) = &answer.body
            && view != View::Full
        {
            let show = || view.written(call.resource, text, self.now());
            if let Some(text) = self.in_turn(&call.request.user, text.len(), show).await {
                answer.body = Body::Whole(text);
            }
        }
        Ok(answer)
    }

    /// A list in the form that the client asked for. It is made as the client reads.
    pub(super) async fn listed(
        &self,
        call: &Call<'_>,
        view: View,
        records: Vec<Record>,
        at: (Revision, &Page),
    ) -> Answer {
        let form = (view, accept::encoding(call.request));
        let list = ListText::new(form, call.resource, records, at, self.now());
        let (media_type, bytes, is_short) = (list.media_type(), list.held_bytes(), list.is_last() && !list.is_large());
        let list = Listing { list, turns: self.shared.turns.clone(), user: call.request.user.clone() };
        let body = if is_short {
            Body::Whole(list.step().await.map(|(piece, _)| piece).unwrap_or_default())
        } else {
            Body::Parts { bytes, parts: Box::pin(stream::unfold(list, Listing::step)) }
        };
        Answer::new(StatusCode::OK, media_type, body)
    }

    /// Writes a JSON answer as YAML where the client asked for that.
    pub(super) async fn encode(&self, request: &Request, mut answer: Answer) -> Answer {
        let is_json = answer.headers.get(CONTENT_TYPE).is_some_and(|name| name == "application/json");
        if let Body::Whole(text) = &answer.body
            && is_json
            && accept::encoding(request) == Encoding::Yaml
            && let Some(yaml) = self.in_turn(&request.user, text.len(), || yaml(text)).await
        {
            answer.body = Body::Whole(yaml.into());
            answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
        }
        answer
    }

    /// Shows a text of this length: on the spot, or in a turn where it may take long.
    pub(super) async fn in_turn<T>(&self, user: &User, bytes: usize, show: impl FnOnce() -> T) -> T {
        if bytes <= PIECE_BYTES {
            return show();
        }
        let _turn = self.shared.turns.take(user).await;
        off_the_threads_of_connections(show)
    }
}

/// A list on its way to a user.
struct Listing {
    list: ListText,
    turns: Arc<Turns>,
    user: User,
}

impl Listing {
    /// The next piece; `None` after the last.
    async fn step(mut self) -> Option<(Bytes, Self)> {
        if self.list.is_done() {
            return None;
        }
        let list = &self.list;
        let at_once = (!list.is_large()).then(|| list.piece(&list.budget(SMALL_STEPS)));
        let piece = match at_once {
            Some((piece, true)) => piece,
            _ => {
                let _turn = self.turns.take(&self.user).await;
                off_the_threads_of_connections(|| list.piece(&list.budget(DECISION_STEPS)).0)
            }
        };
        self.list.advance();
        Some((piece.into(), self))
    }
}

fn yaml(json: &[u8]) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_slice(json).ok()?;
    Some(whole_yaml(&value))
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;
    use crate::api::Entropy;
    use crate::request::{Path, Query};
    use crate::store::Store;

    async fn check(accept: &'static str, expected: (&str, &str)) {
        let request = Request {
            method: http::Method::GET,
            cluster: Arc::from(""),
            path: Path::parse("/api/v1/pods"),
            query: Query::default(),
            headers: http::HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]),
            body: Bytes::new(),
            user: User::default(),
        };
        let api = Api::new(Store::in_memory(), Arc::new(jiff::Timestamp::now), Entropy::from_seed(1));
        let answer = api.encode(&request, Answer::json_text(StatusCode::OK, "{\"a\":\"1\"}")).await;
        let Body::Whole(text) = answer.body else { panic!("it must be whole") };
        let found = (answer.headers[CONTENT_TYPE].to_str().unwrap(), std::str::from_utf8(&text).unwrap().trim());
        assert_eq!(found, expected, "{accept}");
    }

    #[tokio::test]
    async fn yaml_is_for_those_whose_first_wish_it_is() {
        let (json, yaml) = (("application/json", "{\"a\":\"1\"}"), ("application/yaml", "a: \"1\""));
        check("", json).await;
        check("application/yaml", yaml).await;
        check("application/yaml;as=Foo;g=meta.k8s.io;v=v1,application/json", json).await;
        check("application/json,application/yaml", json).await;
    }
}
