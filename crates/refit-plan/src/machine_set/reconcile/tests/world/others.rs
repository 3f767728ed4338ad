//! Models of the controllers of Machines and MachineDeployments, and of health checks.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::name_set::NameSet;
use refit_api::vocabulary::annotations::{PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use serde_json::{Value, json};

use super::World;
use crate::effect::{Delete, Effect, Part, Patch, Target};
use crate::fleet;
use crate::machine_set::complete_move::{Stage, stage};
use crate::machine_set::start_move::handover_of;
use crate::testing::condition;

impl World {
    /// The Machine controller: takes objects over, brings Nodes up, ends updates, and lets Machines go.
    pub fn run_machines(&mut self) {
        for machine in self.machines() {
            if fleet::is_deleting(&machine) {
                self.let_go(&machine);
                continue;
            }
            self.take_over(&machine);
            match stage(&machine) {
                Stage::Updating | Stage::Finishing => self.finish_update(&machine),
                Stage::Settled | Stage::Moved | Stage::Released => self.bring_up(&machine),
            }
        }
    }

    fn let_go(&mut self, machine: &Machine) {
        for kind in ["Host", "Boot"] {
            if let Some(object) = self.store.get(kind, fleet::name(machine)) {
                self.store.carry_out(&[Effect::Delete(Delete::value_as_seen(&object))]);
            }
        }
        self.patch_machine(machine, Part::Object, json!({ "metadata": { "finalizers": null } }));
    }

    fn take_over(&mut self, machine: &Machine) {
        let owner = json!([{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "controller": true,
            "name": machine.metadata.name, "uid": machine.metadata.uid,
        }]);
        self.patch_objects(machine, &json!({ "metadata": { "ownerReferences": owner } }));
    }

    /// The node is there and all is well, unless somebody said something else.
    fn bring_up(&mut self, machine: &Machine) {
        let mut conditions = machine.status.conditions.clone();
        for type_ in [types::READY, types::AVAILABLE, types::UP_TO_DATE] {
            if conditions.iter().all(|known| known.type_ != type_) {
                conditions.push(condition(type_, "True"));
            }
        }
        let status = json!({ "conditions": conditions, "nodeRef": { "name": fleet::name(machine) } });
        self.patch_machine(machine, Part::Status, json!({ "status": status }));
    }

    fn finish_update(&mut self, machine: &Machine) {
        self.patch_objects(machine, &json!({ "metadata": { "annotations": { UPDATE_IN_PROGRESS: null } } }));
        let marks = json!({ UPDATE_IN_PROGRESS: null, PENDING_HOOKS: null, UPDATE_PLAN: null });
        self.patch_machine(machine, Part::Object, json!({ "metadata": { "annotations": marks } }));
    }

    fn patch_objects(&mut self, machine: &Machine, merge: &Value) {
        for kind in ["Host", "Boot"] {
            if let Some(object) = self.store.get(kind, fleet::name(machine)) {
                let patch = Patch::object(Target::of_value(&object), merge.clone());
                self.store.carry_out(&[Effect::Patch(patch)]);
            }
        }
    }

    pub fn patch_machine(&mut self, machine: &Machine, part: Part, merge: Value) {
        let patch = Patch { part, ..Patch::object(Target::of(machine), merge) };
        self.store.carry_out(&[Effect::Patch(patch)]);
    }

    /// The MachineDeployment counts machines that were moved to one of its MachineSets.
    pub fn acknowledge(&mut self) {
        for set in self.store.list_typed::<MachineSet>() {
            let name = set.metadata.name.clone().expect("it must have a name");
            let mut handover = handover_of(&set);
            if !handover.receives() {
                continue;
            }
            let names = self.names_of(&name);
            let is_pending = |machine: &&Machine| fleet::is_pending_acknowledge(machine);
            let machines = self.machines();
            let pending: NameSet = machines
                .iter()
                .filter(is_pending)
                .map(fleet::name)
                .filter(|machine| names.iter().any(|name| name == machine))
                .collect();
            let new = pending.iter().filter(|name| !handover.acknowledged.contains(name)).count();
            let replicas = set.spec.replicas.unwrap_or(0) + i32::try_from(new).expect("few machines");
            handover.acknowledged = pending;
            self.change_set(&name, |set| {
                set.spec.replicas = Some(replicas);
                handover.write_to(set.metadata.annotations.get_or_insert_default());
            });
        }
    }

    /// A health check gives a Machine up.
    pub fn give_up(&mut self, name: &str) {
        let machine: Machine = self.store.typed(name).expect("it must be there");
        let mut conditions: Vec<Condition> = machine.status.conditions.clone();
        conditions.push(condition(types::HEALTH_CHECK_SUCCEEDED, "False"));
        conditions.push(condition(types::OWNER_REMEDIATED, "False"));
        self.patch_machine(&machine, Part::Status, json!({ "status": { "conditions": conditions } }));
    }
}
