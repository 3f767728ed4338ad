//! Decoding input from outside into the types of this crate.
//!
//! An error says which field of which kind is wrong, and where it stands. A struct is read from an object only, an enum
//! from a string only. Whatever the input, decoding takes bounded time, memory and stack.

mod depth;
mod path;
mod strict;
#[cfg(test)]
mod tests;
mod yaml;

use std::fmt;

use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::Value;

use strict::Strict;
pub use yaml::{from_yaml, from_yaml_documents};

/// The largest document: what kube-apiserver takes as the body of a request, 3 MiB.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

/// The deepest nesting of lists and objects. The CRDs of Cluster API, the deepest documents there are, have up to 31.
///
/// A level of YAML takes about 26 KiB of stack in a debug build: 64 levels fit into the 2 MiB of a spawned thread.
pub const MAX_DEPTH: usize = 64;

/// Why input could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// What it was to become, as in `MachineDeployment`.
    pub kind: String,
    /// Which one of several documents, counted from 0.
    pub document: Option<usize>,
    pub problem: DecodeProblem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeProblem {
    /// More than [`MAX_BYTES`].
    TooLarge { bytes: usize },
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Not well-formed, or not what the field takes.
    Invalid {
        /// The field, as in `spec.taints[0].effect`. Empty for the document as a whole.
        path: String,
        position: Option<Position>,
        message: String,
    },
}

/// A place in the input, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Decodes one JSON document.
pub fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    decode_json(json).map_err(DecodeError::of::<T>)
}

/// Decodes a value that was parsed already.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, DecodeError> {
    if depth::exceeds(&value, MAX_DEPTH) {
        depth::dismantle(value);
        return Err(DecodeError::of::<T>(DecodeProblem::TooDeep));
    }
    decode_from(value).map_err(DecodeError::of::<T>)
}

/// Decodes a value that was parsed already, and leaves it as it is.
pub fn from_value_ref<T: DeserializeOwned>(value: &Value) -> Result<T, DecodeError> {
    if depth::exceeds(value, MAX_DEPTH) {
        return Err(DecodeError::of::<T>(DecodeProblem::TooDeep));
    }
    decode_from(value).map_err(DecodeError::of::<T>)
}

fn decode_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, DecodeProblem> {
    check_size(json.len())?;
    if depth::of_json(json) > MAX_DEPTH {
        return Err(DecodeProblem::TooDeep);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = decode_from(&mut deserializer)?;
    deserializer.end().map_err(|error| DecodeProblem::from_json(String::new(), &error))?;
    Ok(value)
}

fn decode_from<'de, T, D>(deserializer: D) -> Result<T, DecodeProblem>
where
    T: DeserializeOwned,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(Strict(deserializer))
        .map_err(|error| DecodeProblem::from_json(path::render(error.path()), error.inner()))
}

fn check_size(bytes: usize) -> Result<(), DecodeProblem> {
    if bytes > MAX_BYTES { Err(DecodeProblem::TooLarge { bytes }) } else { Ok(()) }
}

impl DecodeError {
    fn of<T>(problem: DecodeProblem) -> Self {
        let full = std::any::type_name::<T>();
        let without_parameters = full.split('<').next().unwrap_or(full);
        let kind = without_parameters.rsplit("::").next().unwrap_or(full);
        Self { kind: kind.to_owned(), document: None, problem }
    }
}

impl DecodeProblem {
    fn from_json(path: String, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text).to_owned();
        // Values that were parsed already have no place; serde_json then says line 0.
        let position = (line > 0).then_some(Position { line, column });
        Self::Invalid { path, position, message }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot decode {}", self.kind)?;
        if let Some(index) = self.document {
            write!(f, " in document {}", index + 1)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for DecodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes are more than the {MAX_BYTES} that are accepted"),
            Self::TooDeep => write!(f, "nested deeper than the {MAX_DEPTH} levels that are accepted"),
            Self::Invalid { path, position, message } => {
                let separator = if path.is_empty() { "" } else { ": " };
                write!(f, "{path}{separator}{message}")?;
                position.map_or(Ok(()), |at| write!(f, " (line {}, column {})", at.line, at.column))
            }
        }
    }
}
