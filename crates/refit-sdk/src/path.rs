//! Paths into the spec of an object, as extension authors write them.

use std::fmt;
use std::str::FromStr;

use refit_api::decode::MAX_DEPTH;

/// A part of an object's spec: the field at the path, and everything beneath it.
///
/// Written with dots (`spec.memory.sizeMiB`), or as a JSON pointer when a name has dots itself
/// (`/spec/labels/example.com~1tier`). `*` stands for every name at its place: `spec.disks.*.size`. Lists are a whole;
/// no path leads into one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath {
    /// What comes after `spec`.
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Segment {
    Name(String),
    AnyName,
}

impl Segment {
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::AnyName => true,
        }
    }
}

impl FieldPath {
    /// The path from the root of an object whose spec is beneath these names.
    pub(crate) fn beneath(&self, spec: &[&str]) -> Vec<Segment> {
        let above = spec.iter().map(|name| Segment::Name((*name).to_owned()));
        above.chain(self.segments.iter().cloned()).collect()
    }

    /// The names after `spec`; none if there is a `*` among them.
    pub(crate) fn names(&self) -> Option<Vec<&str>> {
        let names = self.segments.iter().map(|segment| match segment {
            Segment::Name(name) => Some(name.as_str()),
            Segment::AnyName => None,
        });
        names.collect()
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let error = |problem| FieldPathError { path: text.to_owned(), problem };
        let mut names = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(unescape).collect::<Result<Vec<_>, _>>().map_err(error)?,
            None => text.split('.').map(str::to_owned).collect(),
        };
        if names.iter().any(String::is_empty) {
            return Err(error(PathProblem::EmptyName));
        }
        if names.remove(0) != "spec" {
            return Err(error(PathProblem::NotInSpec));
        }
        if names.len() > MAX_DEPTH {
            return Err(error(PathProblem::TooDeep));
        }
        Ok(Self { segments: names.into_iter().map(segment).collect() })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |segment: &Segment| match segment {
            Segment::Name(name) => name.replace('~', "~0").replace('/', "~1"),
            Segment::AnyName => "*".to_owned(),
        };
        f.write_str("/spec")?;
        self.segments.iter().try_for_each(|segment| write!(f, "/{}", name(segment)))
    }
}

/// Why a text is no path into a spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is no path of a field: {problem}")]
pub struct FieldPathError {
    /// The text.
    pub path: String,
    /// What is wrong with it.
    pub problem: PathProblem,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    #[error("a name in it is empty")]
    EmptyName,
    /// Controllers look at nothing else.
    #[error("it must begin with spec, because only changes of the spec count")]
    NotInSpec,
    #[error("a '~' must be followed by '0' or '1'")]
    Escape,
    #[error("it has more than {MAX_DEPTH} names")]
    TooDeep,
}

fn segment(name: String) -> Segment {
    if name == "*" { Segment::AnyName } else { Segment::Name(name) }
}

fn unescape(name: &str) -> Result<String, PathProblem> {
    let is_escape = |rest: &str| rest.starts_with('0') || rest.starts_with('1');
    match name.split('~').skip(1).all(is_escape) {
        true => Ok(name.replace("~1", "/").replace("~0", "~")),
        false => Err(PathProblem::Escape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_pointers_say_the_same() {
        let check = |text: &str, expected: &str| {
            let path: FieldPath = text.parse().expect("the path must be right");
            assert_eq!(path.to_string(), expected);
            assert_eq!(expected.parse(), Ok(path));
        };
        check("spec", "/spec");
        check("spec.memory.size", "/spec/memory/size");
        check("spec.disks.*.size", "/spec/disks/*/size");
        check("/spec/labels/example.com~1tier~0x", "/spec/labels/example.com~1tier~0x");
    }

    #[test]
    fn what_is_no_path_into_a_spec_is_refused() {
        let check = |text: &str, problem| {
            assert_eq!(text.parse::<FieldPath>().expect_err("the path must be wrong").problem, problem, "{text}");
        };
        check("", PathProblem::EmptyName);
        check("/", PathProblem::EmptyName);
        check("spec.", PathProblem::EmptyName);
        check("spec..memory", PathProblem::EmptyName);
        check("memory", PathProblem::NotInSpec);
        check("metadata.labels", PathProblem::NotInSpec);
        check("/status/ready", PathProblem::NotInSpec);
        check("/spec/a~2b", PathProblem::Escape);
        check(&format!("spec{}", ".a".repeat(MAX_DEPTH + 1)), PathProblem::TooDeep);
    }
}
