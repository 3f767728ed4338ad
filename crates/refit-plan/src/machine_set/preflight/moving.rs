//! What must be so before a machine moves to a MachineSet of another version.

use refit_api::contract::ContractField;
use refit_api::version::{KubeletSkew, KubernetesVersion};

use super::{ALL, Checks, KUBERNETES_SKEW, Preflight, Problem, STABLE, reported_versions, text, verdict};

/// Makes the checks for machines that would get the version of `checks.set`, the MachineSet that they move to.
///
/// A machine that is updated in place is in the cluster already and does not join it, so that only one rule is left: a
/// kubelet must not be newer than any API server. Of upstream's checks that is
///
/// - `KubernetesVersionSkew`, where the new version is too new. One that is too old is no reason to stay with one that
///   is older;
/// - `ControlPlaneIsStable`, as long as a machine of the control plane runs a version that the new one must not precede,
///   or none runs yet. An upgrade that is behind that, or only planned, is in nobody's way.
///
/// `KubeadmVersionSkew` and `ControlPlaneVersionSkew` are about joining. A move that leaves the version as it is is not
/// checked: the caller knows.
pub fn preflight_move(checks: Checks<'_>) -> Preflight {
    verdict(checks.move_problems())
}

impl Checks<'_> {
    fn move_problems(&self) -> Result<Vec<String>, Problem> {
        let skipped = self.skipped();
        let ours = self.set.spec.template.spec.version.as_deref().filter(|version| !version.is_empty());
        let (Some(control_plane), Some(ours), false) = (self.control_plane, ours, skipped.contains(ALL)) else {
            return Ok(Vec::new());
        };
        let control_plane = control_plane.found(|| self.control_plane_name())?;
        let Some(wanted) = text(control_plane, ContractField::ControlPlaneVersion)? else { return Ok(Vec::new()) };
        let (ours, wanted) = (KubernetesVersion::parse_tolerant(ours)?, KubernetesVersion::parse_tolerant(wanted)?);
        let skew = is_too_new(&ours, &wanted)
            .then(|| format!("MachineSet version ({ours}) is higher than ControlPlane version ({wanted})"));
        let unstable = self.is_behind(&ours, &reported_versions(control_plane)?)?;
        let told = |(check, problem): (&str, Option<String>)| {
            let words = problem.filter(|_| !skipped.contains(check))?;
            Some(format!("{words} ({check:?} preflight check failed)"))
        };
        Ok([(STABLE, unstable), (KUBERNETES_SKEW, skew)].into_iter().filter_map(told).collect())
    }

    /// Why the machines of the control plane are not ready for kubelets of this version.
    fn is_behind(&self, ours: &KubernetesVersion, reported: &[&str]) -> Result<Option<String>, Problem> {
        let name = self.control_plane_name();
        if reported.is_empty() {
            return Ok(Some(format!("{name} is provisioning")));
        }
        for version in reported {
            let version = KubernetesVersion::parse_tolerant(version)?;
            if is_too_new(ours, &version) {
                return Ok(Some(format!("{name} still runs {version}, and MachineSet version ({ours}) is higher")));
            }
        }
        Ok(None)
    }
}

fn is_too_new(ours: &KubernetesVersion, control_plane: &KubernetesVersion) -> bool {
    ours.kubelet_skew(control_plane) == KubeletSkew::TooNew
}
