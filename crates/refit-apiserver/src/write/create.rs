//! A new object.

use serde_json::Value;

use super::{Change, Decoded, Outcome, Scene, admission, prepare, validation};
use crate::apply::{self, Writer};
use crate::metadata::{metadata_mut, text};
use crate::status::Status;

/// Decides what is stored for a new object. Whether there is one of that name already, the store knows.
pub fn create(scene: &Scene<'_>, decoded: Decoded) -> Result<Outcome, Status> {
    let Decoded { object, warnings } = decoded;
    let made = |object| make(scene, object, warnings.clone());
    made(object).map_err(|status| status.with_warnings(&warnings))
}

fn make(scene: &Scene<'_>, mut object: Value, mut warnings: Vec<String>) -> Result<Outcome, Status> {
    if !matches!(text(&object, "resourceVersion"), "" | "0") {
        return Err(Status::internal("resourceVersion should not be set on objects to be created"));
    }
    prepare::identify(scene, &mut object);
    name(scene, &mut object);
    let writer = Writer { manager: scene.request.field_manager(), now: scene.now };
    apply::charge(scene.endpoint(), &object, scene.budget)?;
    apply::update(scene.endpoint(), None, &mut object, &writer);
    finish(scene, &mut object, &mut warnings)?;
    Ok(Outcome { change: Change::Put(object), warnings })
}

/// What happens to every new object, however it came: admission, the kind's preparation, validation.
pub(super) fn finish(scene: &Scene<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<(), Status> {
    admission::set_defaults(scene, object, None);
    prepare::for_create(scene, object);
    validation::of_new(scene, object)?;
    warnings.extend(validation::advice(scene.resource, object, None));
    warnings.extend(admission::validate(scene, object, None)?);
    Ok(())
}

fn name(scene: &Scene<'_>, object: &mut Value) {
    let prefix = text(object, "generateName").to_owned();
    if text(object, "name").is_empty()
        && !prefix.is_empty()
        && let Some(metadata) = metadata_mut(object)
    {
        metadata.insert("name".to_owned(), scene.fresh.name(&prefix).into());
    }
}
