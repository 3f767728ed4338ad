//! Label selectors as text: `a=b,c!=d,e in (x,y),f notin (z),g,!h,n>2`.

use serde_json::Value;

use crate::metadata::names::{label_key_problems, label_value_problems};

/// Requirements on labels, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// `Err` says what cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = tokens(text).into_iter().peekable();
        let mut requirements = Vec::new();
        if let Some(other) = tokens.peek().filter(|token| !matches!(token, Token::Word(_) | Token::Sign("!"))) {
            return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
        }
        while tokens.peek().is_some() {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                None => break,
                Some(Token::Comma) if tokens.peek().is_some() => {}
                Some(Token::Comma) => return Err("found '', expected: identifier after ','".to_owned()),
                Some(other) => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
        Ok(Self(requirements))
    }

    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.0.iter().all(|requirement| requirement.test.holds(labels.get(&requirement.key).and_then(Value::as_str)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_one_of = |values: &[String], value: &str| values.iter().any(|known| known == value);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(values) => value.is_some_and(|value| is_one_of(values, value)),
            Self::NotIn(values) => value.is_none_or(|value| !is_one_of(values, value)),
            Self::Greater(bound) => number().is_some_and(|value| value > *bound),
            Self::Less(bound) => number().is_some_and(|value| value < *bound),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Comma,
    Open,
    Close,
    /// `=`, `==`, `!=`, `!`, `<` or `>`.
    Sign(&'static str),
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::Sign(sign) => sign,
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let signs =
            [("==", Token::Sign("==")), ("!=", Token::Sign("!=")), ("=", Token::Sign("=")), ("!", Token::Sign("!"))];
        let more = [
            ("<", Token::Sign("<")),
            (">", Token::Sign(">")),
            (",", Token::Comma),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        let found = signs.into_iter().chain(more).find(|(sign, _)| rest.starts_with(sign));
        let length = match found {
            Some((sign, token)) => {
                tokens.push(token);
                sign.len()
            }
            None => {
                let is_end = |character: char| character.is_whitespace() || "=!<>,()".contains(character);
                let end = rest.find(is_end).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                end
            }
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<Token>>;

fn requirement(tokens: &mut Tokens) -> Result<Requirement, String> {
    if tokens.next_if_eq(&Token::Sign("!")).is_some() {
        return Ok(Requirement { key: key(tokens)?, test: Test::Absent });
    }
    let key = key(tokens)?;
    let test = match tokens.peek() {
        None | Some(Token::Comma) => Test::Exists,
        Some(_) => operation(tokens, &key)?,
    };
    Ok(Requirement { key, test })
}

fn operation(tokens: &mut Tokens, key: &str) -> Result<Test, String> {
    Ok(match tokens.next() {
        Some(Token::Sign("=" | "==")) => Test::In(vec![value(tokens, key)?]),
        Some(Token::Sign("!=")) => Test::NotIn(vec![value(tokens, key)?]),
        Some(Token::Sign(">")) => Test::Greater(number(tokens)?),
        Some(Token::Sign("<")) => Test::Less(number(tokens)?),
        Some(Token::Word(word)) if word == "in" => Test::In(values(tokens, key)?),
        Some(Token::Word(word)) if word == "notin" => Test::NotIn(values(tokens, key)?),
        other => {
            let found = other.as_ref().map_or("", Token::text);
            return Err(format!(
                "unable to parse requirement: found '{found}', expected: in, notin, =, ==, !=, gt, lt"
            ));
        }
    })
}

fn key(tokens: &mut Tokens) -> Result<String, String> {
    match tokens.next() {
        Some(Token::Word(key)) => match label_key_problems(&key).first() {
            None => Ok(key),
            Some(problem) => Err(format!("unable to parse requirement: <nil>: Invalid value: {key:?}: {problem}")),
        },
        other => {
            let found = other.as_ref().map_or("", Token::text);
            Err(format!("unable to parse requirement: found '{found}', expected: identifier"))
        }
    }
}

fn value(tokens: &mut Tokens, key: &str) -> Result<String, String> {
    match tokens.peek() {
        None | Some(Token::Comma) => Ok(String::new()),
        Some(_) => word(tokens, key),
    }
}

fn word(tokens: &mut Tokens, key: &str) -> Result<String, String> {
    let found = tokens.next();
    let Some(Token::Word(value)) = found else {
        let found = found.as_ref().map_or("", Token::text);
        return Err(format!("unable to parse requirement: found '{found}', expected: identifier"));
    };
    match label_value_problems(&value).first() {
        None => Ok(value),
        Some(problem) => {
            Err(format!("unable to parse requirement: values[0][{key}]: Invalid value: {value:?}: {problem}"))
        }
    }
}

fn number(tokens: &mut Tokens) -> Result<i64, String> {
    match tokens.next() {
        Some(Token::Word(word)) => word.parse().map_err(|_| {
            format!("unable to parse requirement: values[0]: Invalid value: {word:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        }),
        other => {
            let found = other.as_ref().map_or("", Token::text);
            Err(format!("unable to parse requirement: found '{found}', expected: identifier"))
        }
    }
}

/// `(a,b)`; an empty place between commas is an empty value.
fn values(tokens: &mut Tokens, key: &str) -> Result<Vec<String>, String> {
    if tokens.next_if_eq(&Token::Open).is_none() {
        let found = tokens.peek().map_or("", Token::text);
        return Err(format!("unable to parse requirement: found '{found}' expected: '('"));
    }
    let mut values = Vec::new();
    loop {
        match tokens.peek() {
            Some(Token::Word(_)) => {
                values.push(word(tokens, key)?);
                tokens.next_if_eq(&Token::Comma);
            }
            Some(Token::Comma) => {
                tokens.next();
                values.push(String::new());
            }
            Some(Token::Close) => {
                tokens.next();
                if values.is_empty() {
                    values.push(String::new());
                }
                return Ok(values);
            }
            other => {
                let found = other.map_or("", Token::text);
                let expected = if values.is_empty() { "',', ')' or identifier" } else { "',' or ')'" };
                return Err(format!("unable to parse requirement: found '{found}', expected: {expected}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, matching: &[Value], other: &[Value]) {
        let parsed = LabelSelector::parse(selector).expect("the selector must parse");
        for (labels, expected) in
            matching.iter().map(|labels| (labels, true)).chain(other.iter().map(|labels| (labels, false)))
        {
            assert_eq!(parsed.matches(&json!({"metadata": {"labels": labels}})), expected, "{selector} {labels}");
        }
    }

    #[test]
    fn every_operator_selects_as_kubernetes_says() {
        check("", &[json!({})], &[]);
        check("a=b", &[json!({"a": "b"})], &[json!({}), json!({"a": "c"})]);
        check("a==b,c", &[json!({"a": "b", "c": ""})], &[json!({"a": "b"})]);
        check("a!=b", &[json!({}), json!({"a": "c"})], &[json!({"a": "b"})]);
        check("a in (x, y)", &[json!({"a": "x"})], &[json!({}), json!({"a": "z"})]);
        check("a notin (x)", &[json!({}), json!({"a": "z"})], &[json!({"a": "x"})]);
        check("!a", &[json!({})], &[json!({"a": ""})]);
        check("n>2", &[json!({"n": "3"})], &[json!({"n": "2"}), json!({"n": "x"}), json!({})]);
        check("a=", &[json!({"a": ""})], &[json!({"a": "x"}), json!({})]);
        check("a in ()", &[json!({"a": ""})], &[json!({"a": "x"})]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for text in ["a b", "=b", "a in b", "a=b,", "a=-", "-a", "n>x", "a in (x", ",", "a=(b)"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
