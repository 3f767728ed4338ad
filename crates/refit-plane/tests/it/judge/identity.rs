//! I3 to I5 for what a machine is made of: nothing of it is exchanged, lost or left over while it lives.

use std::collections::BTreeMap;

use kube::{Resource, ResourceExt};
use refit_api::cluster::Machine;
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use refit_provider_sim::kinds::{SimBootstrapConfig, SimMachine};
use serde_json::Value;

use super::view::{View, controllers, is_updating};

/// What was seen of each machine, by what must not change: its first value.
#[derive(Debug, Default)]
pub struct Identities {
    first: BTreeMap<(String, &'static str), String>,
    /// The plan that a machine is updated by, and the MachineSet that it was accepted for.
    plans: BTreeMap<String, (String, Vec<String>)>,
}

impl Identities {
    pub fn machine(&mut self, machine: &Machine) -> Vec<String> {
        let uid = machine.uid().unwrap_or_default();
        let node = machine.status.node_ref.as_ref().map(|node| node.name.clone());
        let mut wrong = Vec::new();
        wrong.extend(self.once(&uid, "provider id", machine.spec.provider_id.clone(), &machine.name_any()));
        wrong.extend(self.once(&uid, "node", node, &machine.name_any()));
        wrong.extend(self.plan(machine));
        wrong
    }

    pub fn host(&mut self, host: &SimMachine, is_gone: bool, view: &View) -> Vec<String> {
        let (uid, status) = (host.uid().unwrap_or_default(), host.status.host.as_ref());
        let mut wrong = part(host, is_gone, view);
        wrong.extend(self.once(&uid, "host", status.map(|host| host.id.clone()), &host.name_any()));
        wrong.extend(self.once(&uid, "disk", status.map(|host| host.disk_id.clone()), &host.name_any()));
        wrong
    }

    pub fn bootstrap(&mut self, config: &SimBootstrapConfig, is_gone: bool, view: &View) -> Vec<String> {
        let secret = config.status.data_secret_name.clone();
        let mut wrong = part(config, is_gone, view);
        wrong.extend(self.once(&config.uid().unwrap_or_default(), "secret", secret, &config.name_any()));
        wrong
    }

    /// I5: what an object once has, it keeps.
    fn once(&mut self, uid: &str, what: &'static str, value: Option<String>, name: &str) -> Option<String> {
        let key = (uid.to_owned(), what);
        match (self.first.get(&key), value) {
            (None, None) => None,
            (None, Some(value)) => {
                self.first.insert(key, value);
                None
            }
            (Some(first), now) if now.as_ref() == Some(first) => None,
            (Some(first), now) => Some(format!("I5: the {what} of {name} was {first} and is {now:?}")),
        }
    }

    /// I3 and I4: as long as an update goes on, its plan is the one that was accepted.
    fn plan(&mut self, machine: &Machine) -> Option<String> {
        let uid = machine.uid().unwrap_or_default();
        if !is_updating(machine) {
            self.plans.remove(&uid);
            return None;
        }
        let plan = machine.annotations().get(UPDATE_PLAN).and_then(|text| serde_json::from_str::<Value>(text).ok())?;
        let now = (plan["question"].to_string(), controllers(machine));
        let before = self.plans.insert(uid, now.clone())?;
        let is_exchanged = before.1 == now.1 && before.0 != now.0;
        is_exchanged.then(|| format!("I4: {} is updated by another plan than was accepted", machine.name_any()))
    }
}

/// I5: as long as a machine is not to go, its parts do not.
fn part<K: Resource<DynamicType = ()>>(part: &K, is_gone: bool, view: &View) -> Vec<String> {
    let owner = view.alive().find(|machine| machine.name_any() == part.name_any());
    let is_going = is_gone || part.meta().deletion_timestamp.is_some();
    let lost = owner.filter(|_| is_going).map(|_| format!("I5: {} {} was taken away", K::kind(&()), part.name_any()));
    lost.into_iter().collect()
}
