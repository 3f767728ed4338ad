//! Words of extensions as they may be shown: one line, and nothing that a terminal would obey.

/// What begins a control sequence of a terminal.
const ESCAPE: char = '\u{1b}';
/// The same in one character, of the C1 controls.
const CONTROL_SEQUENCE: char = '\u{9b}';
/// What ends a command to the operating system, such as a title for a window.
const BELL: char = '\u{7}';

/// The text as one line without control characters, sequences that a terminal obeys, and characters that change the direction
/// of writing or are invisible. Line ends and tabs become blanks.
///
/// Everything that an extension says goes through here once, where it is read: from then on it is in conditions, events and on
/// terminals.
pub fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            ESCAPE => skip_sequence(&mut chars),
            CONTROL_SEQUENCE => skip_parameters(&mut chars),
            it if it.is_control() || it == '\u{2028}' || it == '\u{2029}' => {
                let is_blank = it.is_whitespace() && !line.is_empty() && !line.ends_with(' ');
                line.extend(is_blank.then_some(' '));
            }
            it if is_invisible(it) => {}
            it => line.push(it),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_parameters(chars),
        Some(']' | 'P' | '_' | '^' | 'X') => skip_string(chars),
        Some(_) | None => {}
    }
}

/// Up to the letter that says what to do.
fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|it| (' '..='?').contains(it)).is_some() {}
    chars.next_if(|it| ('@'..='~').contains(it));
}

/// Up to its end, or to the end of the line if it has none.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|it| ![BELL, ESCAPE, '\n'].contains(it)).is_some() {}
    if chars.next_if_eq(&ESCAPE).is_some() {
        chars.next_if_eq(&'\\');
    } else {
        chars.next_if_eq(&BELL);
    }
}

/// Marks of direction, and characters without width.
fn is_invisible(it: char) -> bool {
    matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_line_that_no_terminal_obeys() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected, "{text:?}");
        check("disk sda: 3 of 4 done, 75 %", "disk sda: 3 of 4 done, 75 %");
        check("größer als möglich — 日本", "größer als möglich — 日本");
        check("one\r\n\r\n\ttwo\n", "one two");
        check("\u{1b}[31mred\u{1b}[0m and \u{9b}1mbold", "red and bold");
        check("\u{1b}]0;title\u{7}text", "text");
        check("\u{1b}]8;;https://evil\u{1b}\\click\u{1b}]8;;\u{1b}\\", "click");
        check("a\u{0}b\u{8}c\u{7f}d", "abcd");
        check("safe\u{202e}gpj.exe\u{200b}", "safegpj.exe");
        check("\u{1b}", "");
        check("\u{1b}[", "");
        check("\u{1b}[31", "");
        check("\u{1b}]never ends\nnext", "next");
        check("", "");
    }

    #[test]
    fn nothing_of_what_is_left_is_to_be_taken_out_again() {
        for text in ["\u{1b}\u{1b}[[31m", "\u{1b}[\u{1b}[0m", "a\u{9b}\u{9b}b", "\u{1b}]x\u{1b}[2J"] {
            let once = plain(text);
            assert_eq!(plain(&once), once, "{text:?}");
            assert!(!once.chars().any(char::is_control), "{once:?}");
        }
    }
}
