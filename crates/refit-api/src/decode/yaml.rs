//! YAML, read as kubectl reads it.

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, ExternalMessageSource, Options};

use super::strict::Strict;
use super::{DecodeError, DecodeProblem, MAX_BYTES, MAX_DEPTH, Position, check_size, path};

/// How many aliases a document may use. People use a handful; a document that multiplies itself uses many.
const MAX_ALIASES: usize = 1000;

/// How many nodes all aliases of a document may stand for together.
const MAX_ALIASED_EVENTS: usize = 100_000;

/// Decodes one YAML document. JSON is YAML, too.
pub fn from_yaml<T: DeserializeOwned>(yaml: &str) -> Result<T, DecodeError> {
    decode(yaml).map_err(DecodeError::of::<T>)
}

/// Decodes all documents of a YAML stream. Documents without content are skipped and not counted.
///
/// The limit on the size is for each document.
pub fn from_yaml_documents<T: DeserializeOwned>(yaml: &str) -> Result<Vec<T>, DecodeError> {
    let documents = split(yaml).into_iter().filter(Document::has_content).enumerate();
    documents.map(|(index, document)| document.decode(index)).collect()
}

/// A part of a stream, with the `---` before it.
struct Document<'a> {
    text: &'a str,
    lines_before: usize,
}

impl Document<'_> {
    fn decode<T: DeserializeOwned>(&self, index: usize) -> Result<T, DecodeError> {
        decode(self.text).map_err(|mut problem| {
            if let DecodeProblem::Invalid { position: Some(position), .. } = &mut problem {
                position.line += self.lines_before;
            }
            DecodeError { document: Some(index), ..DecodeError::of::<T>(problem) }
        })
    }

    fn has_content(&self) -> bool {
        let content = |line: &str| {
            let rest = if is_separator(line) { &line[3..] } else { line };
            let rest = rest.trim();
            !rest.is_empty() && !rest.starts_with('#')
        };
        self.text.lines().any(content)
    }
}

/// Cuts before every separator. Wherever `---` begins a line, YAML takes it for one, even inside of a block of text.
fn split(yaml: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut start_line, mut position) = (0, 0, 0);
    for (number, line) in yaml.split_inclusive('\n').enumerate() {
        if is_separator(line) && position > start {
            documents.push(Document { text: &yaml[start..position], lines_before: start_line });
            (start, start_line) = (position, number);
        }
        position += line.len();
    }
    documents.push(Document { text: &yaml[start..], lines_before: start_line });
    documents
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn decode<T: DeserializeOwned>(yaml: &str) -> Result<T, DecodeProblem> {
    check_size(yaml.len())?;
    let mut field = String::new();
    // The library reads a struct from nothing at all, too: an object that nobody wrote.
    let document: Option<T> = serde_saphyr::with_deserializer_from_str_with_options(yaml, options(), |deserializer| {
        serde_path_to_error::deserialize(Strict(deserializer)).map_err(|error| {
            field = path::render(error.path());
            error.into_inner()
        })
    })
    .map_err(|error| problem(field, &error))?;
    document.ok_or_else(|| DecodeProblem::Invalid {
        path: String::new(),
        position: None,
        message: "the document is empty".to_owned(),
    })
}

/// The limits are stated here even where they are the library's own, so that no upgrade moves them.
///
/// What looks like a number or a boolean is none of a string's business unless it is quoted, `0644` is octal, and a
/// key may be there once: as in kubectl.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_BYTES,
            max_events: 2 * MAX_BYTES,
            max_aliases: MAX_ALIASES,
            max_anchors: MAX_ALIASES,
            max_recorded_anchor_events: MAX_BYTES,
            max_recorded_anchor_bytes: 4 * MAX_BYTES,
            max_total_scalar_bytes: MAX_BYTES,
            max_merge_keys: MAX_ALIASES,
            max_documents: 1,
            max_inclusion_depth: 0,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIASED_EVENTS,
            max_replay_stack_depth: 16,
            max_alias_expansions_per_anchor: MAX_ALIASES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        legacy_octal_numbers: true,
        no_schema: true,
        emit_comments: false,
        with_snippet: false,
    }
}

fn problem(path: String, error: &Error) -> DecodeProblem {
    let error = error.without_snippet();
    if is_too_deep(error) {
        return DecodeProblem::TooDeep;
    }
    let position = error.location().map(|location| Position {
        line: usize::try_from(location.line()).unwrap_or(usize::MAX),
        column: usize::try_from(location.column()).unwrap_or(usize::MAX),
    });
    DecodeProblem::Invalid { path, position, message: message(error) }
}

/// Both the parser and the budget look at the depth; which one is first depends on the style of writing.
fn is_too_deep(error: &Error) -> bool {
    match error {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => true,
        Error::ExternalMessage { source, .. } => {
            matches!(&**source, ExternalMessageSource::Parser(e) if *e.kind() == ErrorKind::RecursionLimitExceeded)
        }
        _ => false,
    }
}

/// What is wrong, without the place and without advice on the library's options.
fn message(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key {key:?}"),
        Error::QuotingRequired { value, .. } => format!("{value:?} must be quoted to be a string"),
        Error::MultipleDocuments { .. } => "expected one document, found several".to_owned(),
        other => {
            let text = other.to_string();
            text.split_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
        }
    }
}
