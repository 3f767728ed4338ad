//! What the machines of a MachineSet were made from, where their template is gone: looked up on their own objects.
//!
//! It costs a look at every machine of that MachineSet, so it is done only while a template is missing, and an object that was
//! looked at is not looked at again before it changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use refit_api::cluster::{ContractVersionedObjectReference, Machine, MachineSet};
use refit_api::hooks::RawObject;
use refit_plan::coverage::{ContentHash, MachineSetObjects, MadeFrom, is_of_its_machine_set};
use refit_plan::reading::Read;
use serde_json::Value;

use crate::cache::BY_OWNER;
use crate::context::Context;
use crate::providers::Kinds;

/// For how many templates it is remembered what was found: one or two for each of a hundred rollouts at a time. Above that, all
/// is looked at anew.
const MAX_KNOWN: usize = 256;

/// What was found on the objects of machines, by the uid of their MachineSet and its template. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct MadeFroms(Arc<Mutex<BTreeMap<Key, Known>>>);

/// The uid of a MachineSet, and the kind and name of a template.
type Key = (String, String, String);

/// What was found for one template.
#[derive(Debug, Clone, Default)]
struct Known {
    /// By Machine: the object, as it was when it was looked at, and what it was made from.
    looked_at: BTreeMap<String, (Arc<Read<Value>>, ContentHash)>,
    /// What they were made from, by content. One, unless somebody has changed a template under the same name.
    templates: BTreeMap<ContentHash, RawObject>,
}

impl Context {
    /// What extensions are shown of a MachineSet: with its templates or, where one does not exist any more, with what its
    /// machines were made from.
    pub async fn machine_set_objects(&self, set: &MachineSet) -> Option<MachineSetObjects> {
        let spec = &set.spec.template.spec;
        let bootstrap_config_template = match &spec.bootstrap.config_ref {
            Some(reference) => Some(self.template_of(set, reference).await?),
            None => None,
        };
        Some(MachineSetObjects {
            machine_set: set.clone(),
            infrastructure_machine_template: self.template_of(set, &spec.infrastructure_ref).await?,
            bootstrap_config_template,
        })
    }

    async fn template_of(&self, set: &MachineSet, reference: &ContractVersionedObjectReference) -> Option<RawObject> {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        match self.read(namespace, reference).await {
            Read::Found(object) => RawObject::try_from(object).ok(),
            Read::Missing => self.made_from(set, reference).await.ok(),
            Read::Unreadable(_) => None,
        }
    }

    /// What the machines of a MachineSet were made from by this template of it, as all of them tell it; or why that is not
    /// known.
    pub async fn made_from(
        &self,
        set: &MachineSet,
        template: &ContractVersionedObjectReference,
    ) -> Result<RawObject, String> {
        let uid = set.metadata.uid.clone().unwrap_or_default();
        let machines = self.cache.machines.by(BY_OWNER, &uid);
        let key = (uid, template.kind.clone(), template.name.clone());
        let mut known = self.made_froms.take(&key);
        let found = known.look(self, set, template, &machines).await;
        self.made_froms.put(key, known);
        found
    }
}

impl MadeFroms {
    fn take(&self, key: &Key) -> Known {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key).unwrap_or_default()
    }

    fn put(&self, key: Key, known: Known) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        if !known.looked_at.is_empty() {
            all.insert(key, known);
        }
    }
}

impl Known {
    async fn look(
        &mut self,
        context: &Context,
        set: &MachineSet,
        template: &ContractVersionedObjectReference,
        machines: &[Arc<Machine>],
    ) -> Result<RawObject, String> {
        let mut kinds = Kinds::new(&context.cache);
        let mut before = std::mem::take(&mut self.looked_at);
        let mut first: Option<(&str, ContentHash)> = None;
        for machine in machines.iter().filter(|machine| is_of_its_machine_set(machine)) {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            let object = object_of(&mut kinds, set, template, machine).await?;
            let content = match before.remove(name) {
                Some((known, content)) if Arc::ptr_eq(&known, &object) => content,
                Some(_) | None => self.read(template, &object)?,
            };
            self.looked_at.insert(name.to_owned(), (object, content.clone()));
            match &first {
                None => first = Some((name, content)),
                Some((_, known)) if *known == content => {}
                Some((other, _)) => {
                    let why = format!("machines {other} and {name} were made from different ones");
                    self.looked_at.extend(before);
                    return Err(why);
                }
            }
        }
        let (_, content) = first.ok_or("none of its machines is what it made of them")?;
        self.templates.retain(|known, _| *known == content);
        self.templates.get(&content).cloned().ok_or_else(|| "it is not known any more".to_owned())
    }

    fn read(
        &mut self,
        template: &ContractVersionedObjectReference,
        object: &Read<Value>,
    ) -> Result<ContentHash, String> {
        let object = object.found(|| format!("what was made from {}", template.name)).map_err(|it| it.to_string())?;
        let MadeFrom { template, content } = MadeFrom::of(template, object).map_err(|it| it.to_string())?;
        self.templates.insert(content.clone(), template);
        Ok(content)
    }
}

/// The object of the machine that was made from the template.
async fn object_of(
    kinds: &mut Kinds<'_>,
    set: &MachineSet,
    template: &ContractVersionedObjectReference,
    machine: &Machine,
) -> Result<Arc<Read<Value>>, String> {
    let is_infrastructure = set.spec.template.spec.infrastructure_ref == *template;
    let reference = match (is_infrastructure, &machine.spec.bootstrap.config_ref) {
        (true, _) => &machine.spec.infrastructure_ref,
        (false, Some(reference)) => reference,
        (false, None) => {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            return Err(format!("machine {name} has no bootstrap configuration"));
        }
    };
    Ok(kinds.read(machine.metadata.namespace.as_deref().unwrap_or_default(), reference).await)
}
