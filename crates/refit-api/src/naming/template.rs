//! The templates by which users choose the names of Machines: `{{ .cluster.name }}-{{ .random }}`.
//!
//! Upstream renders them with Go's `text/template`. Here is the part of that language which names need: variables,
//! blanks around them, and the markers `{{- ` and ` -}}` that take away the blanks on their outer side. Functions,
//! pipelines, comments and control structures are refused.

#[cfg(test)]
mod tests;

use super::{MAX_LENGTH, RandomSuffix, generated_name};

/// What admission looks for, to the letter: a template without it would give all Machines one name.
pub const RANDOM_ACTION: &str = "{{ .random }}";

/// What Go's templates take for blank.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The kind whose Machines are named. Each kind has a variable of its own and does not know the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOwner {
    MachineSet,
    KubeadmControlPlane,
}

impl NameOwner {
    /// The template of an owner that has none of its own.
    pub fn default_template(self) -> &'static str {
        match self {
            Self::MachineSet => "{{ .machineSet.name }}-{{ .random }}",
            Self::KubeadmControlPlane => "{{ .kubeadmControlPlane.name }}-{{ .random }}",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::MachineSet => ".machineSet.name",
            Self::KubeadmControlPlane => ".kubeadmControlPlane.name",
        }
    }
}

/// A template that can be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    ClusterName,
    OwnerName,
    Random,
}

/// Why a template cannot be rendered. Columns count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the {{{{ at column {column} is not closed by }}}}")]
    Unclosed { column: usize },
    #[error("{variable} at column {column} is not known here; known are .cluster.name, {owner_variable} and .random")]
    UnknownVariable { variable: String, column: usize, owner_variable: &'static str },
    #[error("{action:?} at column {column} is not a variable; functions and control structures are not supported")]
    Unsupported { action: String, column: usize },
}

impl NameTemplate {
    pub fn parse(template: &str, owner: NameOwner) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = template;
        let mut trims_next = false;
        while let Some((text, after_open)) = rest.split_once("{{") {
            let column = template[..template.len() - after_open.len()].chars().count() - 1;
            let (inside, after) = after_open.split_once("}}").ok_or(TemplateError::Unclosed { column })?;
            let action = Action::new(inside);
            parts.push(text_part(text, trims_next, action.trims_before));
            parts.push(action.part(owner, column)?);
            trims_next = action.trims_after;
            rest = after;
        }
        parts.push(text_part(rest, trims_next, false));
        Ok(Self(parts))
    }

    /// The name of one Machine. A name that is too long is cut, and ends in the suffix once more.
    pub fn render(&self, cluster: &str, owner: &str, suffix: RandomSuffix) -> String {
        let random = suffix.to_string();
        let render_part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::ClusterName => cluster.to_owned(),
            Part::OwnerName => owner.to_owned(),
            Part::Random => random.clone(),
        };
        let name: String = self.0.iter().map(render_part).collect();
        if name.len() > MAX_LENGTH { generated_name(&name, suffix) } else { name }
    }
}

/// What stands between `{{` and `}}`, without trim markers and blanks.
struct Action<'a> {
    content: &'a str,
    trims_before: bool,
    trims_after: bool,
}

impl<'a> Action<'a> {
    /// A dash is a trim marker only with a blank on its inner side; otherwise it is a minus sign.
    fn new(inside: &'a str) -> Self {
        let without_start = inside.strip_prefix('-').filter(|rest| rest.starts_with(BLANKS));
        let inner = without_start.unwrap_or(inside);
        let without_end = inner.strip_suffix('-').filter(|rest| rest.ends_with(BLANKS));
        Self {
            content: without_end.unwrap_or(inner).trim_matches(BLANKS),
            trims_before: without_start.is_some(),
            trims_after: without_end.is_some(),
        }
    }

    fn part(&self, owner: NameOwner, column: usize) -> Result<Part, TemplateError> {
        match self.content {
            ".cluster.name" => Ok(Part::ClusterName),
            ".random" => Ok(Part::Random),
            variable if variable == owner.variable() => Ok(Part::OwnerName),
            variable if is_variable(variable) => Err(TemplateError::UnknownVariable {
                variable: variable.to_owned(),
                column,
                owner_variable: owner.variable(),
            }),
            action => Err(TemplateError::Unsupported { action: action.to_owned(), column }),
        }
    }
}

fn is_variable(content: &str) -> bool {
    content.starts_with('.') && content.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

fn text_part(text: &str, trims_start: bool, trims_end: bool) -> Part {
    let text = if trims_start { text.trim_start_matches(BLANKS) } else { text };
    let text = if trims_end { text.trim_end_matches(BLANKS) } else { text };
    Part::Text(text.to_owned())
}
