//! Conditions of MachineHealthChecks. What they say of a Machine is in [`machine::health`](super::machine::health).

use super::{NewCondition, Status};
use crate::vocabulary::{condition_types as types, reasons};

pub use super::{not_deleting, not_paused, paused};

const NOT_ALLOWED: &str = "Remediation is not allowed, the number of not started or unhealthy machines";

/// Few enough Machines are unhealthy to replace one.
pub fn remediation_allowed() -> NewCondition {
    NewCondition::new(types::REMEDIATION_ALLOWED, Status::True, reasons::REMEDIATION_ALLOWED)
}

/// More Machines are unhealthy than `max`, as the user wrote it.
pub fn too_many_unhealthy(total: usize, unhealthy: usize, max: &str) -> NewCondition {
    let counts = format!("(total: {total}, unhealthy: {unhealthy}, maxUnhealthy: {max})");
    not_allowed(format!("{NOT_ALLOWED} exceeds maxUnhealthy {counts}"))
}

/// The number of unhealthy Machines is not in the `range`, as the user wrote it.
pub fn unhealthy_out_of_range(total: usize, unhealthy: usize, range: &str) -> NewCondition {
    let counts = format!("(total: {total}, unhealthy: {unhealthy}, unhealthyRange: {range})");
    not_allowed(format!("{NOT_ALLOWED} does not fall within the range {counts}"))
}

fn not_allowed(message: String) -> NewCondition {
    NewCondition::new(types::REMEDIATION_ALLOWED, Status::False, reasons::TOO_MANY_UNHEALTHY).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_machine_health_checks_read_as_upstreams() {
        check(&[
            (remediation_allowed(), "RemediationAllowed=True RemediationAllowed"),
            (
                too_many_unhealthy(5, 3, "40%"),
                "RemediationAllowed=False TooManyUnhealthy: Remediation is not allowed, the number of not started or \
                 unhealthy machines exceeds maxUnhealthy (total: 5, unhealthy: 3, maxUnhealthy: 40%)",
            ),
            (
                unhealthy_out_of_range(5, 3, "[1-2]"),
                "RemediationAllowed=False TooManyUnhealthy: Remediation is not allowed, the number of not started or \
                 unhealthy machines does not fall within the range (total: 5, unhealthy: 3, unhealthyRange: [1-2])",
            ),
        ]);
    }
}
