//! Reading paths.

use serde_json::Value;

use super::{Filter, JsonPath, Operand, Operator, Step};

/// Longer paths are not read.
const MAX_LENGTH: usize = 1_024;

const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// A path, with or without the braces of a template and the `$` of its root.
pub fn parse(text: &str) -> Option<JsonPath> {
    let text = text.trim();
    let text = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text);
    let text = text.strip_prefix(['$', '@']).unwrap_or(text);
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    steps(text)
}

fn steps(mut rest: &str) -> Option<JsonPath> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after)?;
            steps.push(bracket(after[..end].trim())?);
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix("..") {
            steps.push(Step::Below);
            rest = if after.starts_with('[') { after } else { member(after, &mut steps)? };
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            rest = if after.starts_with('[') { after } else { member(after, &mut steps)? };
        }
    }
    Some(JsonPath(steps))
}

/// Reads a name up to the next dot or bracket; a backslash takes away the meaning of what follows it.
fn member<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.push(characters.next()?.1),
            '.' | '[' => {
                end = index;
                break;
            }
            _ => name.push(character),
        }
    }
    if name.is_empty() {
        return None;
    }
    steps.push(if name == "*" { Step::All } else { Step::Members(vec![name]) });
    Some(&text[end..])
}

/// Where the bracket that is open closes, whatever stands in quotes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(index),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(condition) = text.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return filter(condition.trim()).map(Step::Filter);
    }
    if text.starts_with(['\'', '"']) {
        let names = text.split(',').map(|name| quoted(name.trim()).map(unescaped));
        return names.collect::<Option<_>>().map(Step::Members);
    }
    let Some((from, to)) = text.split_once(':') else {
        let from: i64 = text.parse().ok()?;
        return Some(Step::Items { from, to: (from != -1).then(|| from.saturating_add(1)) });
    };
    let bound = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    Some(Step::Items { from: bound(from.trim())?.unwrap_or(0), to: bound(to.trim())? })
}

fn filter(text: &str) -> Option<Filter> {
    let Some((at, (sign, operator))) = first_operator(text) else {
        return Some(Filter { left: operand(text)?, comparison: None });
    };
    let right = operand(text[at + sign.len()..].trim())?;
    Some(Filter { left: operand(text[..at].trim())?, comparison: Some((operator, right)) })
}

/// The first operator outside of quotes.
fn first_operator(text: &str) -> Option<(usize, (&'static str, Operator))> {
    let mut quote = None;
    for (index, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None => {
                let found = OPERATORS.into_iter().find(|(sign, _)| text[index..].starts_with(sign));
                if let Some(found) = found {
                    return Some((index, found));
                }
            }
        }
    }
    None
}

fn operand(text: &str) -> Option<Operand> {
    if let Some(path) = text.strip_prefix('@') {
        return if path.is_empty() {
            Some(Operand::Path(JsonPath(Vec::new())))
        } else {
            steps(path).map(Operand::Path)
        };
    }
    let literal = match quoted(text) {
        Some(text) => Value::from(text),
        None => serde_json::from_str(text).ok()?,
    };
    Some(Operand::Literal(literal))
}

/// A backslash takes away the meaning of what follows it, in quotes too: `['example\.com/name']`.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    std::iter::from_fn(|| characters.next().and_then(|it| if it == '\\' { characters.next() } else { Some(it) }))
        .collect()
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}
