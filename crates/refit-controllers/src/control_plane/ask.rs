//! Asks extensions whether they can change a Machine of a control plane into what it should be.
//!
//! What they are shown is what the API server makes of the very writes of the hand-over, sent as dry runs.

use refit_hooks::chain;
use refit_plan::control_plane::{Coverage, HandOver, Observed, Seen};
use refit_plan::coverage::Accepted;
use refit_plan::effect::Write;
use refit_plan::machine_set::start_move::Outcome;

use crate::act::{Failure, preview, rehearse};
use crate::context::Context;

/// Notes what extensions say on the Machine.
pub(super) async fn ask(context: &Context, observed: &mut Observed, machine: &str) {
    let coverage = coverage(context, observed, machine).await.unwrap_or_else(|why| Coverage::Unknown { why });
    if let Some(machine) = observed.machines.get_mut(machine) {
        machine.coverage = coverage;
    }
}

/// What they say, or why they could not be asked.
async fn coverage(context: &Context, observed: &Observed, machine: &str) -> Result<Coverage, String> {
    let hand_over = HandOver::of(observed, machine).map_err(|error| chain(&error))?;
    let words = |failure: Failure| chain(&failure);
    match rehearse(&context.client, hand_over.rehearsal.clone()).await.map_err(words)?.outcome {
        Outcome::Accepted => {}
        Outcome::Refused { object, refusal } => return Ok(Coverage::Refused(hand_over.refused(&object, &refusal))),
        Outcome::Unanswered { object, words } => {
            return Err(format!("no answer about {} {}: {words}", object.kind, object.name));
        }
    }
    let question = hand_over.question(look(context, &hand_over).await.map_err(words)?);
    let question = question.map_err(|error| chain(&error))?;
    let (target, change) = (question.target_hash(), question.change_hash());
    let namespace = context.namespace(observed.control_plane.metadata.namespace.as_deref().unwrap_or_default());
    let asked = context.extensions.coverage(question, &namespace).await.map_err(|error| chain(&error))?;
    Ok(Coverage::Asked { target, change, verdict: Accepted::from(&asked.coverage) })
}

/// What the API server would make of the objects.
async fn look(context: &Context, hand_over: &HandOver) -> Result<Seen, Failure> {
    let client = &context.client;
    Ok(Seen {
        current: preview(client, &Write::Patch(hand_over.current.clone())).await?,
        infrastructure: preview(client, &Write::Apply(hand_over.infrastructure.clone())).await?,
        machine: preview(client, &Write::Apply(hand_over.machine.clone())).await?,
    })
}
