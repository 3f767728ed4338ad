//! Pods: one word that sums up their containers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, NAME, Printer, Row, age, created, is_being_deleted, is_true, list, name, number, or, str, text};

pub static PODS: Printer = Printer {
    columns: &[
        NAME,
        text("Ready"),
        text("Status"),
        text("Restarts"),
        AGE,
        text("IP").wide(),
        text("Node").wide(),
        text("Nominated Node").wide(),
        text("Readiness Gates").wide(),
    ],
    row,
};

/// What the containers of a pod say together.
#[derive(Default)]
struct Summary<'a> {
    reason: String,
    ready: usize,
    restarts: Restarts<'a>,
}

/// How often containers began anew, and when the last one before ended.
#[derive(Default, Clone, Copy)]
struct Restarts<'a> {
    count: i64,
    last: &'a str,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a Value) {
        self.count += number(&container["restartCount"]);
        // Times of one form and zone sort as text does.
        self.last = self.last.max(str(&container["lastState"]["terminated"]["finishedAt"]));
    }

    fn show(self, now: Timestamp) -> String {
        match (self.count, self.last) {
            (0, _) | (_, "") => self.count.to_string(),
            (count, last) => format!("{count} ({} ago)", age::since_text(last, now)),
        }
    }
}

fn row(pod: &Value, now: Timestamp) -> Row {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let sidecars = list(&spec["initContainers"]).iter().filter(|container| is_sidecar(container)).count();
    let summary = summary(pod);
    let ready = format!("{}/{}", summary.ready, list(&spec["containers"]).len() + sidecars);
    let cells = [
        name(pod),
        ready.into(),
        summary.reason.into(),
        summary.restarts.show(now).into(),
        created(pod, now),
        or(&status["podIPs"][0]["ip"], "<none>").into(),
        or(&spec["nodeName"], "<none>").into(),
        or(&status["nominatedNodeName"], "<none>").into(),
        gates(pod).into(),
    ];
    Row { cells: cells.into(), conditions: conditions(str(&status["phase"])) }
}

fn summary(pod: &Value) -> Summary<'_> {
    let mut summary = Summary { reason: phase(pod), ..Summary::default() };
    let mut sidecars = Restarts::default();
    let is_initializing = initialize(pod, &mut summary, &mut sidecars);
    if !is_initializing || is_true(pod, "Initialized") {
        summary.restarts = sidecars;
        run(pod, &mut summary);
    }
    let is_over = matches!(str(&pod["status"]["phase"]), "Succeeded" | "Failed");
    if is_being_deleted(pod) && pod["status"]["reason"] == "NodeLost" {
        "Unknown".clone_into(&mut summary.reason);
    } else if is_being_deleted(pod) && !is_over {
        "Terminating".clone_into(&mut summary.reason);
    }
    summary
}

/// The word before the containers are looked at.
fn phase(pod: &Value) -> String {
    let status = &pod["status"];
    let is_gated = |condition: &Value| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated";
    if list(&status["conditions"]).iter().any(is_gated) {
        return "SchedulingGated".to_owned();
    }
    or(&status["reason"], str(&status["phase"])).to_owned()
}

/// Looks at the containers that run before the others, up to the first that is not done. Says whether there is one.
fn initialize<'a>(pod: &'a Value, summary: &mut Summary<'a>, sidecars: &mut Restarts<'a>) -> bool {
    let specs = list(&pod["spec"]["initContainers"]);
    for (index, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let is_sidecar = specs.iter().any(|spec| spec["name"] == container["name"] && is_sidecar(spec));
        summary.restarts.add(container);
        if is_sidecar {
            sidecars.add(container);
        }
        let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
        if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
            continue;
        }
        if is_sidecar && container["started"] == true {
            summary.ready += usize::from(container["ready"] == true);
            continue;
        }
        summary.reason = match str(&waiting["reason"]) {
            _ if terminated.is_object() => format!("Init:{}", ended(terminated)),
            "" | "PodInitializing" => format!("Init:{index}/{}", specs.len()),
            reason => format!("Init:{reason}"),
        };
        return true;
    }
    false
}

/// Looks at the containers proper, the last one first.
fn run<'a>(pod: &'a Value, summary: &mut Summary<'a>) {
    let (mut has_running, mut failure) = (false, None);
    for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
        summary.restarts.add(container);
        let state = &container["state"];
        let (waiting, terminated) = (str(&state["waiting"]["reason"]), &state["terminated"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if terminated.is_object() {
            summary.reason = ended(terminated);
            if number(&terminated["exitCode"]) != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if container["ready"] == true && state["running"].is_object() {
            has_running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        let word = match failure {
            _ if has_running && is_true(pod, "Ready") => Some("Running".to_owned()),
            Some(failure) => Some(failure),
            None => has_running.then(|| "NotReady".to_owned()),
        };
        summary.reason = word.unwrap_or_else(|| "Completed".to_owned());
    }
}

/// How a container ended.
fn ended(terminated: &Value) -> String {
    match (str(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Whether a container is started before the others and runs beside them.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn gates(pod: &Value) -> String {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(pod, str(&gate["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}

/// Tells clients which rows are about pods that are over.
fn conditions(phase: &str) -> Option<Value> {
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}
