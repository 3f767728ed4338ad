//! Warnings as headers, within the bounds that the real server has.

use std::collections::BTreeSet;

use http::HeaderValue;

/// What all warnings of an answer may take together, in characters. Beyond it, each is cut to [`ITEM_CHARS`].
const TOTAL_CHARS: usize = 4 * 1024;
/// What one warning may take once they have to be cut. The last one may pass the total by as much.
const ITEM_CHARS: usize = 256;

/// The headers of warnings, each said once. Where they do not fit, each is cut, and those at the end are left out.
pub(super) fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let mut known = BTreeSet::new();
    // One more than fits is enough to know that they do not.
    let mut chars = 0;
    let mut said: Vec<&str> = Vec::new();
    for warning in warnings.iter().filter(|warning| !warning.is_empty()) {
        if chars > TOTAL_CHARS && said.len() > TOTAL_CHARS {
            break;
        }
        if known.insert(warning.as_str()) {
            chars += warning.chars().count();
            said.push(warning);
        }
    }
    if chars <= TOTAL_CHARS {
        return said.into_iter().filter_map(header).collect();
    }
    let mut written = 0;
    let fits = |text: &&str| {
        let before = written;
        written += text.chars().count();
        before < TOTAL_CHARS
    };
    said.into_iter().map(cut).take_while(fits).filter_map(header).collect()
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(ITEM_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// `299 - "…"`. A text with control characters cannot stand in a header and is left out.
fn header(text: &str) -> Option<HeaderValue> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(warnings: &[String]) -> Vec<String> {
        headers(warnings).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    #[test]
    fn a_warning_is_quoted_and_said_once() {
        let warnings = ["unknown field \"a\\b\"", "ä", "two\nlines", "ä", ""].map(str::to_owned);
        assert_eq!(texts(&warnings), [r#"299 - "unknown field \"a\\b\"""#, "299 - \"ä\""]);
    }

    #[test]
    fn many_warnings_do_not_make_a_head_that_no_client_reads() {
        let warnings: Vec<String> = (0..400_000).map(|number| format!("unknown field \"spec.f{number}\"")).collect();
        let all: usize = texts(&warnings).iter().map(String::len).sum();
        assert!((TOTAL_CHARS..TOTAL_CHARS * 2).contains(&all), "{all} bytes");
    }

    #[test]
    fn long_warnings_are_cut_when_there_are_too_many() {
        let long = "ö".repeat(TOTAL_CHARS);
        assert_eq!(texts(std::slice::from_ref(&long)), [format!("299 - \"{long}\"")]);
        let short = "ö".repeat(ITEM_CHARS);
        assert_eq!(texts(&[long, "b".to_owned()]), [format!("299 - \"{short}\""), "299 - \"b\"".to_owned()]);
    }
}
