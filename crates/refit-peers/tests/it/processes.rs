//! Who runs. Reads `/proc`, so that it shares nothing with the code that starts and ends processes.

use std::time::{Duration, Instant};

/// The names of the processes in a group that have not ended.
pub fn running_in_group(group: i32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc must be there");
    let stats = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| name_of_member(&stat, group)).collect()
}

/// How long another process may take, on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(180);

/// Waits for something that another process is about to do.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {} seconds: {what}", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A line of `/proc/<pid>/stat` is `pid (name) state parent group …`. A zombie (`Z`) has ended; only its parent has not asked yet.
fn name_of_member(stat: &str, group: i32) -> Option<String> {
    let (head, tail) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let is_member = fields.get(2)?.parse() == Ok(group) && !matches!(fields[0], "Z" | "X");
    is_member.then(|| head.rsplit_once('(').map_or("", |(_, name)| name).to_owned())
}
