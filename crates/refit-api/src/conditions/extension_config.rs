//! Conditions of ExtensionConfigs.

use super::{NewCondition, Status};
use crate::vocabulary::{condition_types as types, reasons};

pub use super::{not_paused, paused};

/// The extension said which handlers it has.
pub fn discovered() -> NewCondition {
    NewCondition::new(types::DISCOVERED, Status::True, reasons::DISCOVERED)
}

/// The extension could not be asked, or its answer made no sense. `error` is the whole chain of causes.
pub fn not_discovered(error: &str) -> NewCondition {
    NewCondition::new(types::DISCOVERED, Status::False, reasons::NOT_DISCOVERED)
        .with_message(format!("Error in discovery: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_extension_configs_read_as_upstreams() {
        check(&[
            (discovered(), "Discovered=True Discovered"),
            (not_discovered("no route"), "Discovered=False NotDiscovered: Error in discovery: no route"),
        ]);
    }
}
