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

/// Works for `millis`, and fails the first `failures` times for each key.
async fn work(log: Log, tries: Arc<Mutex<BTreeMap<u8, u32>>>, key: u8, millis: u64, failures: u32) -> Verdict {
    log.lock().unwrap().push((Seen::Began(key), Instant::now()));
    tokio::time::sleep(Duration::from_millis(millis)).await;
    log.lock().unwrap().push((Seen::Ended(key), Instant::now()));
    let mut tries = tries.lock().unwrap();
    let tried = tries.entry(key).or_default();
    *tried += 1;
    if *tried <= failures { Verdict::Failed } else { Verdict::Done }
}

/// Plays the steps, lets everything settle and closes the queue. Gives what was seen and when each key was last added.
async fn play(
    steps: &[Step],
    concurrency: usize,
    millis: u64,
    failures: u32,
) -> (Vec<(Seen, Instant)>, BTreeMap<u8, Instant>) {
    let (queue, log, tries) = (queue(), Log::default(), Arc::<Mutex<BTreeMap<u8, u32>>>::default());
    let runner = {
        let (queue, log) = (queue.clone(), Arc::clone(&log));
        tokio::spawn(async move {
            let work = |key| work(Arc::clone(&log), Arc::clone(&tries), key, millis, failures);
            queue.run(width(concurrency), work).await;
        })
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
            Step::Wait { millis } => tokio::time::sleep(Duration::from_millis(*millis)).await,
        }
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(queue.state().schedule.len(), 0, "a settled queue must take no room");
    queue.close();
    runner.await.expect("the queue must end well");
    let log = log.lock().unwrap().clone();
    (log, wanted)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..KEYS).prop_map(|key| Step::Add { key }),
        1 => (0..KEYS, 0_u64..50).prop_map(|(key, millis)| Step::AddAfter { key, millis }),
        2 => (0_u64..20).prop_map(|millis| Step::Wait { millis }),
    ];
    proptest::collection::vec(step, 0..40)
}

/// Judges a log: never twice at once, never too many, and begun after it was last asked for.
fn judge(log: &[(Seen, Instant)], wanted: &BTreeMap<u8, Instant>, concurrency: usize) {
    let (mut running, mut last_begun) = (BTreeSet::new(), BTreeMap::new());
    for (seen, at) in log {
        match seen {
            Seen::Began(key) => {
                assert!(running.insert(*key), "key {key} must not be in two workers");
                assert!(running.len() <= concurrency, "no more than {concurrency} may run");
                last_begun.insert(*key, *at);
            }
            Seen::Ended(key) => assert!(running.remove(key), "key {key} must have begun"),
        }
    }
    assert!(running.is_empty(), "what was begun must be ended");
    for (key, at) in wanted {
        assert!(last_begun.get(key).is_some_and(|begun| begun >= at), "key {key} must not be lost");
    }
}

proptest! {
    #[test]
    fn no_key_is_lost_and_none_is_in_two_workers(
        steps in steps(), concurrency in 1_usize..4, millis in 0_u64..15, failures in 0_u32..3,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (log, wanted) = runtime.block_on(play(&steps, concurrency, millis, failures));
        judge(&log, &wanted, concurrency);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_have_their_turn_in_the_order_in_which_they_came() {
    let add = |key| Step::Add { key };
    let steps = [add(3), add(1), add(3), Step::AddAfter { key: 0, millis: 5 }, add(2)];
    let (log, _) = play(&steps, 1, 10, 0).await;
    let begun: Vec<u8> =
        log.iter().filter_map(|(seen, _)| if let Seen::Began(key) = seen { Some(*key) } else { None }).collect();
    assert_eq!(begun, [3, 1, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_earliest_request_wins() {
    let start = Instant::now();
    let after = |millis| Step::AddAfter { key: 1, millis };
    let (log, _) = play(&[after(50), after(20), after(90)], 1, 0, 0).await;
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
    let (queue, log) = (queue(), Log::default());
    queue.add(1);
    queue.add(2);
    let closing = queue.clone();
    let (seen, tries) = (Arc::clone(&log), Arc::<Mutex<BTreeMap<u8, u32>>>::default());
    let run = queue.run(width(1), |key| work(Arc::clone(&seen), Arc::clone(&tries), key, 10, 0));
    let close = async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        closing.close();
    };
    tokio::join!(run, close);
    let log: Vec<Seen> = log.lock().unwrap().iter().map(|(seen, _)| *seen).collect();
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
    tokio::time::sleep(Duration::from_secs(3600)).await;
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
