//! The OpenAPI document of the hooks, for authors of extensions in any language.

use std::collections::BTreeMap;

use super::YAML_HEADER;

pub fn files() -> BTreeMap<String, String> {
    let document = refit_cli::yaml(&refit_api::openapi::hooks());
    [("hooks.yaml".to_owned(), format!("{YAML_HEADER}{document}"))].into()
}
