//! Dry runs: what would the API server say?

use kube::Client;
use refit_plan::machine_set::start_move::{Outcome, Rehearsal, Rehearsed};

use super::failure::{Failure, Why};
use super::{request, within_limit};

/// Sends the writes of a rehearsal as dry runs, in their order, up to the first that is refused.
///
/// A server that does not answer, or an object that has changed meanwhile, says nothing about the writes: to be
/// rehearsed again.
pub async fn rehearse(client: &Client, rehearsal: Rehearsal) -> Result<Rehearsed, Failure> {
    for apply in &rehearsal.applies {
        let answer = within_limit(&apply.target, request::apply(client.clone(), apply, true)).await;
        match answer {
            Ok(_) => {}
            Err(Failure { target: object, why: Why::Refused { words: why } }) => {
                return Ok(Rehearsed { rehearsal, outcome: Outcome::Refused { object: *object, why } });
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Rehearsed { rehearsal, outcome: Outcome::Accepted })
}
