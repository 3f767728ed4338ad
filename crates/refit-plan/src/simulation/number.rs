//! Names of the model: a prefix and a number.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Far above what a simulation uses up, far below what would overflow.
const MAX_NUMBER: u32 = 1_000_000_000;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Reads the name. Leading zeros are refused: one number has one name. So are numbers that leave no room
            /// for those that come later.
            pub fn parse(name: &str) -> Option<Self> {
                let number = name.strip_prefix($prefix)?.parse().ok().map(Self)?;
                (number.to_string() == name && number.0 <= MAX_NUMBER).then_some(number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::parse(&name).ok_or_else(|| {
                    de::Error::custom(format!(
                        concat!("{:?} is no name of a ", $what, ", such as ", $prefix, "1; the number is at most {}"),
                        name, MAX_NUMBER
                    ))
                })
            }
        }
    };
}

number! {
    /// A MachineSet.
    SetNumber, "ms", "MachineSet"
}
number! {
    /// A machine.
    MachineNumber, "m", "machine"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_one_name() {
        assert_eq!(MachineNumber::parse("m10"), Some(MachineNumber(10)));
        assert_eq!(SetNumber::parse("ms2"), Some(SetNumber(2)));
        for name in ["", "m", "m01", "m-1", "m+1", "ms1", "M1", "m1 ", "m4294967296"] {
            assert_eq!(MachineNumber::parse(name), None, "{name:?}");
        }
        assert!(MachineNumber(2) < MachineNumber(10));
    }
}
