//! What is left to do when a rollout is complete: MachineSets without machines go.

/// The counters of a MachineDeployment, summed over its MachineSets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub replicas: i32,
    pub available: i32,
    pub up_to_date: i32,
}

/// An old MachineSet that might go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupCandidate {
    pub spec_replicas: i32,
    pub replicas: i32,
    /// Its counters are those of its latest spec.
    pub is_observed: bool,
    pub deleting: bool,
}

/// Whether all wanted machines, and no others, are there, available and of the wanted template.
///
/// `is_observed` says that the counters are those of the latest spec of every MachineSet: without that a rollout that has
/// not begun reads as complete.
pub fn is_complete(wanted: i32, totals: Totals, is_observed: bool) -> bool {
    is_observed && [totals.replicas, totals.available, totals.up_to_date].iter().all(|&count| count == wanted)
}

/// Whether an old MachineSet of a complete rollout can be deleted.
pub fn drained(candidate: CleanupCandidate) -> bool {
    candidate.spec_replicas == 0 && candidate.replicas == 0 && candidate.is_observed && !candidate.deleting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_means_that_all_counters_agree() {
        let totals = |replicas, available, up_to_date| Totals { replicas, available, up_to_date };
        assert!(is_complete(3, totals(3, 3, 3), true));
        assert!(!is_complete(3, totals(3, 3, 3), false), "counters of an older spec say nothing");
        for short in [totals(4, 3, 3), totals(3, 2, 3), totals(3, 3, 2)] {
            assert!(!is_complete(3, short, true), "{short:?}");
        }
    }

    #[test]
    fn only_a_drained_machine_set_goes() {
        let empty = CleanupCandidate { spec_replicas: 0, replicas: 0, is_observed: true, deleting: false };
        assert!(drained(empty));
        assert!(!drained(CleanupCandidate { spec_replicas: 1, ..empty }));
        assert!(!drained(CleanupCandidate { replicas: 1, ..empty }));
        assert!(!drained(CleanupCandidate { is_observed: false, ..empty }));
        assert!(!drained(CleanupCandidate { deleting: true, ..empty }));
    }
}
