//! Conditions that every kind has, and pieces of messages that several share.

use super::{NewCondition, Status};
use crate::vocabulary::{condition_types as types, reasons};

/// The message of what went wrong in a way that the user cannot know of.
pub(super) const SEE_LOGS: &str = "Please check controller logs for errors";
/// The message of whatever is over with a Machine that is going.
pub(super) const MACHINE_IS_DELETING: &str = "Machine is deleting";
/// The message of the last step of a deletion.
pub(super) const DELETION_COMPLETED: &str = "Deletion completed";

/// Who paused an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausedBy {
    /// `spec.paused` of its Cluster.
    Cluster,
    /// Its own annotation.
    Annotation,
    /// Both of them.
    ClusterAndAnnotation,
}

/// The object, of this kind, is left as it is.
pub fn paused(kind: &str, by: PausedBy) -> NewCondition {
    const CLUSTER: &str = "Cluster spec.paused is set to true";
    let annotation = format!("{kind} has the cluster.x-k8s.io/paused annotation");
    let message = match by {
        PausedBy::Cluster => CLUSTER.to_owned(),
        PausedBy::Annotation => annotation,
        PausedBy::ClusterAndAnnotation => format!("{CLUSTER}, {annotation}"),
    };
    NewCondition::new(types::PAUSED, Status::True, reasons::PAUSED).with_message(message)
}

/// The object is worked on.
pub fn not_paused() -> NewCondition {
    NewCondition::new(types::PAUSED, Status::False, reasons::NOT_PAUSED)
}

/// The object is not being deleted.
pub fn not_deleting() -> NewCondition {
    NewCondition::new(types::DELETING, Status::False, reasons::NOT_DELETING)
}

/// The object is being deleted, and this is where it is.
pub(super) fn deleting(reason: &'static str, message: impl Into<std::borrow::Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::DELETING, Status::True, reason).with_message(message)
}

/// The condition of this type could not be found out, and the logs say why.
pub fn internal_error(type_: &'static str) -> NewCondition {
    NewCondition::new(type_, Status::Unknown, reasons::INTERNAL_ERROR).with_message(SEE_LOGS)
}

/// The condition `type_` should show the condition `source` of another object, and that is not there yet.
pub fn not_yet_reported(type_: &'static str, source: &str) -> NewCondition {
    NewCondition::new(type_, Status::Unknown, reasons::NOT_YET_REPORTED)
        .with_message(format!("Condition {source} not yet reported"))
}

/// Names with commas between, and only the number of those after the first few.
pub(super) fn short_list(names: &[&str], max: usize) -> String {
    match names.get(max..) {
        None | Some([]) => names.join(", "),
        Some(rest) => format!("{}, ... ({} more)", names[..max].join(", "), rest.len()),
    }
}

/// A line with a bullet for each of these.
pub(super) fn bullets(lines: &[impl AsRef<str>]) -> String {
    lines.iter().map(|line| format!("* {}", line.as_ref())).collect::<Vec<_>>().join("\n")
}

/// When the workload cluster last answered, as a message.
pub(super) fn last_probe(last_success: Option<jiff::Timestamp>) -> String {
    last_success.map(|time| format!("Last successful probe at {}", rfc3339(time))).unwrap_or_default()
}

/// A time as it stands in messages: whole seconds, in UTC.
pub(super) fn rfc3339(time: jiff::Timestamp) -> String {
    super::value::whole_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_every_kind_read_as_upstreams() {
        check(&[
            (paused("Machine", PausedBy::Cluster), "Paused=True Paused: Cluster spec.paused is set to true"),
            (
                paused("ExtensionConfig", PausedBy::Annotation),
                "Paused=True Paused: ExtensionConfig has the cluster.x-k8s.io/paused annotation",
            ),
            (
                paused("Machine", PausedBy::ClusterAndAnnotation),
                "Paused=True Paused: Cluster spec.paused is set to true, \
                 Machine has the cluster.x-k8s.io/paused annotation",
            ),
            (not_paused(), "Paused=False NotPaused"),
            (not_deleting(), "Deleting=False NotDeleting"),
            (
                internal_error(types::SCALING_UP),
                "ScalingUp=Unknown InternalError: Please check controller logs for errors",
            ),
            (
                not_yet_reported(types::CONTROL_PLANE_AVAILABLE, types::AVAILABLE),
                "ControlPlaneAvailable=Unknown NotYetReported: Condition Available not yet reported",
            ),
        ]);
    }

    #[test]
    fn a_list_longer_than_the_limit_is_cut() {
        assert_eq!(short_list(&[], 3), "");
        assert_eq!(short_list(&["a", "b", "c"], 3), "a, b, c");
        assert_eq!(short_list(&["a", "b", "c", "d", "e"], 3), "a, b, c, ... (2 more)");
    }
}
