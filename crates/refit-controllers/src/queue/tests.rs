use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;

/// How many keys the worlds of these tests know.
const KEYS: u8 = 5;

/// Something that happens to a queue, some milliseconds after what happened before.
#[derive(Debug, Clone)]
enum Step {
    Add { key: u8 },
    AddAfter { key: u8, millis: u64 },
    Wait { millis: u64 },
}

/// What was seen of the work, in the order in which it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Began(u8),
    Ended(u8),
}

type Log = Arc<Mutex<Vec<(Seen, Instant)>>>;

fn queue() -> Queue<u8> {
    Queue::new("test", Backoff::default(), Chance::from_seed(1), &QueueMetrics::default())
}

fn width(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("it must be above zero")
}

/// How keys are worked on.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// How long it takes.
    millis: u64,
    /// How often it fails for each key before it succeeds.
    failures: u32,
    /// When a key that failed asks to come back, whatever its delay is.
    again: Option<u64>,
    /// How long the key rests after each turn.
    rest: u64,
}

/// Works on keys of a queue, as a controller does, and notes what it did.
#[derive(Clone)]
struct Worker {
    queue: Queue<u8>,
    work: Work,
    log: Log,
    tries: Arc<Mutex<BTreeMap<u8, u32>>>,
}

impl Worker {
    fn of(queue: &Queue<u8>, work: Work) -> Self {
        Self { queue: queue.clone(), work, log: Log::default(), tries: Arc::default() }
    }

    async fn work(self, key: u8) -> Verdict {
        self.see(Seen::Began(key));
        sleep(Duration::from_millis(self.work.millis)).await;
        let verdict = if self.tried(key) <= self.work.failures { Verdict::Failed } else { Verdict::Done };
        if let (Verdict::Failed, Some(again)) = (verdict, self.work.again) {
            self.queue.add_after(key, Duration::from_millis(again));
        }
        self.queue.rest(key, Duration::from_millis(self.work.rest));
        self.see(Seen::Ended(key));
        verdict
    }

    fn tried(&self, key: u8) -> u32 {
        let mut tries = self.tries.lock().unwrap();
        let tried = tries.entry(key).or_default();
        *tried += 1;
        *tried
    }

    fn see(&self, seen: Seen) {
        self.log.lock().unwrap().push((seen, Instant::now()));
    }

    fn seen(&self) -> Vec<(Seen, Instant)> {
        self.log.lock().unwrap().clone()
    }
}

/// Plays the steps, lets everything settle and closes the queue. Gives what was seen and when each key was last added.
async fn play(steps: &[Step], concurrency: usize, work: Work) -> (Vec<(Seen, Instant)>, BTreeMap<u8, Instant>) {
    let queue = queue();
    let worker = Worker::of(&queue, work);
    let runner = {
        let (queue, worker) = (queue.clone(), worker.clone());
        tokio::spawn(async move { queue.run(width(concurrency), |key| worker.clone().work(key)).await })
    };
    let mut wanted = BTreeMap::new();
    for step in steps {
        match step {
            Step::Add { key } => {
                queue.add(*key);
                wanted.insert(*key, Instant::now());
            }
            Step::AddAfter { key, millis } => {
                queue.add_after(*key, Duration::from_millis(*millis));
                wanted.insert(*key, Instant::now());
            }
            Step::Wait { millis } => sleep(Duration::from_millis(*millis)).await,
        }
    }
    sleep(Duration::from_secs(60)).await;
    assert_eq!(queue.state().schedule.len(), 0, "a settled queue must take no room");
    queue.close();
    runner.await.expect("the queue must end well");
    (worker.seen(), wanted)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..KEYS).prop_map(|key| Step::Add { key }),
        1 => (0..KEYS, 0_u64..50).prop_map(|(key, millis)| Step::AddAfter { key, millis }),
        2 => (0_u64..20).prop_map(|millis| Step::Wait { millis }),
    ];
    proptest::collection::vec(step, 0..40)
}

fn works() -> impl Strategy<Value = Work> {
    let again = proptest::option::of(0_u64..200);
    (0_u64..15, 0_u32..3, again, prop_oneof![Just(0), 1_u64..300]).prop_map(|(millis, failures, again, rest)| Work {
        millis,
        failures,
        again,
        rest,
    })
}

/// Judges a log: never twice at once, never too many, never while it rests, and begun after it was last asked for.
fn judge(log: &[(Seen, Instant)], wanted: &BTreeMap<u8, Instant>, concurrency: usize, rest: Duration) {
    let (mut running, mut last_begun, mut last_ended) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for (seen, at) in log {
        match seen {
            Seen::Began(key) => {
                assert!(running.insert(*key), "key {key} must not be in two workers");
                assert!(running.len() <= concurrency, "no more than {concurrency} may run");
                assert!(last_ended.get(key).is_none_or(|ended| *ended + rest <= *at), "key {key} must rest");
                last_begun.insert(*key, *at);
            }
            Seen::Ended(key) => {
                assert!(running.remove(key), "key {key} must have begun");
                last_ended.insert(*key, *at);
            }
        }
    }
    assert!(running.is_empty(), "what was begun must be ended");
    for (key, at) in wanted {
        assert!(last_begun.get(key).is_some_and(|begun| begun >= at), "key {key} must not be lost");
    }
}

proptest! {
    #[test]
    fn no_key_is_lost_and_none_is_in_two_workers(steps in steps(), concurrency in 1_usize..4, work in works()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (log, wanted) = runtime.block_on(play(&steps, concurrency, work));
        judge(&log, &wanted, concurrency, Duration::from_millis(work.rest));
    }
}

#[test]
fn a_key_that_failed_and_rests_beyond_its_time_has_its_turn_after_the_rest() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let work = Work { failures: 1, again: Some(100), rest: 1_000, ..Work::default() };
        let turns = runtime.block_on(async {
            let start = Instant::now();
            let (log, _) = play(&[Step::Add { key: 1 }], 1, work).await;
            log.into_iter().map(|(seen, at)| (seen, at.duration_since(start).as_millis())).collect::<Vec<_>>()
        });
        done.send(turns)
    });
    let turns = is_done.recv_timeout(Duration::from_secs(120)).expect("the queue must not loop for ever");
    assert_eq!(turns, [(Seen::Began(1), 0), (Seen::Ended(1), 0), (Seen::Began(1), 1_000), (Seen::Ended(1), 1_000)]);
}

#[tokio::test(start_paused = true)]
async fn keys_have_their_turn_in_the_order_in_which_they_came() {
    let add = |key| Step::Add { key };
    let steps = [add(3), add(1), add(3), Step::AddAfter { key: 0, millis: 5 }, add(2)];
    let (log, _) = play(&steps, 1, Work { millis: 10, ..Work::default() }).await;
    let begun: Vec<u8> =
        log.iter().filter_map(|(seen, _)| if let Seen::Began(key) = seen { Some(*key) } else { None }).collect();
    assert_eq!(begun, [3, 1, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_earliest_request_wins() {
    let start = Instant::now();
    let after = |millis| Step::AddAfter { key: 1, millis };
    let (log, _) = play(&[after(50), after(20), after(90)], 1, Work::default()).await;
    let begun: Vec<u128> = log
        .iter()
        .filter(|(seen, _)| matches!(seen, Seen::Began(_)))
        .map(|(_, at)| at.duration_since(start).as_millis())
        .collect();
    assert_eq!(begun, [20]);
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_is_tried_again() {
    let (queue, tries) = (queue(), Arc::new(Mutex::new(0)));
    queue.add(1);
    let counted = Arc::clone(&tries);
    let closing = queue.clone();
    let work = move |_| {
        let (tries, closing) = (Arc::clone(&counted), closing.clone());
        async move {
            let tried = {
                let mut tries = tries.lock().unwrap();
                *tries += 1;
                *tries
            };
            assert!(tried > 1, "the first try panics");
            closing.close();
            Verdict::Done
        }
    };
    queue.run(width(1), work).await;
    assert_eq!(*tries.lock().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_finishes_what_runs_and_begins_nothing() {
    let queue = queue();
    let worker = Worker::of(&queue, Work { millis: 10, ..Work::default() });
    queue.add(1);
    queue.add(2);
    let closing = queue.clone();
    let run = queue.run(width(1), |key| worker.clone().work(key));
    let close = async {
        sleep(Duration::from_millis(5)).await;
        closing.close();
    };
    tokio::join!(run, close);
    let log: Vec<Seen> = worker.seen().into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(log, [Seen::Began(1), Seen::Ended(1)]);
}

#[test]
fn metrics_have_controller_runtimes_names() {
    let metrics = QueueMetrics::default();
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let queue = Queue::new("machine", Backoff::default(), Chance::from_seed(1), &metrics);
    queue.add(1_u8);
    queue.add(1);
    let key = queue.take().expect("there must be a key");
    queue.finish(&key, Verdict::Failed, Instant::now());
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("metrics must encode");
    for line in [
        r#"workqueue_depth{name="machine",controller="machine"} 0"#,
        r#"workqueue_adds_total{name="machine",controller="machine"} 1"#,
        r#"workqueue_retries_total{name="machine",controller="machine"} 1"#,
        r#"workqueue_work_duration_seconds_count{name="machine",controller="machine"} 1"#,
        r#"controller_runtime_reconcile_total{controller="machine",result="error"} 1"#,
        r#"controller_runtime_active_workers{controller="machine"} 0"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Works on a key that rests for `rest` after each turn, and asks for it at these times. Gives when it had its turns.
async fn turns(asked: &[u64], rest: u64) -> Vec<u128> {
    let (queue, begun) = (queue(), Arc::<Mutex<Vec<u128>>>::default());
    let start = Instant::now();
    let runner = {
        let (queue, begun) = (queue.clone(), Arc::clone(&begun));
        tokio::spawn(async move {
            let resting = queue.clone();
            let work = move |key| {
                begun.lock().unwrap().push(start.elapsed().as_millis());
                resting.rest(key, Duration::from_millis(rest));
                async { Verdict::Done }
            };
            queue.run(width(1), work).await;
        })
    };
    for millis in asked {
        sleep_until(start + Duration::from_millis(*millis)).await;
        queue.add(1);
    }
    sleep(Duration::from_secs(3600)).await;
    queue.close();
    runner.await.expect("the queue must end well");
    begun.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_while_a_key_rests_becomes_one_turn() {
    for (asked, rest, expected) in [
        (vec![5, 10, 20, 30], 0, vec![5, 10, 20, 30]),
        (vec![5, 10, 20, 30], 100, vec![5, 105]),
        (vec![5, 150], 100, vec![5, 150]),
        (vec![5, 10, 150], 100, vec![5, 105, 205]),
    ] {
        assert_eq!(turns(&asked, rest).await, expected, "{asked:?} {rest}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::await_holding_lock, reason = "a lock that is never given back is what this is about")]
async fn a_queue_with_nothing_to_do_is_alive_and_one_whose_lock_is_never_given_back_is_not() {
    let queue = queue();
    let worker = Worker::of(&queue, Work::default());
    let mut run = Box::pin(queue.run(width(1), |key| worker.clone().work(key)));
    assert_eq!(queue.check(), Ok(()), "nobody runs it yet");
    let an_hour = sleep(Duration::from_secs(3600));
    tokio::select! {
        () = &mut run => panic!("nobody has closed it"),
        () = an_hour => {}
    }
    assert_eq!(queue.check(), Ok(()), "it goes round though there is nothing to do");
    let _held = queue.state();
    // The loop waits for the lock: it goes round no more.
    tokio::time::advance(Duration::from_secs(90)).await;
    let told = queue.check().expect_err("it must be stuck");
    assert!(told.starts_with("the queue test has not moved for 9"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn when_the_time_of_day_changes_what_waits_for_its_time_has_its_turn() {
    let queue = queue();
    let worker = Worker::of(&queue, Work::default());
    queue.add_after(1, Duration::from_secs(3600));
    let run = queue.run(width(1), |key| worker.clone().work(key));
    let set = async {
        sleep(Duration::from_secs(1)).await;
        queue.hurry();
        sleep(Duration::from_secs(1)).await;
        queue.close();
    };
    tokio::join!(run, set);
    assert_eq!(worker.seen().first().map(|(seen, _)| *seen), Some(Seen::Began(1)));
}
