//! Defaults and rules of ExtensionConfigs.

#[cfg(test)]
mod tests;

use http::Uri;
use http::uri::{PathAndQuery, Scheme};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use super::names::{dns_1035_label_problem, dns_label_problem};
use super::{Admission, FieldError, FieldPath, Verdict};
use crate::policy::validate_extension_annotations;
use crate::runtime::{ClientConfig, ExtensionConfig, ServiceReference};
use crate::selector::Selector;

/// The port of an extension's Service when the user does not say.
const SERVICE_PORT: i32 = 443;

impl Admission for ExtensionConfig {
    /// An extension is for all namespaces unless the user says otherwise.
    fn set_defaults(&mut self, _old: Option<&Self>) {
        self.spec.namespace_selector.get_or_insert_default();
        if let Some(service) = &mut self.spec.client_config.service {
            service.port.get_or_insert(SERVICE_PORT);
        }
    }

    fn validate(&self, old: Option<&Self>) -> Verdict {
        [
            validate_name(&self.name_any()),
            validate_client_config(&self.spec.client_config, &FieldPath::new("spec.clientConfig")),
            validate_namespace_selector(self.spec.namespace_selector.as_ref()),
            validate_extension_annotations(self.annotations(), old.map(ResourceExt::annotations)),
        ]
        .concat()
        .into()
    }
}

/// The name has no dot: it stands behind one in the names of handlers.
fn validate_name(name: &str) -> Vec<FieldError> {
    let path = FieldPath::new("metadata.name");
    dns_label_problem(name).map(|problem| path.invalid(name, problem)).into_iter().collect()
}

fn validate_client_config(config: &ClientConfig, path: &FieldPath) -> Vec<FieldError> {
    let count = match (&config.url, &config.service) {
        (None, None) => Some(path.required("one of url and service must be set")),
        (Some(_), Some(_)) => Some(path.forbidden("only one of url and service can be set")),
        (Some(_), None) | (None, Some(_)) => None,
    };
    let url = config.url.as_deref().filter(|url| !is_https(url));
    let url =
        url.map(|url| path.child("url").invalid(url, "must be a URL of the scheme https, such as https://example.com"));
    let service = config.service.iter().flat_map(|service| validate_service(service, &path.child("service")));
    count.into_iter().chain(url).chain(service).collect()
}

fn is_https(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|uri| uri.scheme() == Some(&Scheme::HTTPS))
}

fn validate_service(service: &ServiceReference, path: &FieldPath) -> Vec<FieldError> {
    let ServiceReference { name, namespace, path: url_path, port } = service;
    let name = dns_1035_label_problem(name).map(|problem| path.child("name").invalid(name, problem));
    let namespace = dns_label_problem(namespace).map(|problem| path.child("namespace").invalid(namespace, problem));
    let url_path = url_path.as_deref().filter(|url_path| !is_absolute_path(url_path));
    let url_path = url_path.map(|text| path.child("path").invalid(text, "must be the path of a URL and start with /"));
    let port = port.filter(|port| !(1..=65535).contains(port));
    let port = port.map(|port| path.child("port").invalid(port, "must be between 1 and 65535"));
    [name, namespace, url_path, port].into_iter().flatten().collect()
}

fn is_absolute_path(text: &str) -> bool {
    text.starts_with('/') && text.parse::<PathAndQuery>().is_ok()
}

fn validate_namespace_selector(selector: Option<&LabelSelector>) -> Vec<FieldError> {
    let path = FieldPath::new("spec.namespaceSelector");
    match Selector::from_field(selector) {
        Ok(Selector::Nothing) => vec![path.required("must be set; {} selects all namespaces")],
        Ok(Selector::All(_)) => Vec::new(),
        Err(error) => vec![path.invalid(selector, error.to_string())],
    }
}
