//! Conditions of Machines.

use std::borrow::Cow;

use super::common::bullets;
use super::{NewCondition, Referenced, Status};
use crate::vocabulary::{condition_types as types, reasons};

pub mod control_plane;
pub mod deleting;
pub mod health;
pub mod node;
mod ready;

pub use super::{internal_error, not_deleting, not_paused, paused};
pub use ready::{Deletion, ready};

/// How the bootstrap configuration is doing.
pub const BOOTSTRAP: Referenced = Referenced {
    type_: types::BOOTSTRAP_CONFIG_READY,
    good: reasons::READY,
    bad: reasons::NOT_READY,
    flag: "status.initialization.dataSecretCreated",
    referrer: "Machine",
};

/// How the host is doing.
pub const INFRASTRUCTURE: Referenced = Referenced {
    type_: types::INFRASTRUCTURE_READY,
    good: reasons::READY,
    bad: reasons::NOT_READY,
    flag: "status.initialization.provisioned",
    referrer: "Machine",
};

const IN_PROGRESS: &str = "In-place update in progress";

/// There is no bootstrap configuration, as the user brought the Secret.
pub fn bootstrap_data_secret_provided() -> NewCondition {
    NewCondition::new(types::BOOTSTRAP_CONFIG_READY, Status::True, reasons::DATA_SECRET_PROVIDED)
}

/// It is ready, and has been for long enough.
pub fn available() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::True, reasons::AVAILABLE)
}

/// It is not available, as it is not ready.
pub fn not_available() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::False, reasons::NOT_READY)
}

/// It is ready, but not for long enough.
pub fn waiting_for_min_ready_seconds() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::False, reasons::WAITING_FOR_MIN_READY_SECONDS)
}

/// It is as its owner wants it.
pub fn up_to_date() -> NewCondition {
    NewCondition::new(types::UP_TO_DATE, Status::True, reasons::UP_TO_DATE)
}

/// It differs from what its owner wants in these ways.
pub fn not_up_to_date(differences: &[impl AsRef<str>]) -> NewCondition {
    NewCondition::new(types::UP_TO_DATE, Status::False, reasons::NOT_UP_TO_DATE).with_message(bullets(differences))
}

/// It is on the way to what its owner wants. `message` is that of its `Updating` condition.
pub fn not_up_to_date_while_updating(message: &str) -> NewCondition {
    on_the_way(if message.is_empty() { IN_PROGRESS.to_owned() } else { message.to_owned() })
}

/// Its spec is what its owner wants, and its kubelet is not of that version yet.
pub fn not_up_to_date_until_kubelet_is(found: &str, required: &str) -> NewCondition {
    on_the_way(format!("Node.status.nodeInfo.kubeletVersion {found}, {required} required"))
}

/// No update in place is under way.
pub fn not_updating() -> NewCondition {
    NewCondition::new(types::UPDATING, Status::False, reasons::NOT_UPDATING)
}

/// An update in place is under way. `message` is what the extension says.
pub fn updating_in_place(message: &str) -> NewCondition {
    let condition = NewCondition::new(types::UPDATING, Status::True, reasons::IN_PLACE_UPDATING);
    match message {
        "" => condition.with_message(IN_PROGRESS),
        message => condition.with_message(format!("{IN_PROGRESS}: {message}")),
    }
}

/// The last try of an update in place failed, and why.
pub fn in_place_update_failed(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::UPDATING, Status::True, reasons::IN_PLACE_UPDATE_FAILED).with_message(message)
}

/// The last call of an extension failed, in upstream's words, which do not say why.
pub fn update_machine_hook_failed() -> NewCondition {
    in_place_update_failed("UpdateMachine hook failed: please check controller logs for errors")
}

/// There is nothing to update, as the host's object is gone.
pub fn in_place_update_without_infrastructure() -> NewCondition {
    in_place_update_failed("In-place update not possible: InfraMachine not found")
}

fn on_the_way(message: String) -> NewCondition {
    NewCondition::new(types::UP_TO_DATE, Status::False, reasons::UPDATING).with_message(bullets(&[message]))
}

#[cfg(test)]
mod tests;
