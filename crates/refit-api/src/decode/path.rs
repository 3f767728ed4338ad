//! Field paths in the style of Kubernetes: `spec.taints[0].effect`, `metadata.labels[x.io/y]`.

use serde_path_to_error::{Path, Segment};

/// The path as text; empty for the root.
pub(super) fn render(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key } if !is_identifier(key) => text.push_str(&format!("[{key}]")),
            Segment::Map { key: name } | Segment::Enum { variant: name } => push_name(&mut text, name),
            // Where serde could not tell: nothing that a reader could use.
            Segment::Unknown => {}
        }
    }
    text
}

fn push_name(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    text.push_str(name);
}

fn is_identifier(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
