//! What cannot be said in Ignition's format.

use super::{FieldError, FieldPath};
use crate::bootstrap::{Encoding, Filesystem, Format, KubeadmConfigSpec, Partition, TableType};
use crate::resource::is_default;

const NOT_WITH_IGNITION: &str = "not supported when format is ignition";

/// The settings for Ignition go with its format, and its format does without what it cannot express.
pub(super) fn validate(spec: &KubeadmConfigSpec, path: &FieldPath) -> Vec<FieldError> {
    if spec.format == Some(Format::Ignition) {
        return validate_restrictions(spec, path);
    }
    let is_set = !is_default(&spec.ignition);
    is_set
        .then(|| path.child("format").invalid(spec.format, "must be ignition when ignition is set"))
        .into_iter()
        .collect()
}

fn validate_restrictions(spec: &KubeadmConfigSpec, path: &FieldPath) -> Vec<FieldError> {
    [
        forbid(&spec.users, "inactive", |user| user.inactive == Some(true), &path.child("users")),
        forbid(&spec.files, "encoding", |file| is_gzip(file.encoding), &path.child("files")),
        validate_boot_commands(spec, path),
        validate_table_types(&spec.disk_setup.partitions, &path.child("diskSetup.partitions")),
        validate_filesystems(&spec.disk_setup.filesystems, &path.child("diskSetup.filesystems")),
    ]
    .concat()
}

fn is_gzip(encoding: Option<Encoding>) -> bool {
    matches!(encoding, Some(Encoding::Gzip | Encoding::GzipBase64))
}

fn validate_boot_commands(spec: &KubeadmConfigSpec, path: &FieldPath) -> Vec<FieldError> {
    let has_some = !spec.boot_commands.is_empty();
    has_some.then(|| path.child("bootCommands").forbidden(NOT_WITH_IGNITION)).into_iter().collect()
}

fn validate_table_types(partitions: &[Partition], path: &FieldPath) -> Vec<FieldError> {
    let wrong = |disk: &Partition| disk.table_type.filter(|table_type| *table_type != TableType::Gpt);
    partitions
        .iter()
        .map(wrong)
        .enumerate()
        .filter_map(|(index, table_type)| Some((index, table_type?)))
        .map(|(index, table_type)| {
            path.index(index).child("tableType").invalid(table_type, "must be gpt when format is ignition")
        })
        .collect()
}

fn validate_filesystems(filesystems: &[Filesystem], path: &FieldPath) -> Vec<FieldError> {
    [
        forbid(filesystems, "replaceFS", |filesystem| filesystem.replace_fs.is_some(), path),
        forbid(filesystems, "partition", |filesystem| filesystem.partition.is_some(), path),
    ]
    .concat()
}

/// An error at `field` of each item that `is_wrong`.
fn forbid<T>(items: &[T], field: &str, is_wrong: impl Fn(&T) -> bool, path: &FieldPath) -> Vec<FieldError> {
    items
        .iter()
        .enumerate()
        .filter(|(_, item)| is_wrong(item))
        .map(|(index, _)| path.index(index).child(field).forbidden(NOT_WITH_IGNITION))
        .collect()
}
