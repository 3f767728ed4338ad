//! The Kubernetes versions that machines run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::cluster::{Machine, StatusVersion};
use refit_api::version::sort_oldest_first;

/// The longest list that the CRDs take.
const MAX_VERSIONS: usize = 100;

/// How many machines run which version, oldest version first. A machine without a version is in none.
///
/// Between builds that have no order, the one of the machine that was created first comes first.
pub fn versions<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Vec<StatusVersion> {
    let mut versions = Versions::default();
    machines.into_iter().for_each(|machine| versions.add(machine));
    versions.into_status()
}

/// The same, one machine after another.
#[derive(Default)]
pub struct Versions<'a> {
    found: BTreeMap<&'a str, (Born<'a>, i32)>,
}

/// When a machine was created, and its name.
type Born<'a> = (Option<Timestamp>, &'a str);

impl<'a> Versions<'a> {
    pub fn add(&mut self, machine: &'a Machine) {
        let Some(version) = version_of(machine) else { return };
        let born = (machine.metadata.creation_timestamp.as_ref().map(|time| time.0), super::name(machine));
        let (first, count) = self.found.entry(version).or_insert((born, 0));
        *first = born.min(*first);
        *count += 1;
    }

    pub fn into_status(self) -> Vec<StatusVersion> {
        let mut by_birth: Vec<_> =
            self.found.into_iter().map(|(version, (born, count))| (born, version, count)).collect();
        by_birth.sort_unstable();
        let entry = |(_, version, count): (Born<'_>, &str, i32)| StatusVersion {
            version: version.to_owned(),
            replicas: Some(count),
        };
        let mut versions: Vec<StatusVersion> = by_birth.into_iter().map(entry).collect();
        sort_oldest_first(&mut versions, |entry| &entry.version);
        versions.truncate(MAX_VERSIONS);
        versions
    }
}

/// What the kubelet reports, or what is wanted as long as it reports nothing.
fn version_of(machine: &Machine) -> Option<&str> {
    let kubelet = machine.status.node_info.as_ref().map(|info| info.kubelet_version.as_str());
    kubelet.filter(|version| !version.is_empty()).or(machine.spec.version.as_deref()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::NodeSystemInfo;

    use super::*;
    use crate::testing::machine;

    fn with(name: &str, spec: &str, kubelet: Option<&str>) -> Machine {
        let mut machine = machine(name);
        machine.spec.version = Some(spec.to_owned());
        machine.status.node_info =
            kubelet.map(|version| NodeSystemInfo { kubelet_version: version.to_owned(), ..Default::default() });
        machine
    }

    #[test]
    fn the_kubelets_version_counts_where_it_is_known() {
        let machines = [
            with("a", "v1.32.0", Some("v1.31.0")),
            with("b", "v1.32.0", Some("v1.32.0")),
            with("c", "v1.32.0", None),
            with("d", "v1.32.0", Some("")),
            with("e", "", None),
        ];
        let found: Vec<(String, Option<i32>)> =
            versions(&machines).into_iter().map(|v| (v.version, v.replicas)).collect();
        assert_eq!(found, [("v1.31.0".to_owned(), Some(1)), ("v1.32.0".to_owned(), Some(3))]);
    }

    #[test]
    fn nonsense_is_listed_last_and_no_list_is_too_long() {
        let many: Vec<Machine> = (0..150).map(|i| with("m", &format!("v1.{i}.0"), None)).collect();
        assert_eq!(versions(&many).len(), MAX_VERSIONS);
        let odd = [with("a", "latest", None), with("b", "v1.1.0", None)];
        assert_eq!(versions(&odd).last().map(|entry| entry.version.as_str()), Some("latest"));
    }
}
