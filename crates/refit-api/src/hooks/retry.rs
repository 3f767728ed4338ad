//! After how long an extension wants to be asked again.

use std::num::NonZeroU16;

/// After how many seconds an extension wants to be asked again: at least one.
///
/// Zero says "done" on the wire, and a negative number is read as "done" too. Neither can be written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetryAfterSeconds(i32);

impl RetryAfterSeconds {
    /// None for zero, for a negative number, and for one that the wire has no room for.
    pub fn new(seconds: impl TryInto<i32>) -> Option<Self> {
        seconds.try_into().ok().filter(|seconds| *seconds > 0).map(Self)
    }

    pub const fn get(self) -> i32 {
        self.0
    }
}

impl From<NonZeroU16> for RetryAfterSeconds {
    fn from(seconds: NonZeroU16) -> Self {
        Self(seconds.get().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_in_progress_can_be_made() {
        assert_eq!(RetryAfterSeconds::new(0), None);
        assert_eq!(RetryAfterSeconds::new(-1), None);
        assert_eq!(RetryAfterSeconds::new(u32::MAX), None);
        assert_eq!(RetryAfterSeconds::new(30_u64).map(RetryAfterSeconds::get), Some(30));
        assert_eq!(RetryAfterSeconds::new(i32::MAX).map(RetryAfterSeconds::get), Some(i32::MAX));
    }
}
