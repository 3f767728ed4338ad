//! Condition types that refit adds. They have a domain, as they stand among upstream's on upstream's kinds.

/// On MachineDeployments, KubeadmControlPlanes and MachineRollouts: machines are to change, and none will until
/// somebody does something. Bad when true.
pub const ROLLOUT_BLOCKED: &str = "refit.dev/RolloutBlocked";
/// On Machines: the update in place is given up; the machine counts against the budget. Bad when true.
pub const UPDATE_FAILED: &str = "refit.dev/UpdateFailed";
/// On MachineSets: no Machine is being created, moved or deleted, as its annotation `hold` asks. The message repeats the
/// value of the annotation. Absent otherwise.
pub const HELD: &str = "refit.dev/Held";
