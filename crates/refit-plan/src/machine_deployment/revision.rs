//! The number of a rollout: the new MachineSet's is the highest.

/// The number of a rollout, and those that its MachineSet had before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub number: i64,
    /// What the deprecated annotation holds: former revisions, with commas between. Nothing if there were none.
    pub history: Option<String>,
}

/// The new MachineSet carries something else than a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("revision {0:?} of the new MachineSet is not a number")]
pub struct RevisionError(String);

/// The revision of the new MachineSet: above all others, and never below its own.
///
/// `new` and `history` are its annotations, `old` those of the others. One of the others that is no number is passed over.
pub fn next_revision<'a>(
    new: Option<&str>,
    history: Option<&str>,
    old: impl IntoIterator<Item = &'a str>,
) -> Result<Revision, RevisionError> {
    let highest = old.into_iter().filter_map(|text| text.parse().ok()).fold(0_i64, i64::max);
    let next = highest.saturating_add(1);
    let Some(text) = new else {
        return Ok(Revision { number: next, history: history.map(str::to_owned) });
    };
    let current: i64 = text.parse().map_err(|_| RevisionError(text.to_owned()))?;
    let number = next.max(current);
    let history = if number == current {
        history.map(str::to_owned)
    } else {
        let before = history.filter(|list| !list.is_empty() && !list.starts_with(','));
        Some(before.map_or_else(|| text.to_owned(), |list| format!("{list},{text}")))
    };
    Ok(Revision { number, history })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_revision_is_above_all_others_and_never_falls() {
        // The new one and its history, the others; the revision and the history that come of it.
        let cases = [
            ("", None, "", 1, None),
            ("", None, "3 7 five", 8, None),
            ("8", None, "7", 8, None),
            ("9", Some("1"), "7", 9, Some("1")),
            ("2", None, "7", 8, Some("2")),
            ("2", Some("1"), "7", 8, Some("1,2")),
            ("2", Some(""), "7", 8, Some("2")),
            ("", None, "9223372036854775807", i64::MAX, None),
        ];
        for (new, history, old, revision, expected) in cases {
            let new = (!new.is_empty()).then_some(new);
            let found = next_revision(new, history, old.split_whitespace()).expect("must be numbers");
            assert_eq!(found, Revision { number: revision, history: expected.map(str::to_owned) }, "{new:?} {old:?}");
        }
    }

    #[test]
    fn a_new_machine_set_without_a_number_is_an_error() {
        assert_eq!(next_revision(Some("x"), None, []), Err(RevisionError("x".to_owned())));
    }
}
