//! What an update took.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::requests::Kind;

/// What the update of a fleet took.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub machines: i32,
    /// Machines that are still the same.
    pub in_place: usize,
    pub seconds: f64,
    /// Of the whole process: API server where it is embedded, controllers, provider and extension.
    pub cpu_seconds: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
    /// Requests of the controllers.
    pub controllers: BTreeMap<Kind, u64>,
    /// Requests of the simulated provider and the extension.
    pub provider: BTreeMap<Kind, u64>,
    /// Calls by hook.
    pub hooks: BTreeMap<String, u64>,
}

impl Report {
    fn per_machine(&self, count: u64) -> f64 {
        count as f64 / f64::from(self.machines.max(1))
    }

    /// Writes of the controllers for each machine: on objects, and on their status. Events are neither.
    fn writes_per_machine(&self) -> (f64, f64) {
        let sum = |counts: &dyn Fn(&Kind) -> bool| {
            let of_objects = self.controllers.iter().filter(|(kind, _)| kind.is_write() && kind.resource != "events");
            self.per_machine(of_objects.filter(|(kind, _)| counts(kind)).map(|(_, count)| count).sum())
        };
        (sum(&|kind| !kind.is_status()), sum(&Kind::is_status))
    }

    fn conflicts(&self) -> u64 {
        self.controllers.iter().filter(|(kind, _)| kind.is_conflict).map(|(_, count)| count).sum()
    }

    fn machines_per_second(&self) -> f64 {
        f64::from(self.machines) / self.seconds.max(f64::EPSILON)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let (objects, status) = self.writes_per_machine();
        json!({
            "machines": self.machines,
            "inPlace": self.in_place,
            "seconds": self.seconds,
            "machinesPerSecond": self.machines_per_second(),
            "cpuSeconds": self.cpu_seconds,
            "peakMemoryBytes": self.peak_memory_bytes,
            "writesPerMachine": { "objects": objects, "status": status },
            "conflicts": self.conflicts(),
            "requests": { "controllers": listed(&self.controllers), "provider": listed(&self.provider) },
            "hookCalls": self.hooks,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let (objects, status) = self.writes_per_machine();
        let mut text = format!(
            "{} of {} machines updated in place in {:.1}s: {:.1} per second\n",
            self.in_place,
            self.machines,
            self.seconds,
            self.machines_per_second()
        );
        let mut line = |name: &str, value: String| text += &format!("{name:<48}{value}\n");
        if let Some(cpu) = self.cpu_seconds {
            line("CPU", format!("{cpu:.2}s"));
        }
        if let Some(bytes) = self.peak_memory_bytes {
            line("peak memory", format!("{} MiB", bytes / (1024 * 1024)));
        }
        line("writes on objects per machine", format!("{objects:.2}"));
        line("writes on status per machine", format!("{status:.2}"));
        line("conflicts", self.conflicts().to_string());
        for (hook, count) in &self.hooks {
            line(&format!("{hook} calls per machine"), format!("{:.2}", self.per_machine(*count)));
        }
        for (who, requests) in [("controllers", &self.controllers), ("provider", &self.provider)] {
            for (kind, count) in requests {
                let conflict = if kind.is_conflict { " (conflict)" } else { "" };
                line(&format!("{who}: {} {}{conflict}", kind.verb, kind.resource), count.to_string());
            }
        }
        text
    }
}

fn listed(requests: &BTreeMap<Kind, u64>) -> Value {
    let one = |(kind, count): (&Kind, &u64)| json!({ "verb": kind.verb, "resource": kind.resource, "conflict": kind.is_conflict, "count": count });
    requests.iter().map(one).collect()
}
