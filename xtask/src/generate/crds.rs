//! The CRDs as files that `kubectl apply` takes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::YAML_HEADER;

/// One file per CRD, named after its group and plural.
pub fn files() -> BTreeMap<String, String> {
    refit_api::crd::all().iter().map(|crd| (file_name(crd), render(crd))).collect()
}

fn render(crd: &Value) -> String {
    format!("{YAML_HEADER}{}", refit_cli::yaml(crd))
}

fn file_name(crd: &Value) -> String {
    let text = |pointer| crd.pointer(pointer).and_then(Value::as_str).expect("a CRD must name its group and plural");
    format!("{}_{}.yaml", text("/spec/group"), text("/spec/names/plural"))
}

#[cfg(test)]
mod tests;
