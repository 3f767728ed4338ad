//! MachineRollout: what was decided about one change of the machines, why, and how far it is.
//!
//! Refit's own kind. It is written for people, one per rollout, and kept as history. Nothing is decided by reading it:
//! with all of them deleted, a rollout goes on.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cluster::ContractVersionedObjectReference;
use crate::policy::InPlacePolicy;
use crate::resource::{Column, Definition, resource};
use crate::schema;

pub const GROUP: &str = "refit.dev";
pub const VERSION: &str = "v1alpha1";

resource! {
    /// What was decided about one change of the machines of a MachineDeployment or a KubeadmControlPlane, why, and how far it is.
    MachineRollout in Namespaced {
        required { spec: MachineRolloutSpec }
        optional { status: MachineRolloutStatus }
    }
    Definition {
        group: GROUP,
        version: VERSION,
        plural: "machinerollouts",
        short_names: &["mro"],
        columns: &[
            Column::string("Kind", ".spec.targetRef.kind", "The kind of object that rolls out").wide(),
            Column::string("Target", ".spec.targetRef.name", "The object that rolls out"),
            Column::string("Policy", ".spec.policy", "Whether machines may be replaced").wide(),
            Column::string("Decision", ".status.decision", "What was decided"),
            Column::string("State", ".status.state", "Whether it moves"),
            Column::integer("Machines", ".status.progress.machines", "Machines that the rollout is about"),
            Column::integer("Updated", ".status.progress.updated", "Machines that are done"),
            Column::integer("Updating", ".status.progress.updating", "Machines that are being updated in place"),
            Column::integer("Waiting", ".status.progress.waiting", "Machines that wait for their turn"),
            Column::integer("Failed", ".status.progress.failed", "Machines whose update failed for good"),
            Column::age(),
            Column::string("Message", ".status.message", "Why it stands where it does, in one line"),
        ],
        ..Definition::BASE
    }
}

/// Which change of which machines a rollout is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineRolloutSpec {
    /// The MachineDeployment or KubeadmControlPlane that rolls out.
    pub target_ref: ContractVersionedObjectReference,
    /// What the machines are to become: the MachineSet that they move to, or the generation of the control plane.
    #[schemars(length(min = 1, max = 253))]
    pub revision: String,
    /// The number of the rollout, as in the annotation `machinedeployment.clusters.x-k8s.io/revision`. It tells a rollout
    /// from an earlier one to the same MachineSet: a change that is taken back is a rollout of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub number: Option<i64>,
    /// Whether machines may be replaced, as it was when the rollout began.
    pub policy: InPlacePolicy,
    /// Whether a surge machine goes last, so that the machines that were there first stay.
    pub keep_originals: bool,
}

/// What was decided, and how far the rollout is.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct MachineRolloutStatus {
    /// What was decided.
    pub decision: Option<RolloutDecision>,
    /// Why machines are replaced, or cannot be: what nobody covers and what the extensions said, or what the user asked for.
    #[schemars(length(min = 1, max = 1024))]
    pub reason: Option<String>,
    /// Whether it moves.
    pub state: Option<RolloutState>,
    /// Why it stands where it does, in one line.
    #[schemars(length(min = 1, max = 1024))]
    pub message: Option<String>,
    /// Every field that changes, and who covers it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 512), extend("x-kubernetes-list-type" = "atomic"))]
    pub changes: Vec<FieldChange>,
    /// The extensions that were asked, in the order in which they were asked and would run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub extensions: Vec<ExtensionAnswer>,
    /// A hash of what the extensions were asked about. A machine runs only the plan that was made for it.
    #[schemars(length(min = 1, max = 128))]
    pub plan_hash: Option<String>,
    /// How far it is.
    pub progress: Option<RolloutProgress>,
    /// Machines whose update does not get on, with the words of the extension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["machine"])
    )]
    pub failures: Vec<MachineFailure>,
    /// Machines that wait, and on what: first those whose update has begun, then those whose turn has not come. The first few
    /// of them; how many there are is in `progress`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 10),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["machine"])
    )]
    pub waiting: Vec<WaitingMachine>,
    /// How many Machines refit has deleted while the rollout went on.
    #[schemars(range(min = 0))]
    pub deleted: Option<i32>,
    /// The last of them, and why each goes. It is written before the Machine is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["machine"])
    )]
    pub deletions: Vec<MachineDeletion>,
    /// When the rollout began, which is before the first machine is touched.
    #[schemars(with = "Option<schema::Time>")]
    pub start_time: Option<Time>,
    /// When the last machine was done, or the rollout was overtaken by another change.
    #[schemars(with = "Option<schema::Time>")]
    pub completion_time: Option<Time>,
    /// The generation that this status is about.
    #[schemars(range(min = 1))]
    pub observed_generation: Option<i64>,
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
}

/// What is done with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutDecision {
    /// Every changed field is covered; the machines stay.
    InPlace,
    /// Machines are replaced, because the policy allows or wants it.
    Replace,
    /// Nothing is done, and nothing is touched: a field is not covered and the policy forbids replacing.
    Blocked,
}

/// Whether a rollout moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutState {
    /// It is not known yet whether extensions cover the change. Their answers lead out.
    Deciding,
    /// Machines change, as fast as the budget lets them.
    Progressing,
    /// Somebody has paused the MachineDeployment, its Cluster or the control plane.
    Paused,
    /// Machines change when a user deletes them.
    OnDelete,
    /// Nothing moves before somebody does something. The message says why.
    Blocked,
    /// All machines are as they should be.
    Completed,
    /// Another change came before the end.
    Overtaken,
}

/// A field that changes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Which of a machine's objects it is in.
    pub object: ChangedObject,
    /// The path of the field in that object.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// What it was. Only for short values that are no secret, such as versions.
    #[schemars(length(max = 256))]
    pub from: Option<String>,
    /// What it is to become. Only for short values that are no secret, such as versions.
    #[schemars(length(max = 256))]
    pub to: Option<String>,
    /// The extension that covers it; unset: nobody does.
    #[schemars(length(min = 1, max = 512))]
    pub covered_by: Option<String>,
}

/// The objects that make up a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ChangedObject {
    Machine,
    InfrastructureMachine,
    BootstrapConfig,
}

/// What an extension answered when it was asked about the change.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionAnswer {
    /// The handler that was asked, as `handler.extensionconfig`.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// How many of the changed fields it covers.
    #[schemars(range(min = 0))]
    pub covers: i32,
    /// Its own words.
    #[schemars(length(min = 1, max = 1024))]
    pub message: Option<String>,
}

/// How far a rollout is. Each machine counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutProgress {
    /// Machines that the rollout is about.
    #[schemars(range(min = 0))]
    pub machines: i32,
    /// Machines that are done.
    #[schemars(range(min = 0))]
    pub updated: i32,
    /// Machines that are being updated in place.
    #[schemars(range(min = 0))]
    pub updating: i32,
    /// Machines whose update failed for good.
    #[schemars(range(min = 0))]
    pub failed: i32,
    /// Machines that wait for their turn.
    #[schemars(range(min = 0))]
    pub waiting: i32,
}

/// A machine whose update does not get on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineFailure {
    /// The Machine.
    #[schemars(length(min = 1, max = 253))]
    pub machine: String,
    /// The extension that failed, by the name of its ExtensionConfig.
    #[schemars(length(min = 1, max = 253))]
    pub extension: Option<String>,
    /// How often it has failed.
    #[schemars(range(min = 0))]
    pub attempts: i32,
    /// What the extension said last.
    #[schemars(length(min = 1, max = 1024))]
    pub message: String,
    /// Since when the update has failed for good, or is under way.
    #[schemars(with = "schema::Time")]
    pub since: Time,
}

/// A Machine that refit deletes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeletion {
    /// The Machine.
    #[schemars(length(min = 1, max = 253))]
    pub machine: String,
    /// Why it goes.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
    /// When that was decided.
    #[schemars(with = "schema::Time")]
    pub time: Time,
}

/// A machine that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingMachine {
    /// The Machine.
    #[schemars(length(min = 1, max = 253))]
    pub machine: String,
    /// What it waits for.
    #[schemars(length(min = 1, max = 256))]
    pub on: String,
}
