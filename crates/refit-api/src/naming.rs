//! How generated names come about: random suffixes, length limits, templates, and label values made from names.
//!
//! Chance comes in as a number, so that a name is a function of its inputs.

mod label_value;
mod template;

use std::fmt;

pub use label_value::{fnv32a, label_value_of};
pub use template::{NameOwner, NameTemplate, RANDOM_ACTION, TemplateError};

use crate::admission::names::LABEL_MAX_LENGTH;

/// How long a random suffix is.
pub const SUFFIX_LENGTH: usize = 5;

/// The longest a name may be that ends up in labels and host names.
pub const MAX_LENGTH: usize = LABEL_MAX_LENGTH;

/// How much of a name stays when a random suffix is put behind it.
pub const MAX_BASE_LENGTH: usize = MAX_LENGTH - SUFFIX_LENGTH;

/// What Kubernetes makes suffixes of: no vowels and nothing that looks like one, so that no words come out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Five characters that make a generated name unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RandomSuffix([u8; SUFFIX_LENGTH]);

impl RandomSuffix {
    /// The suffix that a random number stands for. Evenly spread numbers give evenly spread suffixes.
    pub fn from_random(number: u64) -> Self {
        let mut rest = number;
        Self(std::array::from_fn(|_| {
            let base = ALPHABET.len() as u64;
            let letter = ALPHABET[(rest % base) as usize];
            rest /= base;
            letter
        }))
    }
}

impl fmt::Display for RandomSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

/// A name made like those that the API server makes from `generateName`: the base, cut to fit, then the suffix.
pub fn generated_name(base: &str, suffix: RandomSuffix) -> String {
    let kept = &base[..base.floor_char_boundary(MAX_BASE_LENGTH)];
    format!("{kept}{suffix}")
}

/// The name of a new MachineSet. Of a MachineDeployment with a very long name, even the dash is cut off.
pub fn machine_set_name(machine_deployment: &str, suffix: RandomSuffix) -> String {
    generated_name(&format!("{machine_deployment}-"), suffix)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_spell_the_alphabet() {
        let cases = [(0, "bbbbb"), (1, "cbbbb"), (26, "9bbbb"), (27, "bcbbb"), (27_u64.pow(5), "bbbbb")];
        for (number, expected) in cases {
            assert_eq!(RandomSuffix::from_random(number).to_string(), expected);
        }
    }

    #[test]
    fn long_bases_are_cut_to_leave_room_for_the_suffix() {
        let suffix = RandomSuffix::from_random(0);
        let cases = [
            ("md-1".to_owned(), "md-1-bbbbb".to_owned()),
            ("a".repeat(57), format!("{}-bbbbb", "a".repeat(57))),
            ("a".repeat(58), format!("{}bbbbb", "a".repeat(58))),
            ("a".repeat(100), format!("{}bbbbb", "a".repeat(58))),
        ];
        for (name, expected) in cases {
            assert_eq!(machine_set_name(&name, suffix), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_fit_whatever_the_base(base in ".{0,80}", number: u64) {
            let name = generated_name(&base, RandomSuffix::from_random(number));
            prop_assert!(name.len() <= MAX_LENGTH);
        }

        #[test]
        fn neighbouring_numbers_give_different_suffixes(start: u32) {
            let suffixes: BTreeSet<_> = (0..100).map(|i| RandomSuffix::from_random(u64::from(start) + i)).collect();
            prop_assert_eq!(suffixes.len(), 100);
        }
    }
}
