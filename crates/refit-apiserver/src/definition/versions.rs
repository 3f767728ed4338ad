//! What is wrong with the versions of a definition, their schemas aside.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{list, quoted, text, version_path};
use crate::field_error::{FieldError, FieldErrors};
use crate::metadata::names::NameRule;
use crate::schema::{Definitions, Kind, Schema, parse};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
/// How many fields of a kind can be selected by.
const MAX_SELECTABLE_FIELDS: usize = 8;

pub(super) fn errors(definition: &Value) -> FieldErrors {
    let versions = list(&definition["spec"]["versions"]);
    let mut errors = FieldErrors::default();
    for (index, version) in versions.iter().enumerate() {
        let name = text(&version["name"]);
        let problems: Vec<String> = NameRule::Label1035.problems(name).collect();
        if !problems.is_empty() {
            errors.push(FieldError::invalid(format!("spec.versions[{index}].name"), name, problems.join(",")));
        }
        if version["deprecationWarning"].is_string() && version["deprecated"] != true {
            let field = format!("spec.versions[{index}].deprecationWarning");
            let detail = "can only be set for deprecated versions";
            errors.push(FieldError::invalid(field, &version["deprecationWarning"], detail));
        }
    }
    errors.merge(storage_errors(versions));
    for (index, version) in distinct(versions, "subresources") {
        let path = version_path(versions, index, "subresources", "subresources");
        errors.merge(scale_errors(&version["subresources"]["scale"], &path));
    }
    for (index, version) in distinct(versions, "additionalPrinterColumns") {
        let path = version_path(versions, index, "additionalPrinterColumns", "additionalPrinterColumns");
        for (at, column) in list(&version["additionalPrinterColumns"]).iter().enumerate() {
            errors.merge(column_errors(column, &format!("{path}[{at}]")));
            if errors.is_closed() {
                return errors;
            }
        }
    }
    for (index, version) in distinct(versions, "selectableFields") {
        errors
            .merge(selectable_errors(version, &version_path(versions, index, "selectableFields", "selectableFields")));
    }
    errors
}

/// The versions to look at for a part: one where all have the same.
pub(super) fn distinct<'a>(versions: &'a [Value], part: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let is_common = versions.iter().all(|version| version.get(part) == versions[0].get(part));
    let count = if is_common { 1 } else { versions.len() };
    versions.iter().enumerate().take(count)
}

fn storage_errors(versions: &[Value]) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let shown = format!("[{}]", versions.iter().map(shown).collect::<Vec<_>>().join(","));
    let names: BTreeSet<&str> = versions.iter().map(|version| text(&version["name"])).collect();
    if names.len() < versions.len() {
        errors.push(quoted("spec.versions", &shown, "must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(quoted("spec.versions", &shown, detail));
    }
    errors
}

/// A version as messages quote it: as the real server holds it in memory.
fn shown(version: &Value) -> String {
    format!(
        r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#,
        version["name"],
        version["served"] == true,
        version["storage"] == true,
        version["deprecated"] == true,
        version["deprecationWarning"],
    )
}

/// What was ever stored must stay readable.
pub(super) fn stored_errors(definition: &Value) -> FieldErrors {
    const FIELD: &str = "status.storedVersions";
    let stored = list(&definition["status"]["storedVersions"]);
    if stored.is_empty() {
        return FieldError::invalid(FIELD, Value::Null, "must have at least one stored version").into();
    }
    let versions = list(&definition["spec"]["versions"]);
    let missing =
        stored.iter().enumerate().filter(|(_, name)| !versions.iter().any(|version| version["name"] == **name));
    let mut errors: FieldErrors = missing
        .map(|(index, name)| {
            let version = text(name);
            let detail = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {version} and removes {version} from status.storedVersions"
            );
            FieldError::invalid(format!("{FIELD}[{index}]"), version, detail)
        })
        .collect();
    let storage = versions.iter().find(|version| version["storage"] == true);
    if let Some(storage) = storage.filter(|storage| !stored.contains(&storage["name"])) {
        let detail = format!("must have the storage version {}", text(&storage["name"]));
        errors.push(FieldError::invalid(FIELD, stored, detail));
    }
    errors
}

fn scale_errors(scale: &Value, path: &str) -> FieldErrors {
    if !scale.is_object() {
        return FieldErrors::default();
    }
    let rules: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    let check = |(name, roots, detail): (&str, &[&str], &str)| {
        let field = format!("{path}.scale.{name}");
        let value = text(&scale[name]);
        match value {
            "" if name == "labelSelectorPath" => None,
            "" => Some(FieldError::required(field, "")),
            _ if !value.starts_with('.') => Some(not_simple(field, value)),
            _ if !roots.iter().any(|root| value.starts_with(root)) => Some(FieldError::invalid(field, value, detail)),
            _ => None,
        }
    };
    rules.into_iter().filter_map(check).collect()
}

fn not_simple(field: String, value: &str) -> FieldError {
    FieldError::invalid(field, value, "must be a simple json path starting with .")
}

fn column_errors(column: &Value, path: &str) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let (kind, format, json_path) = (text(&column["type"]), text(&column["format"]), text(&column["jsonPath"]));
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    if text(&column["name"]).is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    if kind.is_empty() {
        errors.push(FieldError::required(format!("{path}.type"), types));
    } else if !COLUMN_TYPES.contains(&kind) {
        errors.push(FieldError::invalid(format!("{path}.type"), kind, types));
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(format!("{path}.format"), format, detail));
    }
    if json_path.is_empty() {
        errors.push(FieldError::required(format!("{path}.JSONPath"), ""));
    } else if !json_path.starts_with('.') {
        errors.push(not_simple(format!("{path}.JSONPath"), json_path));
    }
    errors
}

fn selectable_errors(version: &Value, path: &str) -> FieldErrors {
    let schema = parse(&version["schema"]["openAPIV3Schema"], &Definitions::new());
    let mut errors = FieldErrors::default();
    let mut seen = BTreeSet::new();
    for (index, selectable) in list(&version["selectableFields"]).iter().enumerate() {
        let field = format!("{path}[{index}].jsonPath");
        let json_path = text(&selectable["jsonPath"]);
        errors.extend(selectable_error(&schema, json_path, &field));
        if !json_path.is_empty() && !seen.insert(json_path) {
            errors.push(FieldError::duplicate(field, json_path));
        }
        if errors.is_closed() {
            return errors;
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS as u64));
    }
    errors
}

fn selectable_error(schema: &Schema, json_path: &str, field: &str) -> Option<FieldError> {
    let invalid = |detail: &str| Some(FieldError::invalid(field, json_path, detail));
    let Some(names) = json_path.strip_prefix('.') else {
        return match json_path {
            "" => Some(FieldError::required(field, "")),
            _ => invalid("is an invalid path: must begin with a dot"),
        };
    };
    if names.split('.').next() == Some("metadata") {
        return invalid("must not point to fields in metadata");
    }
    let found = names.split('.').try_fold(schema, |schema, name| schema.properties.get(name).map(|found| &**found));
    match found.map(|schema| schema.kind) {
        None => invalid("is an invalid path: does not refer to a valid field"),
        Some(Some(Kind::String | Kind::Boolean | Kind::Integer)) => None,
        Some(_) => invalid(
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
    }
}
