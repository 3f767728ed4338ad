//! Which version of a provider's kind to talk to, and under which address.

use kube::core::ApiResource;
use refit_api::cluster::ContractVersionedObjectReference;
use refit_api::contract::{self, ContractError, ContractVersion};

use super::{Cache, ObjectKey};

/// A kind of a provider, and the contract that it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderKind {
    pub resource: ApiResource,
    pub contract: ContractVersion,
}

/// The address of a kind. Its plural follows from its name, as the contract demands; nobody is asked.
pub fn api_resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let crd = contract::crd_name(group, kind);
    let plural = crd.split('.').next().unwrap_or_default().to_owned();
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural,
    }
}

impl Cache {
    /// The kind that a reference means, by the labels of its CRD.
    pub fn provider_kind(&self, reference: &ContractVersionedObjectReference) -> Result<ProviderKind, ContractError> {
        let crd = contract::crd_name(&reference.api_group, &reference.kind);
        let Some(definition) = self.definitions.get(&ObjectKey::new("", crd.clone())) else {
            return Err(ContractError::NoCrd { crd, kind: reference.kind.clone() });
        };
        let labels = definition.metadata.labels.clone().unwrap_or_default();
        let resolved = contract::resolve(&crd, &labels)?;
        let api_version = format!("{}/{}", reference.api_group, resolved.version);
        Ok(ProviderKind { resource: api_resource(&api_version, &reference.kind), contract: resolved.contract })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_from_the_kind() {
        for (api_version, kind, expected) in [
            ("v1", "Node", ("", "v1", "nodes")),
            ("cluster.x-k8s.io/v1beta2", "Machine", ("cluster.x-k8s.io", "v1beta2", "machines")),
            ("a.b.io/v1", "Switch", ("a.b.io", "v1", "switches")),
        ] {
            let resource = api_resource(api_version, kind);
            assert_eq!((resource.group.as_str(), resource.version.as_str(), resource.plural.as_str()), expected);
        }
    }
}
