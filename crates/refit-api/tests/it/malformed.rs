//! Malformed input gives an error that names the field, and whatever does decode can be defaulted and judged.

mod admitted;
mod broken_rules;
mod fields;
mod noise;
mod wrong_types;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use refit_api::admission::Admission;
use refit_api::decode::{DecodeError, DecodeProblem};
use refit_api::resource::CustomKind;
use serde_json::Value;

/// What all kinds are, said once.
trait Kind: CustomKind + Admission + std::fmt::Debug + PartialEq {}

impl<K: CustomKind + Admission + std::fmt::Debug + PartialEq> Kind for K {}

/// Runs a property of a kind. The large kinds take longest to generate, and get by with fewer cases.
fn run<K: Kind, S: Strategy>(strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let kind = K::DEFINITION.kind;
    let cases = match kind {
        "Cluster" => 12,
        "KubeadmConfig" | "KubeadmConfigTemplate" | "KubeadmControlPlane" => 24,
        _ => 48,
    };
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..Default::default() });
    runner.run(strategy, property).unwrap_or_else(|error| panic!("{kind}: {error}"));
}

/// The schema of whole objects, in the version that the kind has.
fn root_schema<K: Kind>(crd: &Value) -> &Value {
    let versions = crd["spec"]["versions"].as_array().expect("a CRD must have versions");
    let version = versions.iter().find(|version| version["name"] == K::DEFINITION.version);
    &version.expect("a CRD must have the version of its kind")["schema"]["openAPIV3Schema"]
}

/// The field that an error is about, and what it says about it.
fn field_and_message(error: &DecodeError) -> (&str, &str) {
    match &error.problem {
        DecodeProblem::Invalid { path, message, .. } => (path, message),
        DecodeProblem::TooLarge { .. } | DecodeProblem::TooDeep => ("", ""),
    }
}
