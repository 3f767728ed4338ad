//! Dry runs: what would the API server say?

use kube::Client;
use refit_plan::effect::{Target, Write};
use refit_plan::machine_set::refusal::Refusal;
use refit_plan::machine_set::start_move::{Outcome, Rehearsal, Rehearsed};
use serde_json::Value;

use super::failure::{Failure, Why};
use super::request::Run;
use super::{request, within_limit};
use crate::cache::Written;

/// Sends the writes of a rehearsal as dry runs, in their order, up to the first that is refused.
///
/// Each is the request that will be made, by the same field manager, but for `dryRun=All`.
///
/// An object that has changed meanwhile says nothing about the writes: to be rehearsed again. A server that does not answer
/// says nothing either, and that is told.
pub async fn rehearse(client: &Client, rehearsal: Rehearsal) -> Result<Rehearsed, Failure> {
    for write in &rehearsal.writes {
        let Err(Failure { target: object, why }) = dry_run(client, write).await else { continue };
        let outcome = match why {
            Why::Stale { .. } => return Err(Failure { target: object, why }),
            Why::Transient { words } => Outcome::Unanswered { object: *object, words },
            Why::Refused { code, words, fields } => {
                let takes_new_object = takes_new(client, &rehearsal, &object).await;
                Outcome::Refused { object: *object, refusal: Refusal { code, words, fields, takes_new_object } }
            }
        };
        return Ok(Rehearsed { rehearsal, outcome });
    }
    Ok(Rehearsed { rehearsal, outcome: Outcome::Accepted })
}

/// What the API server would make of a write: the whole object, as a dry run gives it.
pub async fn preview(client: &Client, write: &Write) -> Result<Value, Failure> {
    within_limit(write.target(), request::preview(client.clone(), write)).await
}

/// Whether the server would create a new object of this kind from the same template. No answer is no yes.
async fn takes_new(client: &Client, rehearsal: &Rehearsal, refused: &Target) -> bool {
    let is_of_kind = |write: &&Write| {
        let target = write.target();
        target.kind == refused.kind && target.api_version == refused.api_version
    };
    match rehearsal.new_objects.iter().find(is_of_kind) {
        Some(write) => dry_run(client, write).await.is_ok(),
        None => false,
    }
}

async fn dry_run(client: &Client, write: &Write) -> Result<Written, Failure> {
    within_limit(write.target(), request::write(client.clone(), write, Run::Dry)).await
}
