//! The facts, as requests.

mod applies;
mod bad_input;
mod built_in;
mod cluster_api;
mod costs;
mod deletes;
mod field_validation;
mod lists;
mod once_wrong;
mod patches;
mod validation;
mod watches;
mod writes;

use super::script::Case;

pub fn all() -> Vec<Case> {
    let groups = [
        writes::cases(),
        validation::cases(),
        field_validation::cases(),
        applies::cases(),
        patches::cases(),
        deletes::cases(),
        built_in::cases(),
        cluster_api::cases(),
        lists::cases(),
        watches::cases(),
        bad_input::cases(),
        costs::cases(),
        once_wrong::cases(),
    ];
    groups.concat()
}
