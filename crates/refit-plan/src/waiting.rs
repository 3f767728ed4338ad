//! Why nothing more is done at the moment, as a value. Its words are the same in conditions, events and on the command
//! line, because they are made here.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::conditions::{NewCondition, get, refit};
use refit_api::vocabulary::refit::annotations::FAILED_UPDATES;
use refit_api::vocabulary::refit::events::ROLLOUT_BLOCKED;

use crate::coverage::{MAX_WORDS, shortened};
use crate::effect::{Event, Target};

/// How many names a message lists before it counts the rest.
const NAMES_SHOWN: usize = 3;
/// How many machines are looked at for words of their own.
const MACHINES_ASKED: usize = 10;

/// Why a decision stops where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingOn {
    /// The object, or its Cluster, is paused.
    Paused,
    /// A change that no extension covers, under a policy that forbids replacing. Somebody must do something.
    Uncovered { paths: Vec<String>, answers: Vec<Answer> },
    /// An extension has not given an answer yet. Nothing is replaced meanwhile.
    Undecided { answers: Vec<Answer> },
    /// The machines of this MachineSet must not be replaced, and they cannot be updated in place. Somebody must do
    /// something.
    MustStay { machine_set: String, why: String },
    /// The API server refuses what these machines would become. They stay as they are. Somebody must do something.
    ChangeRefused { machines: Vec<String>, why: String },
    /// Nobody knows yet whether the machines of this MachineSet can be updated in place. They are left alone.
    CoverageUnknown { machine_set: String, why: String },
    /// The machines of this MachineSet were decided to be updated in place, and now no extension covers the change. They are not
    /// replaced by themselves. Somebody must do something.
    Withdrawn { machine_set: String, why: String },
    /// No more machines may become unavailable.
    Availability { available: i64, minimum: i64 },
    /// What is asked for makes no sense, so nothing is changed. Somebody must do something.
    InvalidSpec { what: String },
    /// These MachineSets may still carry out orders that are to be taken back.
    Standstill { machine_sets: Vec<String> },
    /// The user deletes machines of these MachineSets.
    OnDelete { machine_sets: Vec<String> },
    /// As many machines as may be are unavailable.
    Budget { unavailable: Vec<String>, limit: i32 },
    /// Machines must be healthy before others are touched.
    Unhealthy { machines: Vec<String> },
    /// Machines whose update failed for good use up the budget. Somebody must do something.
    FailedUpdates { machines: Vec<String> },
    /// Machines whose update failed and that are gone since, on record on this MachineSet, use up the budget. Somebody must do
    /// something.
    FailuresOnRecord { machine_set: String, machines: Vec<String> },
    /// The update of these machines waits for an extension that is not registered any more. Somebody must do something.
    ExtensionGone { machines: Vec<String>, extension: String, fields: Vec<String> },
    /// Templates that machines are to be made from, and that do not exist. Somebody must do something.
    TemplateMissing { templates: Vec<String> },
    /// It cannot be decided how machines change, as an extension has not answered for a while. Somebody must do something.
    NotAnswering { why: String },
    /// Machines that changed their owner and are not yet counted there.
    Acknowledgement { machines: Vec<String> },
    /// Machines that are being updated in place.
    Updates { machines: Vec<String> },
    /// Machines that are being deleted.
    Deletions { machines: Vec<String> },
    /// Machines that are being created, or have no Node yet.
    Provisioning { machines: Vec<String> },
    /// The API server refuses what has to be written, and will until somebody changes something.
    Refused { what: String },
    /// Something must be so before machines are made or taken away.
    Preflight { problems: Vec<String> },
    /// There are more machines than wanted, and nothing says which of them may go. Somebody must do something.
    Surplus { machines: i64, wanted: i32 },
    /// Somebody else's turn: a controller or a user has to do what the words say.
    Other { what: String },
}

/// What an extension said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The handler, as `handler.extensionconfig`.
    pub extension: String,
    /// Its own words, or why there are none.
    pub words: String,
}

impl WaitingOn {
    /// The machines that are waited for, in their order.
    pub fn machines(&self) -> &[String] {
        match self {
            Self::Budget { unavailable: machines, .. }
            | Self::Unhealthy { machines }
            | Self::FailedUpdates { machines }
            | Self::Acknowledgement { machines }
            | Self::Updates { machines }
            | Self::Deletions { machines }
            | Self::Provisioning { machines } => machines,
            // They are gone.
            Self::FailuresOnRecord { .. }
            // The reason says all that they would.
            | Self::ExtensionGone { .. }
            | Self::TemplateMissing { .. }
            | Self::NotAnswering { .. }
            | Self::Paused
            | Self::Uncovered { .. }
            | Self::Undecided { .. }
            | Self::MustStay { .. }
            | Self::ChangeRefused { .. }
            | Self::Withdrawn { .. }
            | Self::CoverageUnknown { .. }
            | Self::Availability { .. }
            | Self::InvalidSpec { .. }
            | Self::Standstill { .. }
            | Self::OnDelete { .. }
            | Self::Refused { .. }
            | Self::Surplus { .. }
            | Self::Preflight { .. }
            | Self::Other { .. } => &[],
        }
    }

    /// Whether nothing moves until a person does something.
    pub fn is_blocked(&self) -> bool {
        match self {
            Self::Uncovered { .. }
            | Self::MustStay { .. }
            | Self::ChangeRefused { .. }
            | Self::Withdrawn { .. }
            | Self::InvalidSpec { .. }
            | Self::FailedUpdates { .. }
            | Self::Refused { .. }
            | Self::FailuresOnRecord { .. }
            | Self::ExtensionGone { .. }
            | Self::TemplateMissing { .. }
            | Self::NotAnswering { .. }
            | Self::Surplus { .. } => true,
            Self::Paused
            | Self::Undecided { .. }
            | Self::CoverageUnknown { .. }
            | Self::Availability { .. }
            | Self::Standstill { .. }
            | Self::OnDelete { .. }
            | Self::Budget { .. }
            | Self::Unhealthy { .. }
            | Self::Acknowledgement { .. }
            | Self::Updates { .. }
            | Self::Deletions { .. }
            | Self::Provisioning { .. }
            | Self::Preflight { .. }
            | Self::Other { .. } => false,
        }
    }
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused => f.write_str("paused"),
            Self::Uncovered { paths, answers } => {
                write!(f, "no extension covers {}{}", listed(paths), said(answers))
            }
            Self::Undecided { answers } => write!(f, "waiting for an answer{}", said(answers)),
            Self::MustStay { machine_set, why } => {
                write!(f, "{machine_set} cannot be updated in place and must not be replaced: {why}; ")?;
                f.write_str("take the change back, or allow another policy by refit.dev/in-place")
            }
            Self::ChangeRefused { machines: names, why } => {
                let machines = machines(names);
                write!(f, "{machines} cannot be changed in place: {why}; change the template, or delete the machine")
            }
            Self::CoverageUnknown { machine_set, why } => {
                write!(f, "it is not known yet whether {machine_set} can be updated in place: {why}")
            }
            Self::Withdrawn { machine_set, why } => {
                write!(f, "{machine_set} was to be updated in place and is not replaced by itself: {why}")
            }
            Self::Availability { available, minimum } => {
                write!(f, "no more machines may be unavailable: {available} available, {minimum} required")
            }
            Self::Standstill { machine_sets } => {
                write!(f, "waiting for {} to stand still, as what is wanted has changed", listed(machine_sets))
            }
            Self::OnDelete { machine_sets } => {
                write!(f, "machines of {} change when they are deleted", listed(machine_sets))
            }
            Self::Budget { unavailable, limit } => {
                let machines = machines(unavailable);
                write!(f, "waiting for {machines} to become available: at most {limit} may be unavailable")
            }
            Self::Unhealthy { machines: names } => write!(f, "waiting for {} to become healthy", machines(names)),
            Self::FailedUpdates { machines: names } => {
                write!(f, "the update of {} failed for good and uses up the budget", machines(names))
            }
            Self::FailuresOnRecord { machine_set, machines: names } => write!(
                f,
                "the update of {} failed, and no other begins: change the template, or take the annotation \
                 {FAILED_UPDATES} off MachineSet {machine_set} to go on",
                machines(names)
            ),
            Self::ExtensionGone { machines: names, extension, fields } => {
                let machines = machines(names);
                write!(
                    f,
                    "the update of {machines} waits for extension {extension}, which is not registered any more: "
                )?;
                f.write_str("register it again under this name")?;
                match fields.as_slice() {
                    [] => Ok(()),
                    fields => write!(
                        f,
                        ", or change the template, forward or back, so that another extension changes {}",
                        listed(fields)
                    ),
                }
            }
            Self::TemplateMissing { templates } => {
                let (do_not, them) = if templates.len() == 1 { ("does not", "it") } else { ("do not", "them") };
                let templates = listed(templates);
                write!(f, "{templates} {do_not} exist: create {them}, or name others in spec.template")
            }
            Self::NotAnswering { why } => {
                write!(f, "{why}; mend the extension, its URL or its certificate, or delete its ExtensionConfig")
            }
            Self::Acknowledgement { machines: names } => {
                write!(f, "waiting for {} to be counted by the new owner", machines(names))
            }
            Self::Updates { machines: names } => write!(f, "waiting for the update of {}", machines(names)),
            Self::Deletions { machines: names } => write!(f, "waiting for the deletion of {}", machines(names)),
            Self::Provisioning { machines: names } => write!(f, "waiting for {} to get a node", machines(names)),
            Self::Surplus { machines, wanted } => write!(
                f,
                "there are {machines} machines and {wanted} are wanted, and nothing says which of them may go: delete \
                 those that you can do without, or set spec.replicas to {machines}"
            ),
            Self::Preflight { problems } => f.write_str(&problems.join("; ")),
            Self::InvalidSpec { what } | Self::Refused { what } | Self::Other { what } => f.write_str(what),
        }
    }
}

/// The condition that says whether somebody must do something before a rollout goes on, and what it waits for. `words` says of
/// a machine what keeps it, if that is known.
pub fn blocked(waiting_on: &[WaitingOn], words: impl Fn(&str) -> Option<String>) -> NewCondition {
    let is_blocked = waiting_on.iter().any(WaitingOn::is_blocked);
    let mut told: Vec<&WaitingOn> = waiting_on.iter().filter(|reason| reason.is_blocked() == is_blocked).collect();
    // Updates have begun that wait for it. What is in the way of other machines may be over when it is back.
    told.sort_by_key(|reason| !matches!(reason, WaitingOn::ExtensionGone { .. }));
    let message = shortened(once_each(told.iter().map(|reason| with_words(reason, &words))), MAX_WORDS);
    match told.first() {
        None => refit::rollout_not_blocked(),
        Some(_) if !is_blocked => refit::rollout_waiting(message),
        Some(WaitingOn::FailedUpdates { .. } | WaitingOn::FailuresOnRecord { .. }) => refit::updates_failed(message),
        Some(WaitingOn::InvalidSpec { .. }) => refit::invalid_spec(message),
        Some(WaitingOn::Refused { .. }) => refit::write_refused(message),
        Some(WaitingOn::Surplus { .. }) => refit::too_many_machines(message),
        Some(WaitingOn::ChangeRefused { .. }) => refit::change_refused(message),
        Some(WaitingOn::ExtensionGone { .. }) => refit::extension_gone(message),
        Some(WaitingOn::TemplateMissing { .. }) => refit::template_missing(message),
        Some(WaitingOn::NotAnswering { .. }) => refit::extension_not_answering(message),
        Some(_) => refit::change_not_covered(message),
    }
}

/// The reason, and what is known of the first of its machines that is kept by something.
fn with_words(reason: &WaitingOn, words: impl Fn(&str) -> Option<String>) -> String {
    let known = reason.machines().iter().take(MACHINES_ASKED).find_map(|name| Some((name, words(name)?)));
    match (known, reason.machines()) {
        (None, _) => reason.to_string(),
        (Some((_, words)), [_]) => format!("{reason} ({words})"),
        (Some((name, words)), _) => format!("{reason} ({name}: {words})"),
    }
}

fn once_each(reasons: impl Iterator<Item = String>) -> String {
    let mut each: Vec<String> = Vec::new();
    reasons.for_each(|words| {
        if !each.contains(&words) {
            each.push(words)
        }
    });
    each.join("; ")
}

/// Tells people that a rollout is blocked, when it becomes so or for another reason than before.
pub fn blocked_event(about: Target, condition: &NewCondition, before: &[Condition]) -> Option<Event> {
    let is_said = get(before, &condition.type_)
        .is_some_and(|said| said.reason == condition.reason && said.message == condition.message);
    let is_blocked = condition.status == refit_api::conditions::Status::True;
    (is_blocked && !is_said).then(|| Event::warning(about, ROLLOUT_BLOCKED, condition.message.clone()))
}

/// `machine a`, `machines a, b and c`, `machines a, b, c and 4 more`.
fn machines(names: &[String]) -> String {
    match names {
        [only] => format!("machine {only}"),
        several => format!("machines {}", listed(several)),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "(none)".to_owned(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= NAMES_SHOWN => format!("{} and {last}", first.join(", ")),
        several => format!("{} and {} more", several[..NAMES_SHOWN].join(", "), several.len() - NAMES_SHOWN),
    }
}

/// The extensions' own words, in brackets.
fn said(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let each: Vec<String> = answers.iter().map(|answer| format!("{}: {}", answer.extension, answer.words)).collect();
    format!(" ({})", each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn check(waiting: &WaitingOn, expected: &str) {
        assert_eq!(waiting.to_string(), expected);
    }

    #[test]
    fn an_uncovered_change_is_told_with_the_extensions_own_words() {
        let answers = vec![Answer { extension: "can.memory".to_owned(), words: "disks are not mine".to_owned() }];
        let waiting = WaitingOn::Uncovered { paths: names(&["spec.disk"]), answers };
        check(&waiting, "no extension covers spec.disk (can.memory: disks are not mine)");
        assert!(waiting.is_blocked());
    }

    /// One value, three places: the words are the same in all of them.
    #[test]
    fn condition_event_and_text_have_the_same_words() {
        let reasons = [
            WaitingOn::MustStay { machine_set: "ms1".to_owned(), why: "a file changes".to_owned() },
            WaitingOn::Updates { machines: names(&["a"]) },
            WaitingOn::FailedUpdates { machines: names(&["b"]) },
        ];
        let condition = blocked(&reasons, |_| None);
        assert_eq!(condition.message, format!("{}; {}", reasons[0], reasons[2]));
        let about = || Target::of_value(&serde_json::Value::Null);
        let event = blocked_event(about(), &condition, &[]).expect("it must be told");
        assert_eq!((event.reason, event.message.as_str()), ("RolloutBlocked", &*condition.message));
        let mut told = Vec::new();
        refit_api::conditions::set(&mut told, condition.clone(), None, crate::testing::at(0));
        assert_eq!(blocked_event(about(), &condition, &told), None, "once is enough");
        let free = blocked(&reasons[1..2], |_| None);
        assert_eq!((&*free.reason, blocked_event(about(), &free, &[])), ("NotBlocked", None));
        assert_eq!(free.message, reasons[1].to_string(), "what is waited for is told, too");
        assert_eq!(blocked(&[], |_| None).message, "");
    }

    /// Every reason that there is, and what people read on the MachineDeployment: whether they must act, and why.
    #[test]
    fn every_reason_reaches_the_condition() {
        let what = || "words".to_owned();
        let answers = || vec![Answer { extension: "can.memory".to_owned(), words: "no".to_owned() }];
        let cases = [
            (WaitingOn::Paused, "False NotBlocked: paused"),
            (
                WaitingOn::Uncovered { paths: names(&["spec.disk"]), answers: answers() },
                "True ChangeNotCovered: no extension covers spec.disk (can.memory: no)",
            ),
            (WaitingOn::Undecided { answers: answers() }, "False NotBlocked: waiting for an answer (can.memory: no)"),
            (
                WaitingOn::MustStay { machine_set: "ms".to_owned(), why: what() },
                "True ChangeNotCovered: ms cannot be updated in place and must not be replaced: words; take the change back, or allow another policy by refit.dev/in-place",
            ),
            (
                WaitingOn::CoverageUnknown { machine_set: "ms".to_owned(), why: what() },
                "False NotBlocked: it is not known yet whether ms can be updated in place: words",
            ),
            (
                WaitingOn::Availability { available: 1, minimum: 2 },
                "False NotBlocked: no more machines may be unavailable: 1 available, 2 required",
            ),
            (WaitingOn::InvalidSpec { what: what() }, "True InvalidSpec: words"),
            (
                WaitingOn::Standstill { machine_sets: names(&["ms"]) },
                "False NotBlocked: waiting for ms to stand still, as what is wanted has changed",
            ),
            (
                WaitingOn::OnDelete { machine_sets: names(&["ms"]) },
                "False NotBlocked: machines of ms change when they are deleted",
            ),
            (
                WaitingOn::Budget { unavailable: names(&["a"]), limit: 1 },
                "False NotBlocked: waiting for machine a to become available: at most 1 may be unavailable (kept)",
            ),
            (
                WaitingOn::Unhealthy { machines: names(&["a"]) },
                "False NotBlocked: waiting for machine a to become healthy (kept)",
            ),
            (
                WaitingOn::FailedUpdates { machines: names(&["b", "a"]) },
                "True UpdatesFailed: the update of machines b and a failed for good and uses up the budget (a: kept)",
            ),
            (
                WaitingOn::ExtensionGone {
                    machines: names(&["a"]),
                    extension: "memory".to_owned(),
                    fields: names(&["spec.memory"]),
                },
                "True ExtensionGone: the update of machine a waits for extension memory, which is not registered any more: \
                 register it again under this name, or change the template, forward or back, so that another extension \
                 changes spec.memory",
            ),
            (
                WaitingOn::TemplateMissing { templates: names(&["Host a"]) },
                "True TemplateMissing: Host a does not exist: create it, or name others in spec.template",
            ),
            (
                WaitingOn::TemplateMissing { templates: names(&["Boot b", "Host a"]) },
                "True TemplateMissing: Boot b and Host a do not exist: create them, or name others in spec.template",
            ),
            (
                WaitingOn::NotAnswering { why: what() },
                "True ExtensionNotAnswering: words; mend the extension, its URL or its certificate, or delete its \
                 ExtensionConfig",
            ),
            (
                WaitingOn::Acknowledgement { machines: names(&["b"]) },
                "False NotBlocked: waiting for machine b to be counted by the new owner",
            ),
            (
                WaitingOn::Updates { machines: names(&["a"]) },
                "False NotBlocked: waiting for the update of machine a (kept)",
            ),
            (
                WaitingOn::Deletions { machines: names(&["a"]) },
                "False NotBlocked: waiting for the deletion of machine a (kept)",
            ),
            (
                WaitingOn::Provisioning { machines: names(&["a"]) },
                "False NotBlocked: waiting for machine a to get a node (kept)",
            ),
            (WaitingOn::Refused { what: what() }, "True WriteRefused: words"),
            (WaitingOn::Preflight { problems: vec![what()] }, "False NotBlocked: words"),
            (WaitingOn::Other { what: what() }, "False NotBlocked: words"),
        ];
        for (reason, expected) in cases {
            let condition = blocked(&[reason.clone(), reason], |name| (name == "a").then(|| "kept".to_owned()));
            let status = if condition.status == refit_api::conditions::Status::True { "True" } else { "False" };
            assert_eq!(format!("{status} {}: {}", condition.reason, condition.message), expected);
        }
    }

    #[test]
    fn long_lists_are_counted() {
        check(&WaitingOn::Updates { machines: names(&["a"]) }, "waiting for the update of machine a");
        check(
            &WaitingOn::Updates { machines: names(&["a", "b", "c"]) },
            "waiting for the update of machines a, b and c",
        );
        let many = WaitingOn::Updates { machines: names(&["a", "b", "c", "d", "e"]) };
        check(&many, "waiting for the update of machines a, b, c and 2 more");
    }
}
