//! Regular expressions as Go reads them, for an engine that reads some signs otherwise.
//!
//! In Go `\d`, `\w`, `\s` and `\b` are about ASCII, a `[` inside a class is a character, and there are no operations on
//! classes. Everything else is passed on as it is, mistakes included.

/// The expression for the engine, with Go's meaning.
pub(crate) fn translate(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len() + 16);
    let mut rest = expression.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('Q') => quote(&mut rest, &mut out),
                escaped => out.push_str(&escape(escaped, Outside)),
            },
            '[' => class(&mut rest, &mut out),
            other => out.push(other),
        }
    }
    out
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Outside,
    InClass,
}
use Position::{InClass, Outside};

/// What stands for `\` and a character. Inside a class the brackets make a class in a class, which is joined to it.
fn escape(escaped: Option<char>, position: Position) -> String {
    match (escaped, position) {
        (Some('d'), _) => "[0-9]".to_owned(),
        (Some('D'), _) => "[^0-9]".to_owned(),
        (Some('w'), _) => "[0-9A-Za-z_]".to_owned(),
        (Some('W'), _) => "[^0-9A-Za-z_]".to_owned(),
        (Some('s'), _) => r"[\t\n\f\r ]".to_owned(),
        (Some('S'), _) => r"[^\t\n\f\r ]".to_owned(),
        (Some('b'), Outside) => r"(?-u:\b)".to_owned(),
        (Some('B'), Outside) => r"(?-u:\B)".to_owned(),
        // Go takes these for themselves; the engine takes them for the bounds of words.
        (Some(character @ ('<' | '>')), _) => character.to_string(),
        (Some(character), _) => format!("\\{character}"),
        (None, _) => "\\".to_owned(),
    }
}

/// `\Q…\E`: every character for itself.
fn quote(rest: &mut Rest<'_>, out: &mut String) {
    while let Some(character) = rest.next() {
        if character == '\\' && rest.peek() == Some(&'E') {
            rest.next();
            return;
        }
        out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }
}

/// A class, from behind its `[` to its `]`.
fn class(rest: &mut Rest<'_>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut is_first = true;
    while let Some(character) = rest.next() {
        if character == ']' && !is_first {
            out.push(']');
            return;
        }
        is_first = false;
        atom(character, rest, out);
        // A range, unless the dash is the last before the end.
        let mut ahead = rest.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
            rest.next();
            out.push('-');
            if let Some(character) = rest.next() {
                atom(character, rest, out);
            }
        }
    }
}

/// One character of a class, or what stands for several.
fn atom(character: char, rest: &mut Rest<'_>, out: &mut String) {
    match character {
        '\\' => out.push_str(&escape(rest.next(), InClass)),
        '[' if rest.peek() == Some(&':') => named(rest, out),
        '[' | ']' | '&' | '~' | '-' | '^' => {
            out.push('\\');
            out.push(character);
        }
        other => out.push(other),
    }
}

/// `[:alpha:]`, or a bracket that only looks like it.
fn named(rest: &mut Rest<'_>, out: &mut String) {
    let name: String = rest.clone().skip(1).take_while(|next| next.is_ascii_alphabetic() || *next == '^').collect();
    let mut behind = rest.clone().skip(1 + name.chars().count());
    if behind.next() == Some(':') && behind.next() == Some(']') {
        out.push_str(&format!("[:{name}:]"));
        rest.nth(name.chars().count() + 2);
    } else {
        out.push_str(r"\[");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(expression: &str) -> Result<regex::Regex, regex::Error> {
        regex::Regex::new(&translate(expression))
    }

    fn check(expression: &str, text: &str, expected: bool) {
        let regex = compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(regex.is_match(text), expected, "{expression} as {} on {text}", translate(expression));
    }

    #[test]
    fn digits_words_and_spaces_are_ascii() {
        check(r"^\d+$", "123", true);
        check(r"^\d+$", "١٢٣", false);
        check(r"^\w+$", "aZ_9", true);
        check(r"^\w+$", "ä", false);
        check(r"^\s$", "\u{a0}", false);
        check(r"^\s$", "\u{b}", false);
        check(r"^\s$", "\t", true);
        check(r"^[\d\-]+$", "1-2", true);
        check(r"^[\d]$", "١", false);
        check(r"^[^\w]$", "ä", true);
        check(r"^[\D]$", "١", true);
        check(r"^[^\D]$", "7", true);
        check(r"^\W$", "ä", true);
        check(r"a\b", "aä", true);
        check(r"^ä\Bö$", "äö", true);
        check(r"^\S$", "ä", true);
        check(r"^.$", "ä", true);
        check(r"^\pL$", "ä", true);
    }

    #[test]
    fn a_class_has_characters_and_ranges_only() {
        check(r"^[a&&b]+$", "a&b", true);
        check(r"^[[a]+$", "[a", true);
        check(r"^[+--]+$", "+,-", true);
        check(r"^[a-z-]+$", "a-z", true);
        check(r"^[]a]+$", "a]", true);
        check(r"^[^]a]$", "]", false);
        check(r"^[[:alpha:][:digit:]-]+$", "a1-", true);
        check(r"^[[:x]+$", "[x:", true);
        check(r"^[a~~b]+$", "~", true);
        check(r"^[-a]+$", "-a", true);
        check(r"^[\]\\]+$", r"]\", true);
        check(r"^[\--\x{30}]$", "/", true);
    }

    #[test]
    fn quoted_text_and_signs_stand_for_themselves() {
        check(r"^\Qa.b\E.$", "a.bc", true);
        check(r"^\Qa.b\E.$", "axbc", false);
        check(r"^\<\>$", "<>", true);
        check(r"^a\.b\\$", r"a.b\", true);
    }

    #[test]
    fn what_is_no_expression_stays_none() {
        for expression in ["(", "[", "[a", "a\\", "[\\", "*", "[b-a]", "\\Qa(", "[[:", "(?<"] {
            let _ = compile(expression);
        }
        assert!(compile("(").is_err() && compile("[a").is_err() && compile("a\\").is_err());
    }

    #[test]
    fn the_expressions_of_cluster_api_mean_what_they_did() {
        let dns = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
        check(dns, "a-b.c", true);
        check(dns, "-a", false);
        check(r"^[1-9][0-9]*$|^0$", "10", true);
        check(r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$", "1.5h", true);
    }
}
