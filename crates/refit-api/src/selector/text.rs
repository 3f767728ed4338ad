//! The written form of selectors: `app=web,tier in (a,b),!old`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::{Requirement, Selector, SelectorError, Test};

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::All(requirements) = self else { return Ok(()) };
        for (index, requirement) in requirements.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.test {
            Test::Equals(value) => write!(f, "{key}={value}"),
            Test::NotEquals(value) => write!(f, "{key}!={value}"),
            Test::In(values) => write!(f, "{key} in ({})", in_order(values)),
            Test::NotIn(values) => write!(f, "{key} notin ({})", in_order(values)),
            Test::Exists => write!(f, "{key}"),
            Test::DoesNotExist => write!(f, "!{key}"),
            Test::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Test::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

fn in_order(values: &[String]) -> String {
    let mut values = values.to_vec();
    values.sort();
    values.join(",")
}

/// Reads what a client sends as `labelSelector`. The empty string selects everything.
impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut tokens = Tokens { text, position: 0 };
        let mut requirements = Vec::new();
        if tokens.peek() == Token::End {
            return Ok(Self::EVERYTHING);
        }
        loop {
            requirements.push(parse_requirement(&mut tokens)?);
            match tokens.peek() {
                Token::End => return Ok(Self::sorted(requirements)),
                Token::Symbol(",") => tokens.skip(),
                _ => return Err(tokens.unexpected("',' or the end")),
            }
        }
    }
}

fn parse_requirement(tokens: &mut Tokens) -> Result<Requirement, SelectorError> {
    if tokens.peek() == Token::Symbol("!") {
        tokens.skip();
        let key = parse_word(tokens, "a label key")?;
        return Requirement::new(key, Test::DoesNotExist);
    }
    let key = parse_word(tokens, "a label key or '!'")?;
    let operator = match tokens.peek() {
        Token::End | Token::Symbol(",") => return Requirement::new(key, Test::Exists),
        Token::Word(operator) | Token::Symbol(operator) => operator,
    };
    if !["=", "==", "!=", "in", "notin", ">", "<"].contains(&operator) {
        return Err(tokens.unexpected("one of = == != in notin > <"));
    }
    tokens.skip();
    let test = match operator {
        "in" => Test::In(parse_values(tokens)?),
        "notin" => Test::NotIn(parse_values(tokens)?),
        "!=" => Test::NotEquals(parse_value(tokens)?),
        ">" => Test::GreaterThan(parse_number(tokens)?),
        "<" => Test::LessThan(parse_number(tokens)?),
        _ => Test::Equals(parse_value(tokens)?),
    };
    Requirement::new(key, test)
}

/// `(a,b)`. A value may be empty, so `()` is the list of one empty value. Doubled values are dropped.
fn parse_values(tokens: &mut Tokens) -> Result<Vec<String>, SelectorError> {
    if tokens.peek() != Token::Symbol("(") {
        return Err(tokens.unexpected("'('"));
    }
    tokens.skip();
    let mut values = BTreeSet::new();
    loop {
        values.insert(take_word(tokens).unwrap_or_default().to_owned());
        match tokens.peek() {
            Token::Symbol(",") => tokens.skip(),
            Token::Symbol(")") => break tokens.skip(),
            _ => return Err(tokens.unexpected("',' or ')'")),
        }
    }
    Ok(values.into_iter().collect())
}

fn parse_value(tokens: &mut Tokens) -> Result<String, SelectorError> {
    match tokens.peek() {
        Token::End | Token::Symbol(",") => Ok(String::new()),
        _ => parse_word(tokens, "a label value").map(str::to_owned),
    }
}

fn parse_number(tokens: &mut Tokens) -> Result<i64, SelectorError> {
    let error = tokens.unexpected("an integer");
    parse_word(tokens, "an integer")?.parse().map_err(|_| error)
}

fn parse_word<'a>(tokens: &mut Tokens<'a>, expected: &'static str) -> Result<&'a str, SelectorError> {
    take_word(tokens).ok_or_else(|| tokens.unexpected(expected))
}

fn take_word<'a>(tokens: &mut Tokens<'a>) -> Option<&'a str> {
    let Token::Word(word) = tokens.peek() else { return None };
    tokens.skip();
    Some(word)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

/// What is left to read of a selector.
struct Tokens<'a> {
    text: &'a str,
    /// In bytes, always at the start of a character.
    position: usize,
}

impl<'a> Tokens<'a> {
    const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
    /// The longer ones first, as each is the beginning of a shorter one.
    const SYMBOLS: [&'static str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

    fn peek(&self) -> Token<'a> {
        let rest = self.rest();
        if rest.is_empty() {
            return Token::End;
        }
        if let Some(symbol) = Self::SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            return Token::Symbol(symbol);
        }
        let ends_word = |c: char| Self::BLANKS.contains(&c) || "=!(),><".contains(c);
        Token::Word(&rest[..rest.find(ends_word).unwrap_or(rest.len())])
    }

    fn skip(&mut self) {
        let length = match self.peek() {
            Token::Word(text) | Token::Symbol(text) => text.len(),
            Token::End => 0,
        };
        self.position = self.text.len() - self.rest().len() + length;
    }

    fn rest(&self) -> &'a str {
        self.text[self.position..].trim_start_matches(Self::BLANKS)
    }

    fn unexpected(&self, expected: &'static str) -> SelectorError {
        let found = match self.peek() {
            Token::Word(text) | Token::Symbol(text) => format!("{text:?}"),
            Token::End => "the end".to_owned(),
        };
        let before = &self.text[..self.text.len() - self.rest().len()];
        SelectorError::Syntax { expected, found, column: before.chars().count() + 1 }
    }
}
