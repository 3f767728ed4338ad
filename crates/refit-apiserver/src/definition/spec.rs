//! What is wrong with a definition as a whole: its group, scope, names and conversion.

use serde_json::Value;

use super::{is_established, list, text};
use crate::field_error::{FieldError, FieldErrors};
use crate::metadata::names::NameRule;

/// The annotation by which definitions in Kubernetes' own groups say who approved them.
const APPROVAL: &str = "api-approved.kubernetes.io";
const POLICY: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

pub(super) fn errors(new: &Value, old: Option<&Value>) -> FieldErrors {
    let spec = &new["spec"];
    let identity = identity_error(new).filter(|_| old.is_none());
    let mut errors: FieldErrors = identity.into_iter().collect();
    errors.extend(group_error(text(&spec["group"])));
    errors.extend(scope_error(text(&spec["scope"])));
    errors.merge(name_errors(&spec["names"]));
    errors.extend(conversion_error(&spec["conversion"]));
    if spec["preserveUnknownFields"] == true {
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    if let Some(old) = old {
        errors.merge(change_errors(new, old));
    }
    errors
}

fn identity_error(new: &Value) -> Option<FieldError> {
    let spec = &new["spec"];
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    let name = text(&new["metadata"]["name"]);
    let detail = "must be spec.names.plural+\".\"+spec.group";
    (name != expected).then(|| FieldError::invalid("metadata.name", name, detail))
}

fn group_error(group: &str) -> Option<FieldError> {
    const FIELD: &str = "spec.group";
    let problems: Vec<String> = NameRule::Subdomain.problems(group).collect();
    match group {
        "" => Some(FieldError::required(FIELD, "")),
        _ if !problems.is_empty() => Some(FieldError::invalid(FIELD, group, problems.join(","))),
        _ if !group.contains('.') => {
            Some(FieldError::invalid(FIELD, group, "should be a domain with at least one dot"))
        }
        _ => None,
    }
}

fn scope_error(scope: &str) -> Option<FieldError> {
    match scope {
        "Cluster" | "Namespaced" => None,
        "" => Some(FieldError::required("spec.scope", "")),
        other => Some(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
}

fn name_errors(names: &Value) -> FieldErrors {
    let at = |name: &str| format!("spec.names.{name}");
    let mut errors = FieldErrors::default();
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&names[name]).is_empty() {
            errors.push(FieldError::required(at(name), ""));
        }
    }
    for name in ["plural", "singular"] {
        errors.extend(label_error(at(name), text(&names[name]), ""));
    }
    for name in ["kind", "listKind"] {
        let mixed = "may have mixed case, but should otherwise match: ";
        errors.extend(label_error(at(name), text(&names[name]), mixed));
    }
    for part in ["shortNames", "categories"] {
        let named = list(&names[part]).iter().enumerate();
        errors.extend(named.filter_map(|(index, name)| label_error(at(&format!("{part}[{index}]")), text(name), "")));
    }
    if names["kind"] == names["listKind"] && !text(&names["kind"]).is_empty() {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(at("listKind"), &names["listKind"], detail));
    }
    errors
}

/// A name that is no label. Kinds are looked at in lower case.
fn label_error(field: String, name: &str, prefix: &str) -> Option<FieldError> {
    let checked = if prefix.is_empty() { name.to_owned() } else { name.to_lowercase() };
    let problems: Vec<String> = NameRule::Label1035.problems(&checked).collect();
    let detail = || format!("{prefix}{}", problems.join(","));
    (!name.is_empty() && !problems.is_empty()).then(|| FieldError::invalid(field, name, detail()))
}

/// Only versions that differ in nothing but their name can be converted here.
fn conversion_error(conversion: &Value) -> Option<FieldError> {
    const FIELD: &str = "spec.conversion.strategy";
    match text(&conversion["strategy"]) {
        "" | "None" => None,
        "Webhook" => {
            let detail = "this server calls no conversion webhooks; the strategy must be None";
            Some(FieldError::forbidden(FIELD, detail))
        }
        other => Some(FieldError::not_supported(FIELD, other, &["None", "Webhook"])),
    }
}

/// What never changes, and what does not change once objects may be there.
fn change_errors(new: &Value, old: &Value) -> FieldErrors {
    let settled: &[&[&str]] = if is_established(old) { &[&["scope"], &["names", "kind"]] } else { &[] };
    let always: &[&[&str]] = &[&["group"], &["names", "plural"]];
    let at =
        |object: &Value, path: &[&str]| path.iter().fold(object["spec"].clone(), |value, name| value[name].clone());
    let changed = always.iter().chain(settled).filter(|path| at(new, path) != at(old, path));
    changed
        .map(|path| FieldError::invalid(format!("spec.{}", path.join(".")), at(new, path), "field is immutable"))
        .collect()
}

/// Kubernetes' own groups are not for everybody.
pub(super) fn approval_error(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    let group = text(&new["spec"]["group"]);
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval = |object: &Value| text(&object["metadata"]["annotations"][APPROVAL]).to_owned();
    let given = approval(new);
    let is_fine = given.starts_with("unapproved") || given.starts_with("https://") || given.starts_with("http://");
    if !is_protected || is_fine || old.is_some_and(|old| approval(old) == given) {
        return None;
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let wanted = format!("protected groups must have approval annotation {APPROVAL:?}");
    Some(match given.as_str() {
        "" => FieldError::required(field, format!("{wanted}, {POLICY}")),
        _ => {
            let detail = format!("{wanted} with either a URL or a reason starting with \"unapproved\", {POLICY}");
            FieldError::invalid(field, given, detail)
        }
    })
}
