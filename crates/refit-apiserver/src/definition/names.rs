//! Which of several definitions gets a name that they all want.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{is_true, set_condition};
use super::{list, text};

/// Accepts the names of a definition that no other definition of its group has, and says so in the status. With all of
/// its names accepted, it is established; once established, it stays so.
pub fn accept_names<'a>(definition: &mut Value, others: impl Iterator<Item = &'a Value>, now: Timestamp) {
    let group = definition["spec"]["group"].clone();
    let others: Vec<&Value> = others.filter(|other| other["spec"]["group"] == group).collect();
    let mut accepted = definition["status"]["acceptedNames"].clone();
    if !accepted.is_object() {
        accepted = json!({});
    }
    let wanted = definition["spec"]["names"].clone();
    let mut conflict = None;
    for (name, reason, taken) in [
        ("plural", "PluralConflict", resources(&others)),
        ("singular", "SingularConflict", resources(&others)),
        ("shortNames", "ShortNamesConflict", resources(&others)),
        ("kind", "KindConflict", kinds(&others)),
        ("listKind", "ListKindConflict", kinds(&others)),
    ] {
        let problems = problems(&wanted[name], &accepted[name], &taken);
        match (problems.is_empty(), wanted.get(name)) {
            (false, _) => conflict = Some((reason, aggregate(&problems))),
            (true, Some(value)) => accepted[name] = value.clone(),
            (true, None) => remove(&mut accepted, name),
        }
    }
    match wanted.get("categories") {
        Some(categories) => accepted["categories"] = categories.clone(),
        None => remove(&mut accepted, "categories"),
    }
    definition["status"]["acceptedNames"] = accepted;
    write_conditions(definition, conflict, now);
}

fn write_conditions(definition: &mut Value, conflict: Option<(&str, String)>, now: Timestamp) {
    match &conflict {
        None => set_condition(definition, "NamesAccepted", true, "NoConflicts", "no conflicts found", now),
        Some((reason, message)) => set_condition(definition, "NamesAccepted", false, reason, message, now),
    }
    if is_true(definition, "Established") {
        return;
    }
    if conflict.is_none() {
        let message = "the initial names have been accepted";
        set_condition(definition, "Established", true, "InitialNamesAccepted", message, now);
    } else {
        set_condition(definition, "Established", false, "NotAccepted", "not all names are accepted", now);
    }
}

fn resources<'a>(others: &[&'a Value]) -> BTreeSet<&'a str> {
    let of = |other: &&'a Value| {
        let names = &other["status"]["acceptedNames"];
        [&names["plural"], &names["singular"]].into_iter().chain(list(&names["shortNames"])).map(text)
    };
    others.iter().flat_map(of).collect()
}

fn kinds<'a>(others: &[&'a Value]) -> BTreeSet<&'a str> {
    let of = |other: &&'a Value| {
        let names = &other["status"]["acceptedNames"];
        [text(&names["kind"]), text(&names["listKind"])]
    };
    others.iter().flat_map(of).collect()
}

/// What is wrong with a name, or with each of several.
fn problems(wanted: &Value, accepted: &Value, taken: &BTreeSet<&str>) -> Vec<String> {
    let all = |value: &Value| match value {
        Value::Array(items) => items.iter().map(|item| text(item).to_owned()).collect(),
        other => vec![text(other).to_owned()],
    };
    let own = all(accepted);
    let lost = all(wanted).into_iter().filter(|name| !own.contains(name) && taken.contains(name.as_str()));
    lost.map(|name| format!("{name:?} is already in use")).collect()
}

fn aggregate(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn remove(names: &mut Value, name: &str) {
    if let Some(names) = names.as_object_mut() {
        names.remove(name);
    }
}
