//! Durations as Go writes them: `10s`, `1m30s`, `500ms`.

use std::time::Duration;

/// Longer ones are not read: a query has no business to be long.
const MAX_LENGTH: usize = 32;

/// The duration that a text says. None for what Go would not read, and for what is negative or above a day.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0_f64;
    if rest.is_empty() || rest.len() > MAX_LENGTH {
        return None;
    }
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(unit_at);
        let (seconds, after) = unit(after)?;
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    (0.0..=24.0 * 3600.0).contains(&total).then(|| Duration::from_secs_f64(total))
}

/// The length of the unit that the text begins with, and what follows it.
fn unit(text: &str) -> Option<(f64, &str)> {
    const UNITS: [(&str, f64); 7] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    UNITS.iter().find_map(|(name, seconds)| text.strip_prefix(name).map(|rest| (*seconds, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        let check =
            |text, expected: Option<u64>| assert_eq!(parse(text), expected.map(Duration::from_millis), "{text}");
        check("10s", Some(10_000));
        check("1m30s", Some(90_000));
        check("1.5s", Some(1_500));
        check("500ms", Some(500));
        check("0s", Some(0));
        for wrong in ["", "10", "s", "-1s", "1x", "1s ", "..s", "999999h", &"1s".repeat(20)] {
            check(wrong, None);
        }
    }
}
