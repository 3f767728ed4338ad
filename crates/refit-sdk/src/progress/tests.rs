use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;

const PATIENCE: Duration = Duration::from_secs(1);

/// A ledger, and an update that counts its runs and ends when it is told to.
struct World {
    ledger: Ledger,
    runs: Arc<AtomicUsize>,
    go: Arc<Notify>,
}

impl World {
    fn new(limits: Limits) -> Self {
        Self { ledger: Ledger::new(limits), runs: Arc::default(), go: Arc::default() }
    }

    async fn call(&self, machine: &str, state: u8) -> Result<Progress, UpdateFailure> {
        self.call_with(machine, state, || Ok(Progress::Done)).await
    }

    /// A call whose update waits for a sign and then ends like this.
    async fn call_with(
        &self,
        machine: &str,
        state: u8,
        end: fn() -> Result<Progress, UpdateFailure>,
    ) -> Result<Progress, UpdateFailure> {
        let (runs, go) = (self.runs.clone(), self.go.clone());
        let update = |words: watch::Sender<String>| async move {
            runs.fetch_add(1, Ordering::SeqCst);
            words.send_replace("at work".to_owned());
            go.notified().await;
            end()
        };
        let name = MachineName { namespace: "ns".to_owned(), name: machine.to_owned() };
        self.ledger.advance(&name, [state; 32], PATIENCE, update).await
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn in_progress(&self, message: &str) -> Result<Progress, UpdateFailure> {
        Ok(Progress::InProgress { message: message.to_owned(), retry_after: self.ledger.limits.poll })
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_runs_once_however_often_it_is_asked_for() {
    let world = World::new(Limits::default());
    assert_eq!(world.call("m", 1).await, world.in_progress("at work"));
    assert_eq!(world.call("m", 1).await, world.in_progress("at work"));
    world.go.notify_one();
    assert_eq!(world.call("m", 1).await, Ok(Progress::Done));
    assert_eq!(world.call("m", 1).await, Ok(Progress::Done));
    assert_eq!(world.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_share_one_run() {
    let world = World::new(Limits::default());
    world.go.notify_one();
    let results = tokio::join!(world.call("m", 1), world.call("m", 1), world.call("m", 1));
    assert_eq!(results, (Ok(Progress::Done), Ok(Progress::Done), Ok(Progress::Done)));
    assert_eq!(world.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_target_waits_for_the_run_before_it() {
    let world = World::new(Limits::default());
    assert_eq!(world.call("m", 1).await, world.in_progress("at work"));
    assert_eq!(world.call("m", 2).await, world.in_progress("an earlier update of this machine is still running"));
    world.go.notify_one();
    tokio::time::sleep(PATIENCE).await;
    assert_eq!(world.call("m", 2).await, world.in_progress("at work"));
    assert_eq!(world.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_once_and_then_tried_again() {
    let world = World::new(Limits::default());
    let fail = || Err(UpdateFailure::new("no power"));
    assert_eq!(world.call_with("m", 1, fail).await, world.in_progress("at work"));
    world.go.notify_one();
    tokio::time::sleep(PATIENCE).await;
    assert_eq!(world.call_with("m", 1, fail).await, Err(UpdateFailure::new("no power")), "nobody had heard it");
    world.go.notify_one();
    assert_eq!(world.call("m", 1).await, Ok(Progress::Done));
    assert_eq!(world.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_and_nothing_more() {
    let world = World::new(Limits::default());
    world.go.notify_one();
    let failure = world.call_with("m", 1, || panic!("secret")).await.expect_err("it must fail");
    assert_eq!(failure.to_string(), "the extension panicked; its log says where");
    world.go.notify_one();
    assert_eq!(world.call("m", 1).await, Ok(Progress::Done));
}

#[tokio::test(start_paused = true)]
async fn an_extension_can_ask_to_be_called_again() {
    let world = World::new(Limits::default());
    let waiting = || {
        let retry_after = RetryAfterSeconds::new(30).expect("it is a time to wait");
        Ok(Progress::InProgress { message: "rebooting".to_owned(), retry_after })
    };
    for run in 1..=2 {
        world.go.notify_one();
        assert_eq!(world.call_with("m", 1, waiting).await, waiting());
        assert_eq!(world.runs(), run);
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_that_never_ends_fails_at_its_limit() {
    let world = World::new(Limits { update: Duration::from_secs(60), ..Limits::default() });
    assert_eq!(world.call("m", 1).await, world.in_progress("at work"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let failure = world.call("m", 1).await.expect_err("it must fail");
    assert_eq!(failure.to_string(), "the update has not ended within 60 seconds");
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_forgotten_after_a_while() {
    let world = World::new(Limits { memory: Duration::from_secs(60), ..Limits::default() });
    for run in 1..=2 {
        world.go.notify_one();
        assert_eq!(world.call("m", 1).await, Ok(Progress::Done));
        assert_eq!(world.runs(), run);
        tokio::time::sleep(Duration::from_secs(61)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn updates_and_memory_are_bounded() {
    let world = World::new(Limits { running: 1, machines: 2, ..Limits::default() });
    assert_eq!(world.call("a", 1).await, world.in_progress("at work"));
    assert_eq!(world.call("b", 1).await, world.in_progress("waiting for the updates of other machines"));
    for machine in ["a", "b", "c"] {
        world.go.notify_one();
        assert_eq!(world.call(machine, 1).await, Ok(Progress::Done));
    }
    let remembered = world.ledger.lock().len();
    assert_eq!((remembered, world.ledger.running_updates()), (2, 0));
    world.go.notify_one();
    assert_eq!(world.call("a", 1).await, Ok(Progress::Done));
    assert_eq!(world.runs(), 4, "the oldest was forgotten, so that it ran again");
}
