//! Nothing waits for long without the reason on the MachineDeployment or in its MachineRollout.

use std::time::Duration;

use kube::ResourceExt;
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::view::{View, controllers, is_available, is_updating};

/// Half of the minute that is promised: stories are short.
const LIMIT: Duration = Duration::from_secs(30);

/// For how long a rollout has stood where it is.
#[derive(Debug, Default)]
pub struct Silence {
    /// What was there when something moved last.
    last: Vec<String>,
    /// When that was. Nothing where no machine waits, or where the silence was judged already.
    since: Option<Duration>,
}

impl Silence {
    /// What is wrong with all that was said until now.
    pub fn judge(&mut self, at: Duration, view: &View) -> Option<String> {
        let waited = at.saturating_sub(self.since?);
        if waited <= LIMIT {
            return None;
        }
        self.since = None;
        let seconds = waited.as_secs();
        (!says_why(view)).then(|| format!("I7: nothing has moved for {seconds}s, and nothing says what is waited for"))
    }

    pub fn note(&mut self, at: Duration, view: &View) {
        let now = standing(view);
        if now != self.last {
            (self.last, self.since) = (now, view.has_waiting().then_some(at));
        }
    }
}

/// Where all machines are, and what the user wants.
fn standing(view: &View) -> Vec<String> {
    let machine = |(name, it): (&String, &refit_api::cluster::Machine)| {
        let is = (is_updating(it), is_available(it), it.metadata.deletion_timestamp.is_some());
        format!("{name} {:?} {is:?}", controllers(it))
    };
    let wish = view.deployment.as_ref().map(|it| format!("{:?} {:?}", it.spec, it.annotations()));
    view.machines.iter().map(machine).chain(wish).collect()
}

/// The condition of the MachineDeployment, or the message of a rollout that is open, has words about what is wanted now.
fn says_why(view: &View) -> bool {
    let Some(deployment) = &view.deployment else { return true };
    let is_current = |generation: Option<i64>| generation >= deployment.metadata.generation;
    let condition = deployment.status.conditions.iter().find(|it| it.type_ == ROLLOUT_BLOCKED);
    let on_deployment = condition.is_some_and(|it| !it.message.is_empty() && is_current(it.observed_generation));
    let mut open = view.rollouts.values().map(|it| &it.status).filter(|it| it.completion_time.is_none());
    on_deployment || open.any(|status| status.message.as_ref().is_some_and(|message| !message.is_empty()))
}
