//! What several extensions say together when each of them is called for one hook.

use refit_api::hooks::{HookResponse, RetryAfterSeconds, StatusError, UpdateMachineResponse, UpdateOutcome};

/// What several successful answers come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// The shortest wait that any of them asks for. None: all are done.
    pub retry_after: Option<RetryAfterSeconds>,
    /// The messages that are not empty, with commas between.
    pub message: String,
}

/// An answer that does not count as success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSuccessful {
    /// The extension says so.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// Read by upstream as "done"; there is no telling what was meant.
    #[error("got a negative retryAfterSeconds of {0}, which means nothing")]
    NegativeRetry(i32),
}

/// Puts answers together. The first that is no success is what comes out.
pub fn aggregate<'a>(
    responses: impl IntoIterator<Item = &'a UpdateMachineResponse>,
) -> Result<Aggregate, NotSuccessful> {
    let mut waits = Vec::new();
    let mut messages = Vec::new();
    for response in responses {
        waits.extend(wait(response)?);
        messages.push(response.message());
    }
    messages.retain(|message| !message.is_empty());
    Ok(Aggregate { retry_after: waits.into_iter().min(), message: messages.join(", ") })
}

/// The wait that an answer asks for, if it is a success.
pub fn wait(response: &UpdateMachineResponse) -> Result<Option<RetryAfterSeconds>, NotSuccessful> {
    match response.outcome() {
        UpdateOutcome::Done => Ok(None),
        UpdateOutcome::InProgress { retry_after } => Ok(Some(retry_after)),
        UpdateOutcome::Refused(error) => Err(error.into()),
        UpdateOutcome::NegativeRetry { retry_after_seconds } => Err(NotSuccessful::NegativeRetry(retry_after_seconds)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(sent: &[Value], expected: Result<(Option<i32>, &str), &str>) {
        let responses = sent.iter().map(|sent| serde_json::from_value(sent.clone()).expect("it must decode"));
        let responses: Vec<UpdateMachineResponse> = responses.collect();
        let found = aggregate(&responses);
        let found = found.map(|found| (found.retry_after.map(RetryAfterSeconds::get), found.message));
        let expected = expected.map(|(wait, message)| (wait, message.to_owned()));
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{sent:?}");
    }

    #[test]
    fn the_shortest_wait_and_all_messages_count() {
        let answer =
            |wait: i32, message: &str| json!({ "status": "Success", "retryAfterSeconds": wait, "message": message });
        check(&[], Ok((None, "")));
        check(&[answer(0, "a"), answer(0, "")], Ok((None, "a")));
        check(&[answer(30, "a"), answer(0, "b"), answer(5, "")], Ok((Some(5), "a, b")));
        check(&[answer(3, ""), answer(-1, "b")], Err("got a negative retryAfterSeconds of -1, which means nothing"));
        check(&[json!({ "status": "Failure", "message": "no" })], Err("got failure response with message: no"));
        check(&[json!({})], Err("got unknown response status \"\" with message: "));
    }
}
