//! What this process remembers of control planes. Whoever loses it looks again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use refit_api::conditions::NewCondition;
use refit_plan::coverage::ContentHash;
use refit_plan::waiting::WaitingOn;
use refit_workload::etcd::EtcdAuthority;
use tokio::time::Instant;

use crate::cache::ObjectKey;

/// How long kube-proxy and CoreDNS that were brought to what is wanted are taken to be so.
const ADDONS_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// What is remembered of each control plane.
#[derive(Default)]
pub(super) struct Memories(Mutex<BTreeMap<ObjectKey, Memory>>);

#[derive(Default)]
struct Memory {
    certificates: Option<Certificates>,
    /// What kube-proxy and CoreDNS were brought to, and until when nobody looks again.
    addons: Option<(ContentHash, Instant)>,
    /// What went wrong in the last pass.
    problems: Vec<WaitingOn>,
}

/// What came of a look at the certificates of a cluster.
#[derive(Clone)]
pub(super) struct Certificates {
    /// What was looked at: the versions of the Secrets, and what else it depends on.
    pub of: ContentHash,
    pub until: Instant,
    pub condition: NewCondition,
    pub etcd: Option<EtcdAuthority>,
}

impl Memories {
    pub fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    /// What went wrong in the last pass.
    pub fn problems(&self, key: &ObjectKey) -> Vec<WaitingOn> {
        self.all().get(key).map(|memory| memory.problems.clone()).unwrap_or_default()
    }

    /// Whether that is something else than before.
    pub fn note_problems(&self, key: &ObjectKey, problems: &[WaitingOn]) -> bool {
        let mut all = self.all();
        let memory = all.entry(key.clone()).or_default();
        let is_other = memory.problems != problems;
        memory.problems = problems.to_vec();
        is_other
    }

    /// What came of the last look at the same certificates, if that was not long ago.
    pub fn certificates(&self, key: &ObjectKey, of: &ContentHash) -> Option<Certificates> {
        let known = self.all().get(key)?.certificates.clone()?;
        (known.of == *of && Instant::now() < known.until).then_some(known)
    }

    pub fn note_certificates(&self, key: &ObjectKey, certificates: Certificates) {
        self.all().entry(key.clone()).or_default().certificates = Some(certificates);
    }

    /// Whether kube-proxy and CoreDNS have just been brought to this.
    pub fn has_addons(&self, key: &ObjectKey, wanted: &ContentHash) -> bool {
        let all = self.all();
        let addons = all.get(key).and_then(|memory| memory.addons.as_ref());
        addons.is_some_and(|(known, until)| known == wanted && Instant::now() < *until)
    }

    pub fn note_addons(&self, key: &ObjectKey, wanted: ContentHash) {
        self.all().entry(key.clone()).or_default().addons = Some((wanted, Instant::now() + ADDONS_LIFETIME));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
