//! What this process has used, as Linux tells it. Elsewhere it is not known.

/// How the kernel counts processor time for programs, on every architecture that Linux runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processor time of all threads so far.
pub(super) fn cpu_seconds() -> Option<f64> {
    cpu_of(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// The most memory that was resident at a time.
pub(super) fn peak_memory_bytes() -> Option<u64> {
    peak_of(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The name of the program is in parentheses and may hold anything; `utime` and `stime` are the 12th and 13th after it.
fn cpu_of(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) / TICKS_PER_SECOND)
}

fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_kernel_are_read() {
        let stat = "1 (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_of(stat), Some(3.0));
        assert_eq!(peak_of("VmPeak:\t 9 kB\nVmHWM:\t    2 kB\n"), Some(2048));
        assert_eq!((cpu_of(""), peak_of("")), (None, None));
    }
}
