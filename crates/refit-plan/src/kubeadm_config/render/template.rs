//! Files whose content is a template.
//!
//! Of Go's template language there is what the one variable can be used with: `{{ .controlPlane.version }}`, `{{ if .controlPlane }}`,
//! `{{ else }}`, `{{ end }}`, quoted text, comments, and the dashes that take blanks away. Anything else is an error, not text.

use refit_api::bootstrap::{Encoding, File, FileContentFormat};
use refit_api::version::KubernetesVersion;

/// A template may be so deep.
const MAX_DEPTH: usize = 16;

/// Why a template cannot be filled in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the action in line {line} has no end: write }}}}")]
    Open { line: usize },
    #[error(
        "the action in line {line} is not supported: use .controlPlane.version, if, else, end, quoted text or a comment"
    )]
    Unsupported { line: usize },
    #[error("the {{{{ if }}}} in line {line} has no {{{{ end }}}}")]
    NoEnd { line: usize },
    #[error("there is no {{{{ if }}}} before line {line}")]
    NoIf { line: usize },
    #[error("line {line} is too deep: at most {MAX_DEPTH} {{{{ if }}}} in each other")]
    TooDeep { line: usize },
    #[error("the version of the control plane is not known: write {{{{ if .controlPlane }}}} around line {line}")]
    NoVersion { line: usize },
    #[error("the content is encoded, and a template must not be; leave encoding unset")]
    Encoded,
}

/// One `if` that is not at its end yet.
struct Branch {
    line: usize,
    /// Whether what comes now is written.
    is_taken: bool,
    has_else: bool,
}

/// The file with its template filled in. Files that are no templates stay as they are.
pub fn fill(file: &File, control_plane_version: Option<&str>) -> Result<File, TemplateError> {
    if file.content_format != Some(FileContentFormat::Template) {
        return Ok(file.clone());
    }
    match file.encoding {
        None => {}
        Some(Encoding::Base64 | Encoding::Gzip | Encoding::GzipBase64) => return Err(TemplateError::Encoded),
    }
    let version = control_plane_version.map(normalized);
    let content = expand(file.content.as_deref().unwrap_or_default(), version.as_deref())?;
    Ok(File { content: Some(content), content_format: None, ..file.clone() })
}

/// As Cluster API writes versions elsewhere: `v1.35` becomes `v1.35.0`.
fn normalized(version: &str) -> String {
    KubernetesVersion::parse_tolerant(version).map_or_else(|_| version.to_owned(), |version| format!("v{version}"))
}

fn expand(text: &str, version: Option<&str>) -> Result<String, TemplateError> {
    let (mut out, mut branches, mut rest) = (String::new(), Vec::<Branch>::new(), text);
    while let Some(start) = rest.find("{{") {
        let line = 1 + text[..text.len() - rest.len() + start].matches('\n').count();
        let (before, action) = (&rest[..start], &rest[start + 2..]);
        let end = end_of(action).ok_or(TemplateError::Open { line })?;
        let (inner, after) = (&action[..end], &action[end + 2..]);
        let trims_before = inner.starts_with("- ") || inner == "-";
        let trims_after = inner.ends_with(" -");
        if is_taken(&branches) {
            out.push_str(if trims_before { before.trim_end() } else { before });
        }
        let inner = inner.strip_prefix('-').filter(|_| trims_before).unwrap_or(inner);
        let inner = inner.strip_suffix('-').filter(|_| trims_after).unwrap_or(inner);
        act(inner.trim(), line, version, &mut branches, &mut out)?;
        rest = if trims_after { after.trim_start() } else { after };
    }
    match branches.pop() {
        Some(open) => Err(TemplateError::NoEnd { line: open.line }),
        None => Ok(out + rest),
    }
}

fn act(
    action: &str,
    line: usize,
    version: Option<&str>,
    branches: &mut Vec<Branch>,
    out: &mut String,
) -> Result<(), TemplateError> {
    match action {
        "if .controlPlane" | "if .controlPlane.version" => {
            if branches.len() == MAX_DEPTH {
                return Err(TemplateError::TooDeep { line });
            }
            branches.push(Branch { line, is_taken: version.is_some(), has_else: false });
        }
        "else" => {
            let branch = branches.last_mut().filter(|branch| !branch.has_else);
            let branch = branch.ok_or(TemplateError::NoIf { line })?;
            (branch.is_taken, branch.has_else) = (!branch.is_taken, true);
        }
        "end" => {
            branches.pop().ok_or(TemplateError::NoIf { line })?;
        }
        ".controlPlane.version" if is_taken(branches) => {
            out.push_str(version.ok_or(TemplateError::NoVersion { line })?);
        }
        ".controlPlane.version" => {}
        comment if comment.starts_with("/*") && comment.ends_with("*/") => {}
        literal => {
            let text = unquoted(literal).ok_or(TemplateError::Unsupported { line })?;
            if is_taken(branches) {
                out.push_str(&text);
            }
        }
    }
    Ok(())
}

fn is_taken(branches: &[Branch]) -> bool {
    branches.iter().all(|branch| branch.is_taken)
}

/// Where the action ends: not inside of a quoted text or a comment.
fn end_of(action: &str) -> Option<usize> {
    let mut place = 0;
    while place < action.len() {
        let rest = &action[place..];
        if rest.starts_with("}}") {
            return Some(place);
        }
        let skipped = match rest.as_bytes()[0] {
            b'"' => 2 + closing_quote(&rest[1..])?,
            b'`' => 2 + rest[1..].find('`')?,
            b'/' if rest.starts_with("/*") => 2 + rest[2..].find("*/")? + 2,
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        place += skipped;
    }
    None
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// The text in quotes. Go's escapes are JSON's as far as they are used here.
fn unquoted(literal: &str) -> Option<String> {
    match literal.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        Some(raw) => Some(raw.to_owned()).filter(|raw| !raw.contains('`')),
        None => serde_json::from_str(literal).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, version: Option<&str>, expected: Result<&str, TemplateError>) {
        let file = File {
            path: "/f".to_owned(),
            content: Some(template.to_owned()),
            content_format: Some(FileContentFormat::Template),
            ..File::default()
        };
        let filled = fill(&file, version);
        let content = filled.map(|file| file.content.unwrap_or_default());
        assert_eq!(content, expected.map(str::to_owned), "{template}");
    }

    #[test]
    fn the_version_of_the_control_plane_is_filled_in() {
        check("v={{ .controlPlane.version }}\n", Some("1.35"), Ok("v=v1.35.0\n"));
        check("v={{.controlPlane.version}}", Some("v1.35.2+x"), Ok("v=v1.35.2+x"));
        check("{{ .controlPlane.version }}", None, Err(TemplateError::NoVersion { line: 1 }));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let template = "a\n{{- if .controlPlane }}\nv={{ .controlPlane.version }}\n{{- else }}\nnone\n{{- end }}\nb";
        check(template, Some("v1.35.0"), Ok("a\nv=v1.35.0\nb"));
        check(template, None, Ok("a\nnone\nb"));
    }

    #[test]
    fn text_in_quotes_and_comments_may_hold_anything() {
        check("{{ \"{{ ds.x }}\" }}{{ `}}` }}{{/* a }} comment */}}!", None, Ok("{{ ds.x }}}}!"));
        check("é{{ \"\\\"\" }}", None, Ok("é\""));
    }

    #[test]
    fn what_is_not_supported_is_an_error_with_its_line() {
        check("\n{{ .other }}", None, Err(TemplateError::Unsupported { line: 2 }));
        check("{{ printf \"x\" }}", None, Err(TemplateError::Unsupported { line: 1 }));
        check("{{ if .controlPlane }}x", None, Err(TemplateError::NoEnd { line: 1 }));
        check("x\n{{ end }}", None, Err(TemplateError::NoIf { line: 2 }));
        check("{{ if .controlPlane }}{{ else }}{{ else }}{{ end }}", None, Err(TemplateError::NoIf { line: 1 }));
        check("{{ \"x", None, Err(TemplateError::Open { line: 1 }));
        check(&"{{ if .controlPlane }}".repeat(17), None, Err(TemplateError::TooDeep { line: 1 }));
    }

    #[test]
    fn a_file_that_is_no_template_stays_as_it_is() {
        let file = File { path: "/f".to_owned(), content: Some("{{ x }}".to_owned()), ..File::default() };
        assert_eq!(fill(&file, None), Ok(file.clone()));
        let encoded =
            File { encoding: Some(Encoding::Base64), content_format: Some(FileContentFormat::Template), ..file };
        assert_eq!(fill(&encoded, None), Err(TemplateError::Encoded));
    }
}
