//! Why a request was not carried out, sorted by what to do about it.

use http::StatusCode;
use kube::core::Status;
use kube::core::response::StatusCause;
use refit_hooks::chain;
use refit_plan::effect::Target;

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {} was not written: {why}", target.kind, target.name)]
pub struct Failure {
    pub target: Box<Target>,
    pub why: Why,
}

/// Why, sorted by what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The object is not what the decision was made for. To be looked at again, at once.
    #[error("it has changed meanwhile: {words}")]
    Stale { words: String },
    /// Whatever is sent again will be refused again, until somebody changes something. The words are for people; the fields are
    /// those that the server names.
    #[error("refused: {words}")]
    Refused { code: u16, words: String, fields: Vec<String> },
    /// Nobody knows whether it was carried out. To be tried again later.
    #[error("{words}")]
    Transient { words: String },
}

/// The fields by which a patch says what it was made for. A patch for another object would change them, which is refused.
const PRECONDITIONS: [&str; 2] = ["metadata.uid", "metadata.resourceVersion"];

impl Failure {
    pub(super) fn of(target: &Target, error: &kube::Error) -> Self {
        let why = match error {
            kube::Error::Api(status) => Why::of_status(target, status),
            other => Why::Transient { words: chain(other) },
        };
        Self { target: Box::new(target.clone()), why }
    }

    /// Why operations were not carried out. The API server names no field when a test among them failed.
    pub(super) fn of_operations(target: &Target, error: &kube::Error) -> Self {
        let failure = Self::of(target, error);
        match (error, failure.why) {
            (kube::Error::Api(status), Why::Refused { words, .. })
                if status.code == StatusCode::UNPROCESSABLE_ENTITY.as_u16() && causes(status).is_empty() =>
            {
                Self { why: Why::Stale { words }, ..failure }
            }
            (_, why) => Self { why, ..failure },
        }
    }
}

impl Why {
    fn of_status(target: &Target, status: &Status) -> Self {
        let words = status.message.clone();
        match StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR) {
            StatusCode::CONFLICT => Self::Stale { words },
            StatusCode::UNPROCESSABLE_ENTITY if is_precondition(status) => Self::Stale { words },
            // What was seen is not there any more. What was to be made lacks its namespace or its kind.
            StatusCode::NOT_FOUND if target.uid.is_some() => Self::Stale { words },
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::UNAUTHORIZED => {
                Self::Transient { words }
            }
            code if code.is_client_error() => {
                let fields = causes(status).iter().map(|cause| cause.field.clone()).collect();
                Self::Refused { code: code.as_u16(), words, fields }
            }
            _ => Self::Transient { words },
        }
    }
}

/// Whether all that is wrong is that the object is another one.
fn is_precondition(status: &Status) -> bool {
    let causes = causes(status);
    !causes.is_empty() && causes.iter().all(|cause| PRECONDITIONS.contains(&cause.field.as_str()))
}

fn causes(status: &Status) -> &[StatusCause] {
    status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(code: u16, fields: &[&str], uid: Option<&str>, expected: impl Fn(String) -> Why) {
        let causes: Vec<_> = fields.iter().map(|field| json!({ "field": field })).collect();
        let status = json!({ "code": code, "message": "words", "details": { "causes": causes } });
        let status = serde_json::from_value(status).expect("it must be a status");
        let target = Target {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            namespace: None,
            name: "n".to_owned(),
            uid: uid.map(str::to_owned),
        };
        let failure = Failure::of(&target, &kube::Error::Api(Box::new(status)));
        assert_eq!(failure.why, expected("words".to_owned()), "{code} {fields:?} {uid:?}");
    }

    fn refused(code: u16, fields: &[&str], words: String) -> Why {
        Why::Refused { code, words, fields: fields.iter().map(|&field| field.to_owned()).collect() }
    }

    #[test]
    fn failures_are_sorted_by_what_to_do_about_them() {
        let stale = |words| Why::Stale { words };
        let transient = |words| Why::Transient { words };
        check(409, &[], Some("u"), stale);
        check(404, &[], Some("u"), stale);
        check(404, &[], None, |words| refused(404, &[], words));
        check(422, &["metadata.uid"], Some("u"), stale);
        check(422, &["metadata.uid", "spec.x"], Some("u"), |words| refused(422, &["metadata.uid", "spec.x"], words));
        check(422, &["spec.x"], Some("u"), |words| refused(422, &["spec.x"], words));
        check(422, &[], Some("u"), |words| refused(422, &[], words));
        check(403, &[], Some("u"), |words| refused(403, &[], words));
        check(400, &[], Some("u"), |words| refused(400, &[], words));
        check(401, &[], Some("u"), transient);
        check(429, &[], Some("u"), transient);
        check(500, &[], Some("u"), transient);
        check(503, &[], Some("u"), transient);
        check(0, &[], Some("u"), transient);
    }
}
