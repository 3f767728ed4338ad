//! Leader election on a Lease: of several processes, one acts.
//!
//! A Lease is taken by compare-and-swap of its version. Whether another's has run out is judged by how long *this*
//! process has seen it unchanged, on its own clock: clocks of different machines are never compared. A leader that cannot
//! renew stops believing in itself before anybody else may take over: [`Timing::renew_within`] is below
//! [`Timing::duration`], and both are counted from before the request.

#[cfg(test)]
mod tests;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use tokio::time::{Instant, sleep, timeout};

use crate::clock::Clock;

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For how long others leave a Lease alone that is not renewed.
    pub duration: Duration,
    /// For how long a leader goes on without having renewed. Below `duration`.
    pub renew_within: Duration,
    /// How often to try.
    pub retry_every: Duration,
}

impl Default for Timing {
    /// As upstream: two tries may fail before a leader gives up, and it does so five seconds before others may lead.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { duration: seconds(15), renew_within: seconds(10), retry_every: seconds(2) }
    }
}

/// One process that would lead.
pub struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    timing: Timing,
    clock: Clock,
    seen: Option<Seen>,
    /// When the last request began by which this process leads.
    renewed: Instant,
}

/// The Lease as it was seen last, and since when it has been like that.
struct Seen {
    lease: Lease,
    since: Instant,
}

impl Candidate {
    /// A candidate for the Lease `namespace/name`. No other process has the same `identity`.
    pub fn new(client: Client, namespace: &str, name: &str, identity: String, timing: Timing, clock: Clock) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity,
            timing,
            clock,
            seen: None,
            renewed: Instant::now(),
        }
    }

    /// Leads, if nobody else does. Whether that is so.
    pub async fn try_acquire(&mut self) -> bool {
        let leads = self.attempt(self.timing.retry_every).await;
        if leads {
            tracing::info!(lease = self.name, identity = self.identity, "leading");
        }
        leads
    }

    /// Waits until this process leads.
    pub async fn acquire(&mut self) {
        while !self.attempt(self.timing.renew_within).await {
            sleep(self.timing.retry_every).await;
        }
        tracing::info!(lease = self.name, identity = self.identity, "leading");
    }

    /// Renews the Lease for as long as that works. When it returns, this process must not act any more.
    pub async fn keep(&mut self) {
        loop {
            sleep(self.timing.retry_every).await;
            let left = self.timing.renew_within.saturating_sub(self.renewed.elapsed());
            if left.is_zero() || (!self.attempt(left).await && self.is_led_by_another()) {
                break;
            }
        }
        tracing::warn!(lease = self.name, identity = self.identity, "not leading any more");
    }

    /// Gives the Lease back, so that others need not wait for its end. To be called when this process has stopped acting.
    pub async fn release(mut self) {
        let Some(seen) = self.seen.take().filter(|seen| holder(&seen.lease) == self.identity) else { return };
        let mut lease = seen.lease;
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = None;
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(self.clock.now()));
        let params = PostParams::default();
        let replace = self.api.replace(&self.name, &params, &lease);
        if let Ok(Err(error)) = timeout(self.timing.renew_within, replace).await {
            tracing::warn!(%error, lease = self.name, "lease not given back");
        }
    }

    /// Takes or renews the Lease. Whether this process leads now.
    async fn attempt(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        match timeout(limit, self.try_lead()).await {
            Ok(Ok(leads)) => {
                self.renewed = if leads { began } else { self.renewed };
                leads
            }
            Ok(Err(error)) => {
                // What was seen may be outdated: to be read anew.
                if matches!(&error, kube::Error::Api(status) if status.code == 409) {
                    self.forget_own();
                }
                tracing::debug!(%error, lease = self.name, "lease not written");
                false
            }
            Err(_) => false,
        }
    }

    async fn try_lead(&mut self) -> kube::Result<bool> {
        let is_own = self.seen.as_ref().is_some_and(|seen| holder(&seen.lease) == self.identity);
        if !is_own {
            let Some(lease) = self.api.get_opt(&self.name).await? else {
                let created = self.api.create(&PostParams::default(), &self.first()).await?;
                self.see(created);
                return Ok(true);
            };
            self.see(lease);
        }
        let Some(seen) = self.seen.as_ref().filter(|seen| self.may_take(seen)) else { return Ok(false) };
        let renewed = self.renewed(&seen.lease);
        let lease = self.api.replace(&self.name, &PostParams::default(), &renewed).await?;
        self.see(lease);
        Ok(true)
    }

    fn see(&mut self, lease: Lease) {
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        let is_known = self.seen.as_ref().is_some_and(|seen| version(&seen.lease) == version(&lease));
        if !is_known {
            self.seen = Some(Seen { lease, since: Instant::now() });
        }
    }

    fn forget_own(&mut self) {
        self.seen = self.seen.take().filter(|seen| holder(&seen.lease) != self.identity);
    }

    fn is_led_by_another(&self) -> bool {
        let other = self.seen.as_ref().map(|seen| holder(&seen.lease)).unwrap_or_default();
        !other.is_empty() && other != self.identity
    }

    /// Whether the Lease is ours, nobody's, or has been seen unchanged for as long as its holder promised to renew it.
    fn may_take(&self, seen: &Seen) -> bool {
        let holder = holder(&seen.lease);
        let seconds = seen.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let promised = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        holder.is_empty() || holder == self.identity || seen.since.elapsed() >= promised
    }

    fn first(&self) -> Lease {
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let lease = Lease { metadata, spec: Some(LeaseSpec { lease_transitions: Some(-1), ..LeaseSpec::default() }) };
        self.renewed(&lease)
    }

    /// The Lease, held by this process from now on. It carries the version that it was read with.
    fn renewed(&self, lease: &Lease) -> Lease {
        let now = MicroTime(self.clock.now());
        let mut renewed = lease.clone();
        let spec = renewed.spec.get_or_insert_default();
        if holder(lease) != self.identity {
            spec.holder_identity = Some(self.identity.clone());
            spec.acquire_time = Some(now.clone());
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        spec.lease_duration_seconds = Some(i32::try_from(self.timing.duration.as_secs()).unwrap_or(i32::MAX));
        spec.renew_time = Some(now);
        renewed
    }
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}
