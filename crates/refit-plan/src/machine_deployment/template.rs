//! Whether machines of one template are those of another.

use refit_api::cluster::{Bootstrap, ContractVersionedObjectReference, MachineSpec, MachineTemplateSpec};

/// What differs between the template of a MachineSet and the wanted one. Empty: they are the same to a rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateDifference {
    /// By field, for logs and for the reason of a new MachineSet.
    pub fields: Vec<String>,
    /// In upstream's words, for the `UpToDate` condition of machines.
    pub condition_messages: Vec<String>,
}

impl TemplateDifference {
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn add(&mut self, field: String, condition_message: String) {
        self.fields.push(field);
        self.condition_messages.push(condition_message);
    }
}

/// Compares what makes a rollout: version, bootstrap, infrastructure and failure domain.
///
/// Everything else reaches machines without one. Templates of providers are compared by name, not by content.
pub fn compare_templates(current: &MachineTemplateSpec, desired: &MachineTemplateSpec) -> TemplateDifference {
    let (current, desired) = (&current.spec, &desired.spec);
    let mut difference = TemplateDifference::default();
    compare_version(&mut difference, current, desired);
    compare_bootstrap(&mut difference, &current.bootstrap, &desired.bootstrap);
    compare_infrastructure(&mut difference, &current.infrastructure_ref, &desired.infrastructure_ref);
    compare_failure_domain(&mut difference, current, desired);
    difference
}

fn compare_version(difference: &mut TemplateDifference, current: &MachineSpec, desired: &MachineSpec) {
    let (from, to) = (text(current.version.as_ref()), text(desired.version.as_ref()));
    if from != to {
        difference.add(format!("spec.version {from}, {to} required"), format!("Version {from}, {to} required"));
    }
}

fn compare_bootstrap(difference: &mut TemplateDifference, current: &Bootstrap, desired: &Bootstrap) {
    if current == desired {
        return;
    }
    if let Some(from) = &current.config_ref {
        let to = desired.config_ref.as_ref().map_or_else(|| "none".to_owned(), reference);
        let field = format!("spec.bootstrap.configRef {}, {to} required", reference(from));
        difference.add(field, not_up_to_date(&from.kind));
        return;
    }
    let secret = |bootstrap: &Bootstrap| bootstrap.data_secret_name.clone().unwrap_or_else(|| "nil".to_owned());
    let message = format!("spec.bootstrap.dataSecretName {}, {} required", secret(current), secret(desired));
    difference.add(message.clone(), message);
}

fn compare_infrastructure(
    difference: &mut TemplateDifference,
    current: &ContractVersionedObjectReference,
    desired: &ContractVersionedObjectReference,
) {
    if current != desired {
        let field = format!("spec.infrastructureRef {}, {} required", reference(current), reference(desired));
        difference.add(field, not_up_to_date(&current.kind));
    }
}

fn compare_failure_domain(difference: &mut TemplateDifference, current: &MachineSpec, desired: &MachineSpec) {
    let (from, to) = (text(current.failure_domain.as_ref()), text(desired.failure_domain.as_ref()));
    if from != to {
        let message = format!("Failure domain {from}, {to} required");
        difference.add(format!("spec.failureDomain {from}, {to} required"), message);
    }
}

fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

fn reference(to: &ContractVersionedObjectReference) -> String {
    format!("{} {}", to.kind, to.name)
}

/// The machine's object is made from the template, and is called like it without the suffix.
fn not_up_to_date(kind: &str) -> String {
    format!("{} is not up-to-date", kind.strip_suffix("Template").unwrap_or(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(change: impl FnOnce(&mut MachineTemplateSpec)) -> MachineTemplateSpec {
        let named = |kind: &str, name: &str| ContractVersionedObjectReference {
            api_group: "example.io".to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        let mut template = MachineTemplateSpec::default();
        template.spec.version = Some("v1.31.0".to_owned());
        template.spec.bootstrap.config_ref = Some(named("KubeadmConfigTemplate", "boot"));
        template.spec.infrastructure_ref = named("HostTemplate", "host");
        template.spec.failure_domain = Some("a".to_owned());
        change(&mut template);
        template
    }

    fn check(change: impl FnOnce(&mut MachineTemplateSpec), messages: &[&str]) {
        let difference = compare_templates(&template(|_| ()), &template(change));
        assert_eq!(difference.condition_messages, messages);
        assert_eq!(difference.fields.len(), messages.len());
    }

    #[test]
    fn four_fields_make_a_rollout() {
        check(|t| t.spec.version = Some("v1.32.0".to_owned()), &["Version v1.31.0, v1.32.0 required"]);
        check(|t| t.spec.version = None, &["Version v1.31.0,  required"]);
        check(|t| t.spec.bootstrap.config_ref = None, &["KubeadmConfig is not up-to-date"]);
        check(|t| t.spec.bootstrap.data_secret_name = Some("s".to_owned()), &["KubeadmConfig is not up-to-date"]);
        check(|t| t.spec.infrastructure_ref.name = "other".to_owned(), &["Host is not up-to-date"]);
        check(|t| t.spec.failure_domain = Some("b".to_owned()), &["Failure domain a, b required"]);
    }

    #[test]
    fn what_is_propagated_in_place_makes_none() {
        let change = |t: &mut MachineTemplateSpec| {
            t.metadata.labels.insert("a".to_owned(), "b".to_owned());
            t.spec.min_ready_seconds = Some(5);
            t.spec.deletion.node_drain_timeout_seconds = Some(5);
        };
        check(change, &[]);
    }

    #[test]
    fn a_missing_secret_is_printed_as_upstream_prints_it() {
        let current = template(|t| t.spec.bootstrap = Bootstrap::default());
        let secret = Bootstrap { config_ref: None, data_secret_name: Some("s".to_owned()) };
        let desired = template(|t| t.spec.bootstrap = secret);
        let found = compare_templates(&current, &desired).condition_messages;
        assert_eq!(found, ["spec.bootstrap.dataSecretName nil, s required"]);
    }
}
