//! The change that an extension is asked about.

use refit_api::hooks::{CanUpdateMachineRequest, CanUpdateMachineSetRequest, RawObject, Settings};
use serde_json::Value;

use super::MachineObject;
use crate::path::FieldPath;

pub(crate) const MACHINE_SPEC: [&str; 1] = ["spec"];
pub(crate) const TEMPLATE_SPEC: [&str; 3] = ["spec", "template", "spec"];
const TEMPLATE: &str = "Template";

/// A machine as it is and as it should be. About a MachineSet it is the same: the machines that it makes.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    /// The settings of the ExtensionConfig.
    pub settings: &'a Settings,
    /// Cluster API's own object.
    pub machine: ObjectChange<'a>,
    /// The infrastructure provider's object for the host.
    pub infrastructure: ObjectChange<'a>,
    /// None when the machine has no bootstrap config.
    pub bootstrap: Option<ObjectChange<'a>>,
}

/// One object of the machine as it is and as it should be.
#[derive(Debug, Clone)]
pub struct ObjectChange<'a> {
    current: &'a RawObject,
    desired: &'a RawObject,
    spec: &'static [&'static str],
}

impl<'a> Change<'a> {
    pub(crate) fn of_machine(request: &'a CanUpdateMachineRequest) -> Self {
        let (current, desired) = (&request.current, &request.desired);
        let bootstrap = current.bootstrap_config.as_ref().zip(desired.bootstrap_config.as_ref());
        Self {
            settings: &request.settings,
            machine: ObjectChange::new(&current.machine, &desired.machine, &MACHINE_SPEC),
            infrastructure: ObjectChange::new(
                &current.infrastructure_machine,
                &desired.infrastructure_machine,
                &MACHINE_SPEC,
            ),
            bootstrap: bootstrap.map(|(current, desired)| ObjectChange::new(current, desired, &MACHINE_SPEC)),
        }
    }

    pub(crate) fn of_machine_set(request: &'a CanUpdateMachineSetRequest) -> Self {
        let (current, desired) = (&request.current, &request.desired);
        let bootstrap = current.bootstrap_config_template.as_ref().zip(desired.bootstrap_config_template.as_ref());
        Self {
            settings: &request.settings,
            machine: ObjectChange::new(&current.machine_set, &desired.machine_set, &TEMPLATE_SPEC),
            infrastructure: ObjectChange::new(
                &current.infrastructure_machine_template,
                &desired.infrastructure_machine_template,
                &TEMPLATE_SPEC,
            ),
            bootstrap: bootstrap.map(|(current, desired)| ObjectChange::new(current, desired, &TEMPLATE_SPEC)),
        }
    }

    pub(crate) fn object(&self, object: MachineObject) -> Option<&ObjectChange<'a>> {
        match object {
            MachineObject::Machine => Some(&self.machine),
            MachineObject::Infrastructure => Some(&self.infrastructure),
            MachineObject::Bootstrap => self.bootstrap.as_ref(),
        }
    }
}

impl<'a> ObjectChange<'a> {
    fn new(current: &'a RawObject, desired: &'a RawObject, spec: &'static [&'static str]) -> Self {
        Self { current, desired, spec }
    }

    /// The kind of the machine's object, as in `SimMachine`; that of a `SimMachineTemplate` too.
    pub fn kind(&self) -> Option<&'a str> {
        let kind = self.desired.kind()?;
        match self.is_template() {
            true => Some(kind.strip_suffix(TEMPLATE).unwrap_or(kind)),
            false => Some(kind),
        }
    }

    /// Whether the object is of this kind, or a template for such objects.
    pub fn is_of_kind(&self, kind: &str) -> bool {
        self.kind() == Some(kind)
    }

    /// The field as it is. The path begins with `spec`, has no `*`, and leads into the machine's own object.
    pub fn current_field(&self, path: &str) -> Option<&'a Value> {
        field(self.current, self.spec, path)
    }

    /// The field as it should be.
    pub fn desired_field(&self, path: &str) -> Option<&'a Value> {
        field(self.desired, self.spec, path)
    }

    /// Whether the field is to change.
    pub fn changes(&self, path: &str) -> bool {
        self.current_field(path) != self.desired_field(path)
    }

    pub(crate) fn current(&self) -> &'a RawObject {
        self.current
    }

    pub(crate) fn desired(&self) -> &'a RawObject {
        self.desired
    }

    /// Whether kind and version are there and stay as they are.
    pub(crate) fn keeps_its_type(&self) -> bool {
        let type_of = |object: &'a RawObject| object.kind().map(|kind| (object.api_version(), kind));
        type_of(self.current).is_some() && type_of(self.current) == type_of(self.desired)
    }

    fn is_template(&self) -> bool {
        self.spec.len() > 1
    }
}

/// Follows a path from the spec of an object.
pub(crate) fn field<'a>(object: &'a RawObject, spec: &[&str], path: &str) -> Option<&'a Value> {
    let path: FieldPath = path.parse().ok()?;
    let names = path.names()?;
    spec.iter().chain(&names).try_fold(object.as_value(), |value, name| value.as_object()?.get(*name))
}
