//! Durations in the words of upstream's messages.

/// A number of seconds as Go writes a duration: `45s`, `5m0s`, `1h0m0s`.
pub(crate) fn go_duration(seconds: i32) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_does() {
        let cases = [
            (0, "0s"),
            (45, "45s"),
            (300, "5m0s"),
            (600, "10m0s"),
            (3600, "1h0m0s"),
            (3725, "1h2m5s"),
            (5025, "1h23m45s"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(go_duration(seconds), expected);
        }
    }
}
