//! What is asked of every informer, whatever its kind.

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use kube::Resource;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::Instant;

use super::Informer;

/// An informer of any kind.
trait AnyInformer: Send + Sync {
    fn undecodable(&self) -> usize;
    fn is_ready(&self) -> bool;
    fn stuck_for(&self) -> Option<Duration>;
    fn wait_as_new_as(&self, time: Instant, limit: Duration) -> BoxFuture<'_, bool>;
}

impl<K: Resource + Clone + Debug + Send + Sync + 'static> AnyInformer for Informer<K> {
    fn undecodable(&self) -> usize {
        self.undecodable()
    }

    fn is_ready(&self) -> bool {
        self.is_ready()
    }

    fn stuck_for(&self) -> Option<Duration> {
        self.stuck_for()
    }

    fn wait_as_new_as(&self, time: Instant, limit: Duration) -> BoxFuture<'_, bool> {
        self.wait_as_new_as(time, limit).boxed()
    }
}

/// The informers of a process, by the plural of their kind. Clones are the same.
#[derive(Clone, Default)]
pub struct Watched(Arc<Mutex<Vec<Named>>>);

/// An informer, and the plural of its kind.
type Named = (String, Arc<dyn AnyInformer>);

impl Watched {
    pub(super) fn add<K: Resource + Clone + Debug + Send + Sync + 'static>(&self, plural: &str, one: &Informer<K>) {
        self.all().push((plural.to_owned(), Arc::new(one.clone())));
    }

    /// Why what is known does not go on, if the loop of a watch is stuck.
    pub fn check(&self) -> Result<(), String> {
        let stuck = |(plural, one): &Named| Some((plural.clone(), one.stuck_for()?));
        match self.all().iter().find_map(stuck) {
            Some((plural, time)) => Err(format!("the watch of {plural} has not moved for {}s", time.as_secs())),
            None => Ok(()),
        }
    }

    /// Waits until everything that was listed before has been listed by a request that was made after this time. Whether it
    /// has. A kind that the server does not have is not waited for.
    pub(super) async fn wait_as_new_as(&self, time: Instant, limit: Duration) -> bool {
        let mut all = self.all().clone();
        all.retain(|(_, one)| one.is_ready());
        join_all(all.iter().map(|(_, one)| one.wait_as_new_as(time, limit))).await.into_iter().all(|is_new| is_new)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Named>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().iter().map(|(plural, _)| plural)).finish()
    }
}

/// Counted when somebody looks.
impl Collector for Watched {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Objects that cannot be decoded, and about which nothing is decided";
        let gauge = ConstGauge::new(0_i64);
        let mut family = encoder.encode_descriptor("refit_undecodable_objects", help, None, gauge.metric_type())?;
        for (plural, one) in self.all().iter() {
            let count = ConstGauge::new(i64::try_from(one.undecodable()).unwrap_or(i64::MAX));
            count.encode(family.encode_family(&[("resource", plural.as_str())])?)?;
        }
        Ok(())
    }
}
