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
/// On a MachineDeployment, or as its default on the Cluster, by users: how long the registered extensions must leave a change
/// uncovered before machines are replaced for it, under `Prefer`.
pub const REPLACE_AFTER: &str = "refit.dev/replace-after";
/// On a MachineDeployment, by users: the name of the MachineSet that it rolls out to. For this rollout, and for no other, machines
/// that are not updated in place are replaced at once, under `Prefer`.
pub const REPLACE: &str = "refit.dev/replace";
/// On an old MachineSet, and on a KubeadmControlPlane, by its controller: what was decided about its machines, for what, and
/// since when extensions say so.
pub const DECIDED: &str = "refit.dev/decided";
/// On an ExtensionConfig, by users: an integer; extensions are asked and run in ascending order of it, then of name.
pub const ORDER: &str = "refit.dev/order";
/// On a Machine, by its owner: the frozen plan of its update. The Machine controller removes each step that is done.
pub const UPDATE_PLAN: &str = "refit.dev/update-plan";
/// Marks a Machine that a rollout has made beyond those that the user wants. On the Machine itself, empty: its MachineSet
/// writes it in the request that creates the Machine, or its KubeadmControlPlane does; it goes when the Machine is one of those
/// wanted. On a MachineSet, by the MachineDeployment controller: the name of such a Machine, empty until it exists.
pub const SCAFFOLDING: &str = "refit.dev/scaffolding";
/// On a MachineSet, by the MachineDeployment controller: there are more Machines than the user wants, so what it creates gets
/// the mark [`SCAFFOLDING`].
pub const SURGE: &str = "refit.dev/surge";
/// On a MachineSet, by the MachineDeployment controller: how many Machines it may delete because the user wants fewer.
pub const SCALED_DOWN: &str = "refit.dev/scaled-down";
/// On a MachineSet, by the MachineDeployment controller: how many Machines it may delete because they are replaced.
pub const REPLACED: &str = "refit.dev/replaced";
/// On a MachineSet, by the MachineDeployment controller, with [`SCALED_DOWN`] or [`REPLACED`]: how many Machines without the mark
/// [`SCAFFOLDING`] are left when those are gone. So nothing is deleted twice for one permission.
pub const KEEP_AT_LEAST: &str = "refit.dev/keep-at-least";
/// On a MachineSet, by the MachineDeployment controller: no Machine is created, moved or deleted. The value is the version of
/// the MachineSet that was put on hold; the condition `Held` repeats it once nothing is under way.
pub const HOLD: &str = "refit.dev/hold";
/// On a Machine, by its MachineSet: the API server refuses what the Machine, its host or its bootstrap configuration would
/// become. To which MachineSet, since when, for good or not, and the server's words, as JSON.
pub const MOVE_REFUSED: &str = "refit.dev/move-refused";
/// On a Machine, by its controller: how often its update failed so far, and when it goes on, as JSON.
pub const UPDATE_PROGRESS: &str = "refit.dev/update-progress";
/// On a Machine, by its controller: its update is given up. The value is the plan that failed. Whoever takes it off asks
/// for another try.
pub const UPDATE_FAILED: &str = "refit.dev/update-failed";
/// On a MachineSet, by its controller: the names of Machines whose update to its template failed, also of those that are gone
/// since. Each uses up the budget of the rollout until the template changes or somebody takes the annotation off.
pub const FAILED_UPDATES: &str = "refit.dev/failed-updates";
