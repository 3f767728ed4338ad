//! Durations as Go writes them.

/// As in `1h0m0s`, `4m0s` and `30s`.
pub fn go(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::go;

    #[test]
    fn durations_read_as_gos() {
        let cases =
            [(0, "0s"), (30, "30s"), (60, "1m0s"), (3600, "1h0m0s"), (86_399, "23h59m59s"), (31_536_000, "8760h0m0s")];
        for (seconds, expected) in cases {
            assert_eq!(go(seconds), expected);
        }
    }
}
