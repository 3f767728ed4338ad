//! The contract between Cluster API and its providers: which version of a provider's API to use, and where in an
//! object to find what.
//!
//! References name a group and a kind, no version. The version follows from labels on the kind's CRD.

mod field;
mod plural;

use std::collections::BTreeMap;

pub use field::{ContractField, FieldTypeError, conditions_of, get_bool, get_i64, get_list, get_object, get_str};

use crate::version::compare_api_versions;
use crate::vocabulary::labels;

/// A version of the contract. Providers of the older one are still served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractVersion {
    V1Beta2,
    V1Beta1,
}

impl ContractVersion {
    const NEWEST_FIRST: [Self; 2] = [Self::V1Beta2, Self::V1Beta1];

    /// The label of a CRD that lists the API versions which fulfil this version of the contract.
    pub fn label(self) -> &'static str {
        match self {
            Self::V1Beta2 => labels::CONTRACT_V1BETA2,
            Self::V1Beta1 => labels::CONTRACT_V1BETA1,
        }
    }
}

/// How to talk to a kind of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub contract: ContractVersion,
    /// The version of the kind's API to read and write, such as `v1beta2`; without the group.
    pub version: String,
}

/// Why a provider's kind cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// Kept apart from "not found" of an API request, which always means that the referenced object is missing.
    #[error("there is no CRD {crd} for kind {kind}; install its provider, or give the CRD this name")]
    NoCrd { crd: String, kind: String },
    #[error(
        "CRD {crd} does not say which of its versions fulfil the contract; set its label {} or {} to them, joined by \"_\"",
        ContractVersion::V1Beta2.label(),
        ContractVersion::V1Beta1.label()
    )]
    NoLabels { crd: String },
}

/// The name that the CRD of a kind must have.
pub fn crd_name(group: &str, kind: &str) -> String {
    format!("{}.{group}", plural::of(&kind.to_lowercase()))
}

/// Chooses contract and version from the labels of the CRD named `crd`: the newest contract that it has a version
/// for, and the highest version for that.
pub fn resolve(crd: &str, labels: &BTreeMap<String, String>) -> Result<Resolved, ContractError> {
    let resolve_for = |contract: ContractVersion| {
        let versions = labels.get(contract.label())?.split('_').filter(|version| !version.is_empty());
        let version = versions.max_by(|a, b| compare_api_versions(a, b))?.to_owned();
        Some(Resolved { contract, version })
    };
    ContractVersion::NEWEST_FIRST
        .into_iter()
        .find_map(resolve_for)
        .ok_or_else(|| ContractError::NoLabels { crd: crd.to_owned() })
}

/// The kind of the objects that are made from templates of `template_kind`.
pub fn kind_from_template(template_kind: &str) -> &str {
    template_kind.strip_suffix("Template").unwrap_or(template_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(labels: &[(&str, &str)], expected: Option<(ContractVersion, &str)>) {
        let map = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let resolved = resolve("xs.y.io", &map).ok();
        let resolved = resolved.as_ref().map(|resolved| (resolved.contract, resolved.version.as_str()));
        assert_eq!(resolved, expected, "{labels:?}");
    }

    #[test]
    fn the_newest_contract_wins_and_then_the_highest_version() {
        use ContractVersion::{V1Beta1, V1Beta2};
        const NEW: &str = "cluster.x-k8s.io/v1beta2";
        const OLD: &str = "cluster.x-k8s.io/v1beta1";
        check(&[(NEW, "v1beta1")], Some((V1Beta2, "v1beta1")));
        check(&[(NEW, "v1beta1_v1beta2")], Some((V1Beta2, "v1beta2")));
        check(&[(NEW, "v1_v1beta10_v2alpha1")], Some((V1Beta2, "v1")));
        check(&[(OLD, "v1"), (NEW, "v1alpha1")], Some((V1Beta2, "v1alpha1")));
        check(&[(OLD, "v1beta1")], Some((V1Beta1, "v1beta1")));
        check(&[(OLD, "v1beta1"), (NEW, "")], Some((V1Beta1, "v1beta1")));
        check(&[(OLD, "v1beta1"), (NEW, "_")], Some((V1Beta1, "v1beta1")));
        check(&[(NEW, "v1beta1_")], Some((V1Beta2, "v1beta1")));
        check(&[("cluster.x-k8s.io/v1alpha4", "v1alpha4")], None);
        check(&[], None);
    }

    #[test]
    fn missing_labels_say_what_to_do() {
        let error = resolve("awsmachines.infrastructure.cluster.x-k8s.io", &BTreeMap::new());
        assert_eq!(
            error.expect_err("must fail").to_string(),
            "CRD awsmachines.infrastructure.cluster.x-k8s.io does not say which of its versions fulfil the contract; \
             set its label cluster.x-k8s.io/v1beta2 or cluster.x-k8s.io/v1beta1 to them, joined by \"_\""
        );
    }

    #[test]
    fn names_follow_from_group_and_kind() {
        let group = "infrastructure.cluster.x-k8s.io";
        assert_eq!(crd_name(group, "AWSMachineTemplate"), format!("awsmachinetemplates.{group}"));
        assert_eq!(kind_from_template("AWSMachineTemplate"), "AWSMachine");
        assert_eq!(kind_from_template("AWSMachine"), "AWSMachine");
    }
}
