//! Two candidates on the embedded server, under a paused clock, with a network that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use refit_apiserver::access;
use refit_apiserver::host::Host;
use refit_apiserver::store::Store;
use tower::{BoxError, ServiceExt};

use super::*;

/// A way to the server that can be cut.
#[derive(Clone, Default)]
struct Cable(Arc<AtomicBool>);

impl Cable {
    fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn mend(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    fn client(&self, host: &Host) -> Client {
        let (cable, service) = (self.clone(), host.service(access::admin()));
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (cable, service) = (cable.clone(), service.clone());
            async move {
                if cable.0.load(Ordering::SeqCst) {
                    return Err(BoxError::from("the cable is cut"));
                }
                service.oneshot(request).await.map_err(BoxError::from)
            }
        });
        Client::new(service, "default")
    }
}

async fn host() -> Host {
    Host::start_on_system(Store::in_memory()).await.expect("the API must start")
}

fn candidate(host: &Host, cable: &Cable, identity: &str) -> Candidate {
    let clock = Clock::beginning(Timestamp::UNIX_EPOCH);
    Candidate::new(cable.client(host), "default", "leader", identity.to_owned(), Timing::default(), clock)
}

#[tokio::test(start_paused = true)]
async fn a_second_candidate_leads_only_after_the_first_stopped() {
    let (host, cable) = (host().await, Cable::default());
    let (mut first, mut second) = (candidate(&host, &cable, "first"), candidate(&host, &cable, "second"));
    first.acquire().await;
    let waits = async {
        second.acquire().await;
        Instant::now()
    };
    let leads = async {
        let _ = timeout(Duration::from_secs(100), first.keep()).await;
        Instant::now()
    };
    let (stopped, led) = tokio::join!(leads, waits);
    let wait = led.duration_since(stopped);
    assert!(wait >= Duration::from_secs(13) && wait <= Duration::from_secs(17), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_begins() {
    let (host, cable) = (host().await, Cable::default());
    let (mut first, mut second) = (candidate(&host, &cable, "first"), candidate(&host, &Cable::default(), "second"));
    first.acquire().await;
    let cutting = async {
        sleep(Duration::from_secs(33)).await;
        cable.cut();
    };
    let leads = async {
        first.keep().await;
        Instant::now()
    };
    let waits = async {
        second.acquire().await;
        Instant::now()
    };
    let ((), stopped, led) = tokio::join!(cutting, leads, waits);
    assert!(stopped < led, "the first must stop before the second begins");
    cable.mend();
    assert!(!first.attempt(Duration::from_secs(1)).await, "the first must see that another leads");
}

#[tokio::test(start_paused = true)]
async fn an_interruption_that_is_short_costs_nothing() {
    let (host, cable) = (host().await, Cable::default());
    let mut first = candidate(&host, &cable, "first");
    first.acquire().await;
    let interrupting = async {
        for _ in 0..5 {
            cable.cut();
            sleep(Duration::from_secs(6)).await;
            cable.mend();
            sleep(Duration::from_secs(4)).await;
        }
    };
    tokio::select! {
        () = first.keep() => panic!("it must go on leading"),
        () = interrupting => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_free_at_once() {
    let (host, cable) = (host().await, Cable::default());
    let (mut first, mut second) = (candidate(&host, &cable, "first"), candidate(&host, &cable, "second"));
    first.acquire().await;
    assert!(!second.attempt(Duration::from_secs(1)).await);
    first.release().await;
    assert!(second.attempt(Duration::from_secs(1)).await);
    let spec = second.seen.expect("it must have seen its lease").lease.spec.expect("it must have a spec");
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("second"), Some(1)));
}
