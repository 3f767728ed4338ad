//! A request and its answer.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use refit_api::hooks::{
    DEFAULT_TIMEOUT_SECONDS, HandlerName, Hook, HookRequest, HookResponse, MAX_TIMEOUT_SECONDS, plain,
};
use tokio::time::Instant;
use tower::ServiceExt;

use super::{BoxError, Endpoint, EndpointError, Outgoing, ResponseBody, Transport};
use crate::metrics::HookMetrics;
use crate::words::{chain, shortened};

/// The largest request: what upstream's servers take, 20 MiB.
pub const MAX_REQUEST_BYTES: usize = 20 * 1024 * 1024;
/// The largest answer: as large as the largest request, 20 MiB.
pub const MAX_RESPONSE_BYTES: usize = 20 * 1024 * 1024;
/// How much of an answer that is no success is shown in the error.
pub const MAX_EXCERPT_BYTES: usize = 512;

/// Says who calls. Upstream's says only that it is written in Go.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("refit/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How long a call may take: 1 to 30 seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallTimeout(u8);

impl CallTimeout {
    /// What calls take that nobody has set a time for. Discovery always takes this one.
    pub const DEFAULT: Self = Self(DEFAULT_TIMEOUT_SECONDS as u8);
    /// What calls take at most.
    pub const MAX: Self = Self(MAX_TIMEOUT_SECONDS as u8);

    /// The time of a handler. Unset and 0 mean the default; what is out of range is brought into it.
    pub fn of_handler(timeout_seconds: Option<i32>) -> Self {
        match timeout_seconds {
            None | Some(0) => Self::DEFAULT,
            Some(seconds) => Self(u8::try_from(seconds.clamp(1, MAX_TIMEOUT_SECONDS)).unwrap_or(Self::MAX.0)),
        }
    }

    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// What a call goes to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub endpoint: &'a Endpoint,
    /// None for Discovery only.
    pub handler: Option<&'a HandlerName>,
    pub timeout: CallTimeout,
}

/// Why a call brought no answer. With its causes appended, it begins as upstream's does.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("http call failed")]
    Address(#[from] EndpointError),
    #[error("http call failed: failed to marshall request object")]
    Encode(#[source] serde_json::Error),
    #[error("http call failed: the request has {bytes} bytes, more than the {MAX_REQUEST_BYTES} that extensions take")]
    RequestTooLarge { bytes: usize },
    /// The time is over, wherever the call was.
    #[error("http call failed: http request timeout expired after {}s", .0.as_secs())]
    Timeout(Duration),
    #[error("http call failed")]
    Transport(#[source] BoxError),
    /// Also a redirect, and also another success than 200. Control characters are shown escaped.
    #[error("http call failed: got response with status code {} != 200: response : {excerpt:?}", .status.as_u16())]
    Status { status: StatusCode, excerpt: String },
    #[error("http call failed: got response with status code {} != 200: failed to read response body", .status.as_u16())]
    StatusWithoutBody { status: StatusCode },
    #[error("http call failed: failed to read response")]
    Body(#[source] BoxError),
    #[error("http call failed: the response has more than {MAX_RESPONSE_BYTES} bytes")]
    ResponseTooLarge,
    #[error("http call failed: failed to decode response")]
    Decode(#[source] serde_json::Error),
}

/// Calls extensions.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    metrics: HookMetrics,
}

impl Client {
    pub fn new(transport: Transport, metrics: HookMetrics) -> Self {
        Self { transport, metrics }
    }

    /// Makes a call, once. The answer is as the extension sent it; its status is not looked at.
    pub async fn call<R: HookRequest>(&self, target: Target<'_>, request: &R) -> Result<R::Response, ExchangeError> {
        let begin = Instant::now();
        let mut code = None;
        let limit = target.timeout.duration();
        let exchange = self.exchange::<R>(target, request, &mut code);
        let result = tokio::time::timeout(limit, exchange).await.unwrap_or(Err(ExchangeError::Timeout(limit)));
        let status = result.as_ref().ok().map(HookResponse::status);
        self.metrics.observe(R::HOOK, &target.endpoint.host_and_port(), code, status, begin.elapsed());
        result
    }

    async fn exchange<R: HookRequest>(
        &self,
        target: Target<'_>,
        request: &R,
        code: &mut Option<StatusCode>,
    ) -> Result<R::Response, ExchangeError> {
        let outgoing = outgoing(R::HOOK, target, encode(request)?)?;
        let response = self.transport.clone().oneshot(outgoing).await.map_err(ExchangeError::Transport)?;
        let (parts, body) = response.into_parts();
        *code = Some(parts.status);
        if parts.status != StatusCode::OK {
            return Err(refused(parts.status, body).await);
        }
        decode(&read(body).await?)
    }
}

fn encode<R: HookRequest>(request: &R) -> Result<Bytes, ExchangeError> {
    let body = serde_json::to_vec(request).map_err(ExchangeError::Encode)?;
    match body.len() {
        bytes if bytes > MAX_REQUEST_BYTES => Err(ExchangeError::RequestTooLarge { bytes }),
        _ => Ok(body.into()),
    }
}

fn outgoing(hook: Hook, target: Target<'_>, body: Bytes) -> Result<Outgoing, ExchangeError> {
    let uri = target.endpoint.address(hook, target.handler, target.timeout.duration())?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = uri;
    request.headers_mut().insert(CONTENT_TYPE, JSON);
    request.headers_mut().insert(USER_AGENT, AGENT);
    if let Some(authorization) = target.endpoint.authorization() {
        request.headers_mut().insert(AUTHORIZATION, authorization.clone());
    }
    Ok(Outgoing { endpoint: target.endpoint.clone(), request })
}

/// The first JSON value of the body, with its message as one plain line. What follows it is not looked at, as Go does not.
fn decode<T: HookResponse>(body: &[u8]) -> Result<T, ExchangeError> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let mut response = T::deserialize(&mut deserializer).map_err(ExchangeError::Decode)?;
    response.set_message(plain(response.message()));
    Ok(response)
}

async fn read(mut body: ResponseBody) -> Result<Bytes, ExchangeError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(ExchangeError::Body)?.into_data() else { continue };
        if bytes.len() + data.len() > MAX_RESPONSE_BYTES {
            return Err(ExchangeError::ResponseTooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Reads no more of the body than what is shown.
async fn refused(status: StatusCode, mut body: ResponseBody) -> ExchangeError {
    let mut bytes = BytesMut::new();
    while bytes.len() <= MAX_EXCERPT_BYTES {
        match body.frame().await {
            None => break,
            Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
            Some(Err(_)) => return ExchangeError::StatusWithoutBody { status },
        }
    }
    let excerpt = shortened(&String::from_utf8_lossy(&bytes), MAX_EXCERPT_BYTES);
    ExchangeError::Status { status, excerpt }
}

impl ExchangeError {
    /// The error with its causes, in one line.
    pub fn words(&self) -> String {
        chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_extension_come_in_as_one_plain_line() {
        let body = br#"{"status":"Failure","message":"\u001b[2Jdisk full\r\nsee \u0007log"}"#;
        let response: refit_api::hooks::UpdateMachineResponse = decode(body).expect("it must decode");
        assert_eq!(response.message(), "disk full see log");
    }

    #[test]
    fn a_call_takes_between_one_and_thirty_seconds() {
        let check = |seconds: Option<i32>, expected: u64| {
            assert_eq!(CallTimeout::of_handler(seconds).duration(), Duration::from_secs(expected));
        };
        check(None, 10);
        check(Some(0), 10);
        check(Some(1), 1);
        check(Some(30), 30);
        check(Some(31), 30);
        check(Some(i32::MAX), 30);
        check(Some(-1), 1);
        assert_eq!(CallTimeout::DEFAULT.duration(), Duration::from_secs(10));
    }
}
