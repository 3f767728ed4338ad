//! Hooks that are still to be called for an object, tracked in one of its annotations.
//!
//! The mark is set before an operation begins and taken away after the hook was answered, so that a crash in
//! between does not lose the call.

use std::collections::BTreeMap;

use crate::name_set::NameSet;
use crate::vocabulary::annotations::PENDING_HOOKS;

/// Whether `hook` is still to be called.
pub fn is_pending(annotations: &BTreeMap<String, String>, hook: &str) -> bool {
    NameSet::from_annotation(annotations, PENDING_HOOKS).contains(hook)
}

/// Notes that `hook` is to be called. Tells whether the annotation changed, that is, whether to write the object.
pub fn mark_pending(annotations: &mut BTreeMap<String, String>, hook: &str) -> bool {
    let mut hooks = NameSet::from_annotation(annotations, PENDING_HOOKS);
    hooks.insert(hook);
    hooks.write_to(annotations, PENDING_HOOKS)
}

/// Notes that `hook` was answered. The annotation goes with its last hook; one without `hook` is left as it is.
pub fn mark_done(annotations: &mut BTreeMap<String, String>, hook: &str) -> bool {
    let mut hooks = NameSet::from_annotation(annotations, PENDING_HOOKS);
    if !hooks.contains(hook) {
        return false;
    }
    hooks.remove(hook);
    hooks.write_to(annotations, PENDING_HOOKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(list: Option<&str>) -> BTreeMap<String, String> {
        list.map(|list| (PENDING_HOOKS.to_owned(), list.to_owned())).into_iter().collect()
    }

    #[test]
    fn marking_pending_adds_in_order() {
        let cases = [
            (None, "UpdateMachine", true),
            (Some(""), "UpdateMachine", true),
            (Some("UpdateMachine"), "UpdateMachine", false),
            (Some("Zeta"), "UpdateMachine,Zeta", true),
            (Some("UpdateMachine,,AfterX"), "AfterX,UpdateMachine", true),
        ];
        for (before, after, changed) in cases {
            let mut given = annotations(before);
            assert_eq!(mark_pending(&mut given, "UpdateMachine"), changed, "{before:?}");
            assert_eq!(given, annotations(Some(after)), "{before:?}");
            assert!(is_pending(&given, "UpdateMachine"));
        }
    }

    #[test]
    fn marking_done_removes_one_and_drops_an_empty_list() {
        let cases = [
            (None, None, false),
            (Some("Zeta,AfterX"), Some("Zeta,AfterX"), false),
            (Some("UpdateMachine"), None, true),
            (Some("Zeta, UpdateMachine"), Some("Zeta"), true),
        ];
        for (before, after, changed) in cases {
            let mut given = annotations(before);
            assert_eq!(mark_done(&mut given, "UpdateMachine"), changed, "{before:?}");
            assert_eq!(given, annotations(after), "{before:?}");
            assert!(!is_pending(&given, "UpdateMachine"));
        }
    }
}
