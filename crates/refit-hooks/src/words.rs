//! Errors as people read them: with their causes, and never longer than what they are put into.

use std::error::Error;

/// The error and its causes in one line, as upstream writes them.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The first `max` bytes or less, and `...` where something was left out.
pub fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(max)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let check = |text: &str, max: usize, expected: &str| assert_eq!(shortened(text, max), expected);
        check("abc", 3, "abc");
        check("abcd", 3, "abc...");
        check("aé", 2, "a...");
        check("", 0, "");
    }

    #[test]
    fn causes_follow_their_error() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::fmt::Error);
        let expected = format!("outer: {}", std::fmt::Error);
        assert_eq!(chain(&Outer(std::fmt::Error)), expected);
    }
}
