//! The rules of UpdateMachine.

use std::time::Duration;

use futures::future::join_all;
use refit_api::hooks::{Hook, UpdateMachineResponse, UpdateOutcome};
use serde_json::Value;
use tokio::time::Instant;

use super::{Handler, Judgement, Run, Verdict, broken, rules};
use crate::conformance::Sample;

/// How many calls are made at once for one machine.
const CALLERS: usize = 8;

/// What the extension says about the update.
enum State {
    Done,
    InProgress(Duration),
    Failed(String),
}

impl Run<'_> {
    pub(super) async fn update(&mut self, handler: &Handler) {
        if !self.options.updates {
            let skipped = Err(Verdict::Skipped("UpdateMachine was not to be called".to_owned()));
            return self.note(rules::UPDATE_ANSWERS, Some(handler), skipped);
        }
        let sample = &self.options.sample;
        let request = sample.request(Hook::UpdateMachine);
        let ended = self.until_done(handler, &request).await;
        let (answers, ends, idempotent) = match ended {
            Err(verdict) => (Err(verdict), skipped(), skipped()),
            Ok(State::Failed(message)) => {
                let failed = format!("the answer is a failure: {message}");
                (Ok(()), Err(Verdict::Warned(failed)), skipped())
            }
            Ok(State::InProgress(_)) => {
                let patience = self.options.update_patience.as_secs();
                (Ok(()), Err(Verdict::Warned(format!("it has not ended within {patience} seconds"))), skipped())
            }
            Ok(State::Done) => (Ok(()), Ok(()), self.stays_done(handler, &request).await),
        };
        self.note(rules::UPDATE_ANSWERS, Some(handler), answers);
        self.note(rules::UPDATE_ENDS, Some(handler), ends);
        self.note(rules::UPDATE_IDEMPOTENT, Some(handler), idempotent);
        let judgement = self.concurrent_updates(handler, sample.clone().called("refit-conformance-2")).await;
        self.note(rules::UPDATE_CONCURRENT, Some(handler), judgement);
        let judgement = self.without_bootstrap(handler, sample.clone().called("refit-conformance-3")).await;
        self.note(rules::UPDATE_WITHOUT_BOOTSTRAP, Some(handler), judgement);
    }

    /// Asks as a controller does: not before the time that the extension names.
    async fn until_done(&self, handler: &Handler, request: &Value) -> Result<State, Verdict> {
        let deadline = Instant::now() + self.options.update_patience;
        loop {
            let state = self.state(handler, request).await?;
            let State::InProgress(wait) = state else { return Ok(state) };
            if Instant::now() + wait > deadline {
                return Ok(state);
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn stays_done(&self, handler: &Handler, request: &Value) -> Judgement {
        for _ in 0..2 {
            match self.state(handler, request).await? {
                State::Done => {}
                State::InProgress(_) => {
                    return Err(Verdict::Warned("the update starts over after it was done".to_owned()));
                }
                State::Failed(message) => {
                    return Err(broken(format!("after it was done, the answer is a failure: {message}")));
                }
            }
        }
        Ok(())
    }

    async fn concurrent_updates(&self, handler: &Handler, sample: Sample) -> Judgement {
        let request = sample.request(Hook::UpdateMachine);
        let states = join_all((0..CALLERS).map(|_| self.state(handler, &request))).await;
        states.into_iter().try_for_each(|state| state.map(drop))
    }

    async fn without_bootstrap(&self, handler: &Handler, sample: Sample) -> Judgement {
        let with = self.state(handler, &sample.request(Hook::UpdateMachine)).await?;
        let request = sample.called("refit-conformance-4").without_bootstrap().request(Hook::UpdateMachine);
        match (with, self.state(handler, &request).await?) {
            (State::Failed(_), _) => skipped(),
            (_, State::Failed(message)) => Err(broken(format!("the answer is a failure: {message}"))),
            (_, State::Done | State::InProgress(_)) => Ok(()),
        }
    }

    async fn state(&self, handler: &Handler, request: &Value) -> Result<State, Verdict> {
        let answer = self.ask(handler, request).await?;
        let response: UpdateMachineResponse =
            serde_json::from_value(answer).map_err(|error| broken(format!("the answer does not decode: {error}")))?;
        match response.outcome() {
            UpdateOutcome::Done => Ok(State::Done),
            UpdateOutcome::InProgress { retry_after } => {
                Ok(State::InProgress(Duration::from_secs(u64::try_from(retry_after.get()).unwrap_or_default())))
            }
            UpdateOutcome::Refused(error) => Ok(State::Failed(error.to_string())),
            UpdateOutcome::NegativeRetry { retry_after_seconds } => {
                Err(broken(format!("retryAfterSeconds is {retry_after_seconds}")))
            }
        }
    }
}

fn skipped() -> Judgement {
    Err(Verdict::Skipped("the update did not come to its end".to_owned()))
}
