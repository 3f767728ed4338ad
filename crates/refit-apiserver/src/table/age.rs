//! Ages for people: two or three digits of how long ago something was.

use jiff::Timestamp;
use serde_json::Value;

/// Shown where there is no time.
const UNKNOWN: &str = "<unknown>";

/// How long before `now` the time in an object was.
pub fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str().unwrap_or_default() {
        "" => UNKNOWN.to_owned(),
        text => since_text(text, now),
    }
}

/// The same for a text, which may be no time at all.
pub fn since_text(text: &str, now: Timestamp) -> String {
    match (text, text.parse::<Timestamp>()) {
        ("" | "null", _) => UNKNOWN.to_owned(),
        (_, Ok(time)) => human(now.as_millisecond().saturating_sub(time.as_millisecond())),
        _ => "<invalid>".to_owned(),
    }
}

/// A duration in words as short as its length allows. Clocks may differ by a second.
fn human(milliseconds: i64) -> String {
    let seconds = milliseconds / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two((minutes, "m"), (seconds % 60, "s")),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two((hours, "h"), (minutes % 60, "m")),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => two((days, "d"), (hours % 24, "h")),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2_920 => two((days / 365, "y"), (days % 365, "d")),
        _ => format!("{}y", days / 365),
    }
}

fn two((large, large_unit): (i64, &str), (small, small_unit): (i64, &str)) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit}{small}{small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_get_coarser_with_time() {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (5 * MINUTE + 3, "5m3s"),
            (10 * MINUTE + 3, "10m"),
            (179 * MINUTE, "179m"),
            (3 * HOUR, "3h"),
            (7 * HOUR + 30 * MINUTE, "7h30m"),
            (8 * HOUR + 30 * MINUTE, "8h"),
            (47 * HOUR, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY + HOUR, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (731 * DAY, "2y1d"),
            (8 * 365 * DAY + DAY, "8y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds * 1_000), expected, "{seconds}");
        }
    }

    #[test]
    fn what_is_no_time_is_said_to_be_none() {
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        for (text, expected) in [("2026-01-01T00:05:00Z", "5m"), ("soon", "<invalid>"), ("", "<unknown>")] {
            assert_eq!(since_text(text, now), expected);
        }
        assert_eq!(since(&Value::Null, now), "<unknown>");
    }
}
