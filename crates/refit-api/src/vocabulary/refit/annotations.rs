//! Annotations that refit adds.

/// On a MachineDeployment or KubeadmControlPlane, or as their default on the Cluster, by users: `Prefer` updates in
/// place where every change is covered and replaces otherwise, `Require` never replaces, `Never` always does.
pub const IN_PLACE: &str = "refit.dev/in-place";
/// Where [`IN_PLACE`] is, by users: `true` makes a surge machine go last, `false` is upstream's sequence.
pub const KEEP_ORIGINALS: &str = "refit.dev/keep-originals";
/// Where [`IN_PLACE`] is, by users: how long an update may take before it has failed for good.
pub const UPDATE_TIMEOUT: &str = "refit.dev/update-timeout";
/// Where [`IN_PLACE`] is, by users: how often an update is tried again before it has failed for good.
pub const UPDATE_RETRIES: &str = "refit.dev/update-retries";
/// On an ExtensionConfig, by users: an integer; extensions are asked and run in ascending order of it, then of name.
pub const ORDER: &str = "refit.dev/order";
/// On a Machine, by its owner: the frozen plan of its update. The Machine controller removes each step that is done.
pub const UPDATE_PLAN: &str = "refit.dev/update-plan";
/// Marks a surge Machine that is there only until the others are updated. On a MachineSet, by the MachineDeployment
/// controller: the name of that Machine, empty until it exists. On the Machine itself, by a KubeadmControlPlane: empty.
pub const SCAFFOLDING: &str = "refit.dev/scaffolding";
/// On a MachineSet, by the MachineDeployment controller: no Machine is created, moved or deleted. The value is the version of
/// the MachineSet that was put on hold; the condition `Held` repeats it once nothing is under way.
pub const HOLD: &str = "refit.dev/hold";
/// On a Machine, by its controller: how often its update failed so far, and when it goes on, as JSON.
pub const UPDATE_PROGRESS: &str = "refit.dev/update-progress";
/// On a Machine, by its controller: its update is given up. The value is the plan that failed. Whoever takes it off asks
/// for another try.
pub const UPDATE_FAILED: &str = "refit.dev/update-failed";
