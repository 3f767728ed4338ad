//! Carries out what was decided: one request per effect, in their order, up to the first that fails.
//!
//! Nothing is decided here, and nothing is tried twice: what failed comes back as a value, and whoever called decides
//! again from what is then.

mod events;
mod failure;
mod rehearse;
mod request;

use std::future::Future;
use std::time::Duration;

use kube::Client;
use refit_plan::effect::{Effect, Target};
use tokio::time::timeout;

pub use events::{EventError, EventMetrics, EventQueue, EventRecorder, MAX_SERIES, MAX_WAITING};
pub use failure::{Failure, Why};
pub use rehearse::{preview, rehearse};

use crate::cache::Written;
use request::Run;

/// How long one request may take. A server that needs longer is not well, and the decision is made again.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// What came of carrying out effects.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "what was written has to be waited for, and what failed has to be looked at"]
pub struct Carried {
    /// What the cache has to see before the next decision.
    pub written: Vec<Written>,
    /// What ended the plan early.
    pub failure: Option<Failure>,
}

/// Which cluster an object is in: a client for it, or why there is none.
pub trait Place {
    fn client_for(&self, target: &Target) -> Result<Client, String>;
}

impl Place for Client {
    fn client_for(&self, _: &Target) -> Result<Client, String> {
        Ok(self.clone())
    }
}

/// Carries out the effects one after another, up to the first that fails.
///
/// Events are not waited for, and one that cannot be recorded fails nothing: it is for people, and what it is about has
/// happened.
pub async fn carry_out<'a>(
    effects: impl IntoIterator<Item = &'a Effect>,
    place: &impl Place,
    events: &EventRecorder,
) -> Carried {
    let mut carried = Carried::default();
    for effect in effects {
        if let Effect::Emit(event) = effect {
            events.record(event);
            continue;
        }
        match one(effect, place).await {
            Ok(written) => carried.written.extend(written),
            Err(failure) => {
                carried.failure = Some(failure);
                break;
            }
        }
    }
    carried
}

async fn one(effect: &Effect, place: &impl Place) -> Result<Option<Written>, Failure> {
    match effect {
        Effect::Apply(apply) => {
            let client = client_for(place, &apply.target)?;
            within_limit(&apply.target, request::apply(client, apply, Run::InEarnest)).await.map(Some)
        }
        Effect::Patch(patch) => {
            let client = client_for(place, &patch.target)?;
            within_limit(&patch.target, request::patch(client, patch, Run::InEarnest)).await.map(Some)
        }
        Effect::Delete(delete) => {
            let client = client_for(place, &delete.target)?;
            within_limit(&delete.target, request::delete(client, delete)).await.map(Some)
        }
        Effect::Emit(_) => Ok(None),
    }
}

fn client_for(place: &impl Place, target: &Target) -> Result<Client, Failure> {
    place.client_for(target).map_err(|words| Failure { target: target.clone().into(), why: Why::Transient { words } })
}

/// Ends a request that takes too long.
async fn within_limit<T>(target: &Target, request: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let words = || format!("no answer within {}s", REQUEST_LIMIT.as_secs());
    let late = |_| Failure { target: target.clone().into(), why: Why::Transient { words: words() } };
    timeout(REQUEST_LIMIT, request).await.map_err(late).flatten()
}
