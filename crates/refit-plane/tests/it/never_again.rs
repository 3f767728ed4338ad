//! What is wrong about upstream's way in place, as stories that would end badly there. The numbers are those of the
//! design's list; 3 and 13 are told in `kills`, 5 and 11 are about control planes.

pub mod extensions;
mod moves;
mod objects;

pub use objects::{ODD, REFUSED};

use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use refit_plane::Backend;
use refit_plane::sample::Workers as Sample;

/// What has to be so before anybody begins.
pub async fn prepare(backend: &Backend) {
    objects::refuse_memory(backend).await;
}

/// Tells all of them at the same time. Somebody else has started the controllers.
pub async fn tell(backend: &Arc<Backend>) {
    join_all([
        moves::a_pause_in_the_middle_of_a_move_deletes_nothing(backend).boxed_local(),
        moves::on_delete_in_the_middle_of_a_move_deletes_nothing(backend).boxed_local(),
        moves::a_change_back_in_the_middle_of_a_move_loses_nothing(backend).boxed_local(),
        moves::the_status_is_never_complete_too_early_and_never_wobbles(backend).boxed_local(),
        extensions::only_the_word_done_ends_an_update(backend).boxed_local(),
        extensions::a_broken_extension_does_not_block_scaling(backend).boxed_local(),
        extensions::an_extension_that_has_changed_is_asked_again(backend).boxed_local(),
        extensions::a_health_check_waits_for_an_update(backend).boxed_local(),
        objects::a_spec_that_is_refused_moves_no_machine(backend).boxed_local(),
        objects::a_deleted_template_does_not_block_scaling(backend).boxed_local(),
        objects::machines_without_bootstrap_and_version_finish(backend).boxed_local(),
    ])
    .await;
}

fn require(replicas: i32) -> Sample {
    Sample { replicas, policy: Some("Require"), ..Sample::default() }
}
