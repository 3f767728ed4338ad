//! Gives Machines what makes them Nodes: observes KubeadmConfigs, asks [`decide`] and [`next_step`], and takes the steps.

mod data_secret;
mod lock;
mod observe;
mod pairs;
mod problem;
mod sources;
mod token;
mod watch;

use refit_api::vocabulary::events::components;
use refit_plan::effect::Effect;
use refit_plan::kubeadm_config::token::{TOKEN_INTERVAL, Token};
use refit_plan::kubeadm_config::{Decision, Observed, Outcome, Progress, Role, Step, decide, next_step, report};

use crate::act::{EventRecorder, carry_out};
use crate::cache::ObjectKey;
use crate::certificates::ClusterCertificates;
use crate::context::Context;
use crate::controller::{Controller, Pass};
use crate::queue::Queue;
use problem::Problem;

/// More steps than any KubeadmConfig takes in one pass: seven, and two for each lock of a Machine that is gone.
const MAX_STEPS: usize = 16;

/// The controller of KubeadmConfigs.
pub struct KubeadmConfigs {
    context: Context,
    events: EventRecorder,
    certificates: ClusterCertificates,
}

impl KubeadmConfigs {
    /// Subscribes to everything that the decision looks at.
    pub fn new(context: Context, queue: &Queue<ObjectKey>) -> Self {
        watch::watch(&context, queue);
        let events = context.recorder(components::KUBEADM_CONFIG);
        let certificates = ClusterCertificates::new(context.client.clone(), context.clock);
        Self { context, events, certificates }
    }

    async fn act(&self, key: &ObjectKey, observed: &Observed, pass: &mut Pass) -> Result<(), Problem> {
        match decide(observed) {
            Decision::Rest => {}
            decision @ Decision::Paused(_) => self.write(key, decision.report_paused(observed), pass).await,
            Decision::Report(outcome) => self.report(key, observed, &outcome, pass).await,
            Decision::KeepToken { token, data_secret } => {
                self.report(key, observed, &Outcome::Available { data_secret }, pass).await;
                self.keep_token(observed, &token).await?;
                pass.again(Some(TOKEN_INTERVAL));
            }
            Decision::Adopt => {
                data_secret::adopt(&self.context, observed).await?;
                // The Secret's new owner is known with the next look.
                pass.again(Some(data_secret::ADOPTED));
            }
            Decision::Bootstrap(role) => self.bootstrap(key, observed, role, pass).await?,
        }
        Ok(())
    }

    /// Takes one step after another. Each finds what an earlier try has left behind.
    async fn bootstrap(
        &self,
        key: &ObjectKey,
        observed: &Observed,
        role: Role,
        pass: &mut Pass,
    ) -> Result<(), Problem> {
        let (context, mut progress) = (&self.context, Progress::default());
        for _ in 0..MAX_STEPS {
            match next_step(observed, role, &progress) {
                Step::LookAtLock => progress.lock = Some(lock::look(context, observed).await?),
                Step::TakeLock => progress.lock = Some(lock::take(context, observed).await?),
                Step::DeleteStaleLock => {
                    lock::delete(context, observed, lock::Which::Seen(progress.lock.take())).await?;
                }
                Step::Unlock => {
                    lock::delete(context, observed, lock::Which::Any).await?;
                    progress.is_unlocked = true;
                }
                Step::FindPairs { needed, generation } => {
                    progress.pairs = Some(pairs::find(&self.certificates, observed, &needed, generation).await?);
                }
                Step::ReadSources => progress.sources = Some(sources::read(context, observed).await?),
                Step::WriteBack(patch) => {
                    self.write(key, Some(Effect::Patch(*patch)), pass).await;
                    return Ok(());
                }
                Step::MakeToken(token) => progress.token = Some(token::make(context, observed, &token).await),
                Step::Store(data) => {
                    data_secret::create(context, observed, &data).await?;
                    let name = key.name.clone();
                    self.report(key, observed, &Outcome::Available { data_secret: name }, pass).await;
                    // Until the Machine has a Node.
                    pass.again((role != Role::Init).then_some(TOKEN_INTERVAL));
                    return Ok(());
                }
                Step::Stop(outcome) => {
                    self.report(key, observed, &outcome, pass).await;
                    return Ok(());
                }
                Step::StopAndUnlock(outcome) => {
                    lock::delete(context, observed, lock::Which::Own).await?;
                    self.report(key, observed, &outcome, pass).await;
                    return Ok(());
                }
            }
        }
        Err(Problem::TooManySteps)
    }

    async fn keep_token(&self, observed: &Observed, token: &Token) -> Result<(), Problem> {
        match token::make(&self.context, observed, token).await {
            refit_plan::kubeadm_config::TokenStep::Good => Ok(()),
            refit_plan::kubeadm_config::TokenStep::Failed(why) => Err(Problem::Token { why }),
        }
    }

    async fn report(&self, key: &ObjectKey, observed: &Observed, outcome: &Outcome, pass: &mut Pass) {
        if let Outcome::Waiting(what) | Outcome::NoCertificates(what) | Outcome::Failed(what) = outcome {
            tracing::info!(kubeadm_config = %key, what, "no bootstrap data yet");
        }
        self.write(key, report(observed, outcome), pass).await;
        pass.again(outcome.look_again_after());
    }

    async fn write(&self, key: &ObjectKey, effect: Option<Effect>, pass: &mut Pass) {
        pass.carried(key, carry_out(effect.iter(), &self.context.client, &self.events).await);
    }
}

impl Controller for KubeadmConfigs {
    const NAME: &'static str = components::KUBEADM_CONFIG;

    async fn pass(&self, key: &ObjectKey) -> Pass {
        let mut pass = Pass::default();
        let observed = match observe::observe(&self.context, key).await {
            Ok(Some(observed)) => observed,
            // It belongs to no Machine, or not yet: the Machine's next event comes here.
            Ok(None) => return pass,
            Err(problem) => {
                pass.problem(key, &problem);
                return pass;
            }
        };
        if let Err(problem) = self.act(key, &observed, &mut pass).await {
            pass.problem(key, &problem);
        }
        pass
    }
}
