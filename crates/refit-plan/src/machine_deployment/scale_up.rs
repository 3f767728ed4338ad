//! Step B: the number of machines of the new MachineSet.

use super::Strategy;
use super::rollout::Rollout;

/// Grows the new MachineSet as far as surge allows, or cuts it down to what the user wants.
///
/// Cutting down looks at nothing else: as upstream's, it can cost availability.
pub fn new_machine_set(rollout: &mut Rollout<'_>) {
    let (wanted, spec) = (rollout.wanted(), rollout.new.spec);
    if spec > wanted {
        rollout.new.scale_to(wanted, format!("{wanted} replicas are wanted"));
        return;
    }
    let total = rollout.sum(|set| set.target().max(set.replicas));
    let room = match rollout.deployment.strategy {
        Strategy::RollingUpdate(_) | Strategy::WithFallback { .. } => {
            (wanted + rollout.max_surge() - total).min(rollout.goal() - spec)
        }
        Strategy::OnDelete => wanted - total,
    };
    if room > 0 {
        let limit = wanted + rollout.max_surge();
        rollout.new.scale_to(spec + room, format!("{total} of at most {limit} machines are there"));
    }
}
