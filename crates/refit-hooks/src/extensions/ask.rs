//! Asking one extension whether it covers a change.

use std::sync::Arc;
use std::time::Duration;

use refit_api::hooks::{HookRequest, HookResponse};
use refit_plan::coverage::{Answer, ContentHash, Reply, Request};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::Extensions;
use super::call::{self, CallError, CallProblem};
use crate::registry::Registration;

/// How long asking all extensions about one change may take: as long as upstream gives one reconciliation. What is not
/// asked by then is asked the next time; the answers so far are remembered.
pub const MAX_ASKING: Duration = Duration::from_secs(60);

impl Extensions {
    /// The answer in memory, or of the call in flight for the same content, or of a new call.
    pub(super) async fn ask(
        &self,
        registration: Arc<Registration>,
        key: ContentHash,
        request: Request,
        deadline: Instant,
    ) -> Answer {
        if let Some(reply) = self.shared.memory.get(&key, Instant::now()) {
            return Answer::Replied(reply);
        }
        let late = || Answer::Failed { words: format!("no answer within the {}s for asking", MAX_ASKING.as_secs()) };
        if Instant::now() >= deadline {
            return late();
        }
        let call = self.clone().call_and_remember(key.clone(), registration, request);
        timeout_at(deadline, self.shared.sharing.join(key, call)).await.unwrap_or_else(|_| late())
    }

    async fn call_and_remember(self, key: ContentHash, registration: Arc<Registration>, request: Request) -> Answer {
        let result = match request {
            Request::Machine(request) => self.reply(&registration, *request).await,
            Request::MachineSet(request) => self.reply(&registration, *request).await,
        };
        match result {
            Ok((reply, bytes)) => {
                self.shared.memory.put(key, reply.clone(), bytes, Instant::now());
                Answer::Replied(reply)
            }
            Err(problem) => Answer::Failed { words: CallError { handler: registration.name.clone(), problem }.words() },
        }
    }

    /// The reply and how large it is.
    async fn reply<R>(&self, registration: &Registration, request: R) -> Result<(Reply, usize), CallProblem>
    where
        R: HookRequest,
        R::Response: Into<Reply>,
    {
        let response = call::call(&self.shared.client, registration, request).await?;
        let bytes = size(&response);
        Ok((response.into(), bytes))
    }
}

/// What an answer depends on: who is asked, as registered and with which settings, and everything that is shown.
pub(super) fn content_of(registration: &Registration, request: &Request) -> ContentHash {
    let shown = match request {
        Request::Machine(request) => json!(request),
        Request::MachineSet(request) => json!(request),
    };
    let identity = registration.identity.as_str();
    ContentHash::of(&json!([registration.name.to_string(), identity, registration.settings, shown]))
}

fn size<T: HookResponse>(response: &T) -> usize {
    serde_json::to_vec(response).map_or(usize::MAX, |encoded| encoded.len())
}
