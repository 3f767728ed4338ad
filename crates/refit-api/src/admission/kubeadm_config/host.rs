//! Rules for files, users and disks of the host.

use std::collections::BTreeSet;

use super::{FieldError, FieldPath};
use crate::bootstrap::{File, Partition, User};

/// All of a disk.
const PERCENTAGE_MAX: i64 = 100;

/// Each file has one source of content at most, and a path of its own.
pub(super) fn validate_files(files: &[File], path: &FieldPath) -> Vec<FieldError> {
    let mut seen = BTreeSet::new();
    let mut errors = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let path = path.index(index);
        if file.content.is_some() && file.content_from.is_some() {
            errors.push(path.invalid(&file.path, "may have content or contentFrom, not both"));
        }
        if !seen.insert(&file.path) {
            errors.push(path.child("path").duplicate(&file.path));
        }
    }
    errors
}

/// Each user has one source of the password at most.
pub(super) fn validate_users(users: &[User], path: &FieldPath) -> Vec<FieldError> {
    let has_both = |user: &User| user.passwd.is_some() && user.passwd_from.is_some();
    users
        .iter()
        .enumerate()
        .filter(|(_, user)| has_both(user))
        .map(|(index, user)| path.index(index).invalid(&user.name, "may have passwd or passwdFrom, not both"))
        .collect()
}

/// The partitions of a disk take no more than the disk.
pub(super) fn validate_partitions(partitions: &[Partition], path: &FieldPath) -> Vec<FieldError> {
    let total = |disk: &Partition| disk.disk_layout.iter().map(|part| i64::from(part.percentage)).sum::<i64>();
    partitions
        .iter()
        .map(total)
        .enumerate()
        .filter(|(_, total)| *total > PERCENTAGE_MAX)
        .map(|(index, total)| {
            path.index(index).child("diskLayout").invalid(total, "the percentages must add up to at most 100")
        })
        .collect()
}
