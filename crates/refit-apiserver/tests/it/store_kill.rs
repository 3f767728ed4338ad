//! A process that writes is killed at random moments; what it said to be written must be there.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use refit_apiserver::store::{Key, Record, Revision, Scope, Store, Write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

const FOLDER: &str = "REFIT_TEST_STORE_FOLDER";
const ROUNDS: u64 = 20;
const WRITERS: usize = 8;
/// Each writer goes round its own objects, so that it knows what it said about each.
const OBJECTS: u64 = 5;

/// What the writer says: before a write, that it is on its way, and after it, that it is acknowledged.
#[derive(Clone, Copy, Debug)]
enum Said {
    Trying(Outcome),
    Done(Revision, Outcome),
}

/// What a write leaves behind.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Present,
    Gone,
}

/// What is known about one object: its version, if it is there, and what may have happened to it since.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    version: Option<Revision>,
    trying: Option<Outcome>,
}

impl Known {
    fn hear(&mut self, said: Said) {
        *self = match said {
            Said::Trying(outcome) => Self { trying: Some(outcome), ..*self },
            Said::Done(revision, Outcome::Present) => Self { version: Some(revision), trying: None },
            Said::Done(_, Outcome::Gone) => Self::default(),
        };
    }

    /// Either nothing happened since the last acknowledgement, or exactly what was on its way.
    fn allows(&self, found: Option<Revision>) -> bool {
        let happened = match self.trying {
            None => false,
            Some(Outcome::Gone) => found.is_none(),
            Some(Outcome::Present) => found.is_some() && found > self.version,
        };
        found == self.version || happened
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let folder = TempDir::new().unwrap();
    let (mut known, mut highest, mut acknowledged) = (BTreeMap::<String, Known>::new(), Revision::FIRST, 0);
    for round in 0..ROUNDS {
        let mut writer = start(&folder);
        // From "hardly begun" to "several hundred groups". Every other one gets to something, however slow the disk is.
        let (writes, delay) = (round % 2 * round, Duration::from_millis((round * 37) % 150));
        for (name, said) in listen(&mut writer, writes, delay) {
            known.entry(name).or_default().hear(said);
            if let Said::Done(revision, _) = said {
                highest = highest.max(revision);
                acknowledged += 1;
            }
        }
        highest = check(&folder, &mut known, highest);
    }
    assert!(acknowledged > ROUNDS, "only {acknowledged} writes were acknowledged in all");
}

fn start(folder: &TempDir) -> Child {
    let test = ["--exact", "store_kill::writes_until_it_is_killed", "--ignored", "--nocapture"];
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(test).env(FOLDER, folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for the first words and so many writes, lets it write on for a while, kills it, and returns all that it said.
fn listen(writer: &mut Child, writes: u64, delay: Duration) -> Vec<(String, Said)> {
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let (mut said, mut done) = (Vec::new(), 0);
    let mut next = || lines.next().map(|line| parse(&line.unwrap()));
    while said.is_empty() || done < writes {
        let heard = next().expect("the writer must get to write");
        done += u64::from(matches!(heard, Some((_, Said::Done(..)))));
        said.extend(heard);
    }
    let id = writer.id();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(delay);
        let process = Pid::from_raw(id.try_into().unwrap()).unwrap();
        kill_process(process, Signal::KILL).unwrap();
    });
    while let Some(line) = next() {
        said.extend(line);
    }
    killer.join().unwrap();
    assert!(!writer.wait().unwrap().success(), "the writer ended by itself");
    said
}

/// `None` for what the test harness says, and for a line that the kill cut off.
fn parse(line: &str) -> Option<(String, Said)> {
    let words: Vec<_> = line.split(' ').collect();
    let outcome = |word| if word == "gone" { Outcome::Gone } else { Outcome::Present };
    match words[..] {
        ["try", name, word, "."] => Some((name.to_owned(), Said::Trying(outcome(word)))),
        ["done", name, word, revision, "."] => {
            let revision = Revision(revision.parse().ok()?);
            Some((name.to_owned(), Said::Done(revision, outcome(word))))
        }
        _ => None,
    }
}

/// Compares what is there with what was said. What is there is known from here on.
fn check(folder: &TempDir, known: &mut BTreeMap<String, Known>, highest: Revision) -> Revision {
    let store = Store::open(folder.path()).unwrap();
    assert!(store.revision() >= highest, "version {} after {highest} was seen", store.revision());
    let records = store.list(&scope(), None, None).unwrap().records;
    records.iter().for_each(assert_whole);
    let mut found: BTreeMap<_, _> = records.iter().map(|it| (it.key().name().to_owned(), it.revision())).collect();
    for (name, known) in known {
        let version = found.remove(name);
        assert!(known.allows(version), "{name} is at {version:?}, but {known:?}");
        *known = Known { version, trying: None };
    }
    assert!(found.is_empty(), "{found:?} was never written");
    store.revision()
}

fn assert_whole(record: &Record) {
    let value = record.value();
    assert_eq!(value["metadata"]["resourceVersion"], record.revision().to_string());
    assert_eq!(value["metadata"]["name"], record.key().name());
    let text = value["text"].as_str().unwrap();
    assert_eq!(text, filling(value["number"].as_u64().unwrap()));
}

fn scope() -> Scope {
    Scope::resource("main", "example.io/widgets")
}

/// Long enough to span pages, and different for every write.
fn filling(number: u64) -> String {
    format!("{number} ").repeat(200 + (number as usize * 31) % 1500)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "this is the process that the other test kills"]
async fn writes_until_it_is_killed() {
    let folder = env::var_os(FOLDER).expect("the killing test must name a folder");
    let store = Store::open(folder.as_ref()).unwrap();
    let counter = Arc::new(AtomicU64::new(store.revision().0));
    // On one core, the harness has begun a line of its own.
    say("\n");
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write_forever(store.clone(), writer, counter.clone())));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

async fn write_forever(store: Store, writer: usize, counter: Arc<AtomicU64>) {
    loop {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        let name = format!("{writer}-{}", number % OBJECTS);
        let key = Key::new("main", "example.io/widgets", "default", name.as_str());
        let value = json!({"metadata": {"name": name}, "number": number, "text": filling(number)});
        let (write, outcome) = match store.get(&key).map(|record| record.revision()) {
            None => (Write::create(key, value), "present"),
            Some(at) if number.is_multiple_of(7) => (Write::delete(key, at), "gone"),
            Some(at) => (Write::replace(key, at, value), "present"),
        };
        say(&format!("try {name} {outcome} .\n"));
        let revision = store.commit(vec![write]).await.unwrap()[0].revision();
        say(&format!("done {name} {outcome} {revision} .\n"));
    }
}

/// In one call, so that the lines of several writers do not mix.
fn say(line: &str) {
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
