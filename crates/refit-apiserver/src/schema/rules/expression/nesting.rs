//! How deep a text nests, before it is parsed.

/// How deep what the parser makes of a text can be at most: how many brackets are open, and how many operators that take
/// what stands before them as their operand stand in a row.
pub(super) fn nesting(text: &str) -> usize {
    let mut rest = text.as_bytes();
    // Operators in a row, for every bracket that is open.
    let mut rows = vec![0_usize];
    let (mut current, mut deepest) = (0, 0);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\'' | b'"' => rest = behind_text(byte, after, false),
            b'r' | b'R' if matches!(after.first(), Some(b'\'' | b'"')) => {
                rest = behind_text(after[0], &after[1..], true)
            }
            b'/' if after.first() == Some(&b'/') => rest = behind_line(after),
            b'(' | b'[' | b'{' => {
                rows.push(1);
                current += 1;
            }
            b')' | b']' | b'}' => {
                current -= rows.pop().unwrap_or(0);
                if rows.is_empty() {
                    rows.push(0);
                }
                // What follows takes the brackets as its operand.
                if let Some(row) = rows.last_mut() {
                    *row += 1;
                }
                current += 1;
            }
            b',' | b'&' | b'|' => {
                current -= rows.last().copied().unwrap_or(0);
                let is_in_brackets = usize::from(rows.len() > 1);
                if let Some(row) = rows.last_mut() {
                    *row = is_in_brackets;
                }
                current += is_in_brackets;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b'<' | b'>' | b'=' | b'!' | b'?' | b':' => {
                if let Some(row) = rows.last_mut() {
                    *row += 1;
                }
                current += 1;
            }
            // `in`, the only operator that is a word.
            b'i' if after.starts_with(b"n ") || after.starts_with(b"n(") || after.starts_with(b"n[") => {
                if let Some(row) = rows.last_mut() {
                    *row += 1;
                }
                current += 1;
            }
            _ => {}
        }
        deepest = deepest.max(current);
    }
    deepest
}

/// What follows a text between quotation marks, of which there may be three. A text that ends nowhere ends at once, so
/// that all that follows counts.
fn behind_text(mark: u8, text: &[u8], is_raw: bool) -> &[u8] {
    let triple = [mark; 3];
    let is_triple = text.starts_with(&triple[1..]);
    let start = if is_triple { 2 } else { 0 };
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if !is_raw => at += 1,
            b'\n' | b'\r' if !is_triple => return text,
            _ if byte == mark && !is_triple => return &text[at + 1..],
            _ if is_triple && text[at..].starts_with(&triple) => return &text[at + 3..],
            _ => {}
        }
        at += 1;
    }
    text
}

fn behind_line(text: &[u8]) -> &[u8] {
    text.iter().position(|byte| *byte == b'\n').map_or(&[], |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_operators_in_a_row_count_and_texts_do_not() {
        let check = |text: &str, expected: usize| assert_eq!(nesting(text), expected, "{text}");
        check("a", 0);
        check("a.b.c", 2);
        check("a.b && a.b || a.b", 1);
        check("f(a, b.c)", 2);
        check("((a))", 2);
        check("'((((' + '++++'", 1);
        check(r#"'\'((((' + r'\' + "((""#, 2);
        check("''' ( ' ( ''' + 1", 1);
        check("a // ((((\n+ 1", 1);
        check("'((((", 4);
        check("))))((", 3);
    }
}
