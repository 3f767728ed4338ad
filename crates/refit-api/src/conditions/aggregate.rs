//! The same condition of many objects in one.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::ObjectMeta;

use super::merge::{Priority, below_heading};
use super::{NewCondition, Reasons, Status, View};
use crate::cluster::ConditionPolarity;
use crate::vocabulary::{labels, reasons};

/// How many different messages an aggregate shows.
const MAX_MESSAGES: usize = 3;
/// How many objects it names for each of them: all Machines of a usual control plane.
const MAX_NAMES: usize = 3;

/// The same condition of many objects in one.
#[derive(Debug, Clone, Copy)]
pub struct Aggregate<'a> {
    /// The type that the result has.
    pub target: &'static str,
    /// The type that the objects have.
    pub source: &'a str,
    /// Of the source and of the target.
    pub polarity: ConditionPolarity,
    pub reasons: Reasons,
}

/// One of the objects, and its condition of the type in question.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    kind: &'a str,
    name: &'a str,
    is_control_plane_machine: bool,
    condition: Option<View<'a>>,
}

impl<'a> Source<'a> {
    /// An object. Without the condition, it counts as unknown.
    pub fn new(kind: &'a str, metadata: &'a ObjectMeta, condition: Option<impl Into<View<'a>>>) -> Self {
        let has_label = metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::CONTROL_PLANE));
        Self {
            kind,
            name: metadata.name.as_deref().unwrap_or_default(),
            is_control_plane_machine: kind == "Machine" && has_label,
            condition: condition.map(Into::into),
        }
    }
}

impl Aggregate<'_> {
    /// Aggregates the conditions of objects. Gives nothing for no objects.
    pub fn of(&self, sources: &[Source<'_>]) -> Option<NewCondition> {
        let missing = format!("Condition {} not yet reported", self.source);
        let all = || sources.iter().map(|source| self.report(source, &missing));
        let worst = all().map(|report| report.priority).min()?;
        let counts = |report: &Report<'_>| match worst {
            Priority::Issue | Priority::Unknown => report.priority != Priority::Info,
            Priority::Info => !report.view.message.is_empty(),
        };
        // Of very many objects only few count as a rule, so the others are neither kept nor sorted.
        let mut reports: Vec<Report<'_>> = all().filter(counts).collect();
        // The oldest come first where nothing else decides.
        reports.sort_by_key(|report| (report.priority, report.view.since));
        let condition = NewCondition::new(self.target, worst.status(self.polarity), self.reasons.of(worst));
        Some(condition.with_message(message(&reports)))
    }

    fn report<'b>(&self, source: &Source<'b>, missing: &'b str) -> Report<'b> {
        let reason = reasons::NOT_YET_REPORTED;
        let missing = View { status: Status::Unknown, reason, message: missing, since: None };
        let view = source.condition.unwrap_or(missing);
        Report { source: *source, view, priority: Priority::of(view.status, self.polarity) }
    }
}

/// What one object says.
struct Report<'a> {
    source: Source<'a>,
    view: View<'a>,
    priority: Priority,
}

/// What several objects of one kind say alike.
struct Group<'a> {
    message: &'a str,
    names: Vec<&'a str>,
}

/// How a message ranks, whatever the kind of the objects that say it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_only_of_workers: bool,
    priority: Priority,
}

fn message(reports: &[Report<'_>]) -> String {
    let ranks = ranks(reports);
    let control_plane: BTreeSet<&str> =
        reports.iter().filter(|r| r.source.is_control_plane_machine).map(|r| r.source.name).collect();
    let mut lines = Vec::new();
    let mut left = MAX_MESSAGES;
    for (kind, mut groups) in groups(reports) {
        groups.sort_by(|a, b| {
            let by_size = || b.names.len().cmp(&a.names.len());
            let by_name = || a.names.join(",").cmp(&b.names.join(","));
            ranks[a.message].cmp(&ranks[b.message]).then_with(by_size).then_with(by_name)
        });
        let shown = left.min(groups.len());
        left -= shown;
        let others = groups.split_off(shown);
        lines.extend(groups.into_iter().map(|group| group.line(kind, &control_plane)));
        lines.extend(other_lines(kind, &others, &ranks));
    }
    lines.join("\n")
}

/// The rank of each message: the best that any object gives it.
fn ranks<'a>(reports: &[Report<'a>]) -> BTreeMap<&'a str, Rank> {
    let mut ranks = BTreeMap::new();
    for report in reports {
        let rank = Rank { is_only_of_workers: !report.source.is_control_plane_machine, priority: report.priority };
        let known = ranks.entry(report.view.message).or_insert(rank);
        known.is_only_of_workers &= rank.is_only_of_workers;
        known.priority = known.priority.min(rank.priority);
    }
    ranks
}

/// Who says what, by kind.
fn groups<'a>(reports: &[Report<'a>]) -> BTreeMap<&'a str, Vec<Group<'a>>> {
    let mut kinds: BTreeMap<&str, Vec<Group<'_>>> = BTreeMap::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for Report { source, view, .. } in reports {
        let groups = kinds.entry(source.kind).or_default();
        let place = *places.entry((source.kind, view.message)).or_insert_with(|| {
            groups.push(Group { message: view.message, names: Vec::new() });
            groups.len() - 1
        });
        groups[place].names.push(source.name);
    }
    kinds
}

impl Group<'_> {
    fn line(mut self, kind: &str, control_plane: &BTreeSet<&str>) -> String {
        self.names.sort_by_key(|name| (!control_plane.contains(name), *name));
        let kind = if self.names.len() == 1 { kind.to_owned() } else { plural(kind) };
        format!("* {kind} {}:{}", super::common::short_list(&self.names, MAX_NAMES), below_heading(self.message))
    }
}

/// How many objects say something that is not shown.
fn other_lines(kind: &str, others: &[Group<'_>], ranks: &BTreeMap<&str, Rank>) -> Vec<String> {
    let line = |(priority, what): (Priority, &str)| {
        let hidden = others.iter().filter(|group| ranks[group.message].priority == priority);
        match hidden.map(|group| group.names.len()).sum() {
            0 => None,
            1 => Some(format!("And 1 {kind} {what}")),
            count => Some(format!("And {count} {} {what}", plural(kind))),
        }
    };
    let sorts = [
        (Priority::Issue, "with other issues"),
        (Priority::Unknown, "with status unknown"),
        (Priority::Info, "with additional info"),
    ];
    sorts.into_iter().filter_map(line).collect()
}

/// The plural of a kind in a sentence.
fn plural(kind: &str) -> String {
    let is_vowel = |c: char| "aeiou".contains(c);
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests;
