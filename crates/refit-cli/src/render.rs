//! Documents as text.

use clap::ValueEnum;
use serde_json::Value;

/// How data is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Yaml,
    Json,
}

/// The documents as text: YAML documents one after another, or JSON, in a list when they are several.
pub fn render(documents: &[Value], format: Format) -> String {
    match (format, documents) {
        (Format::Yaml, documents) => documents.iter().map(yaml).collect::<Vec<_>>().join("---\n"),
        (Format::Json, [only]) => format!("{only:#}\n"),
        (Format::Json, several) => {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": several });
            format!("{list:#}\n")
        }
    }
}

/// One YAML document. Go's decoder reads the same from it as ours: Kubernetes still goes by YAML 1.1.
pub fn yaml(document: &Value) -> String {
    // Patterns and rules stay on one line, so that they can be searched for.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(document, options).expect("JSON must be YAML")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_separated_in_yaml() {
        assert_eq!(render(&[json!({ "a": 1 }), json!({ "b": 2 })], Format::Yaml), "a: 1\n---\nb: 2\n");
    }

    #[test]
    fn several_documents_are_a_list_in_json() {
        let text = render(&[json!({ "a": 1 }), json!({ "b": 2 })], Format::Json);
        let list: Value = serde_json::from_str(&text).expect("it must be JSON");
        assert_eq!(list["items"], json!([{ "a": 1 }, { "b": 2 }]));
        assert_eq!(render(&[json!({ "a": 1 })], Format::Json), "{\n  \"a\": 1\n}\n");
    }
}
