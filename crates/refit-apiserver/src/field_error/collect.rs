//! The errors of one refusal, within bounds: a small request must not be answered at any length.

use std::ops::Deref;

use super::{ErrorKind, FieldError};

/// How many errors a refusal names. Nobody mends more at once.
pub const MAX_ERRORS: usize = 256;

/// What the words of all errors of a refusal come to: 512 KiB. A single error has at most three texts of 8 KiB.
pub const MAX_ERRORS_BYTES: usize = 512 * 1024;

/// What a refusal takes up at most: the errors, the same words in the message, and in the causes, and as text of the answer.
pub const REFUSAL_BYTES: usize = 4 * MAX_ERRORS_BYTES;

/// What is said in place of the errors that are left out.
pub(crate) const MORE: &str = "there are more errors than are named here; correct these first";

/// What is wrong with the fields of an object. Errors beyond the bounds are left out; then it says so, and whoever looks for
/// further ones can stop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    bytes: usize,
    is_closed: bool,
}

impl FieldErrors {
    /// Whether errors were left out. There is no use in finding more.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn push(&mut self, error: FieldError) {
        let bytes = error.bytes();
        self.is_closed |= self.errors.len() == MAX_ERRORS || self.bytes + bytes > MAX_ERRORS_BYTES;
        if !self.is_closed {
            self.bytes += bytes;
            self.errors.push(error);
        }
    }

    /// Takes errors as long as there is room; the rest of them is not even made.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            self.push(error);
            if self.is_closed {
                return;
            }
        }
    }

    /// Adds all that somebody else found.
    pub fn merge(&mut self, other: Self) {
        self.extend(other.errors);
        self.is_closed |= other.is_closed;
    }

    /// The same errors of something that stands at this path.
    #[must_use]
    pub fn below(mut self, path: &str) -> Self {
        for error in &mut self.errors {
            error.field = if error.field.is_empty() { path.to_owned() } else { format!("{path}.{}", error.field) };
        }
        self
    }

    /// The errors as a refusal says them.
    pub(crate) fn said(&self) -> Vec<FieldError> {
        let more = || FieldError::new(ErrorKind::Invalid, "<nil>", None, MORE);
        self.errors.iter().cloned().chain(self.is_closed.then(more)).collect()
    }
}

impl Deref for FieldErrors {
    type Target = [FieldError];

    fn deref(&self) -> &[FieldError] {
        &self.errors
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<T: IntoIterator<Item = FieldError>>(errors: T) -> Self {
        let mut collected = Self::default();
        collected.extend(errors);
        collected
    }
}

impl From<FieldError> for FieldErrors {
    fn from(error: FieldError) -> Self {
        Self::from_iter([error])
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_left_out_is_said_and_not_made() {
        let made = Cell::new(0);
        let errors = (0..100_000).map(|number| {
            made.set(made.get() + 1);
            FieldError::required(format!("spec.x[{number}]"), "")
        });
        let errors = FieldErrors::from_iter(errors);
        assert_eq!((errors.len(), errors.is_closed(), made.get()), (MAX_ERRORS, true, MAX_ERRORS + 1));
        let said = errors.said();
        assert_eq!(said[MAX_ERRORS].to_string(), format!("<nil>: Invalid value: {MORE}"));
    }

    #[test]
    fn as_many_as_there_is_room_for_are_all() {
        let errors: FieldErrors = (0..MAX_ERRORS).map(|_| FieldError::required("x", "")).collect();
        assert!(!errors.is_closed());
        assert_eq!(errors.said().len(), MAX_ERRORS);
    }

    #[test]
    fn long_words_count_and_what_others_left_out_stays_left_out() {
        let long = || FieldError::invalid("x", "v".repeat(100_000), "d".repeat(100_000));
        let errors: FieldErrors = (0..MAX_ERRORS).map(|_| long()).collect();
        assert!(errors.is_closed() && errors.len() < MAX_ERRORS);
        let bytes: usize = errors.said().iter().map(|error| error.to_string().len()).sum();
        assert!(bytes <= MAX_ERRORS_BYTES + 1_000, "{bytes}");
        let mut all = FieldErrors::default();
        all.merge(errors);
        assert!(all.is_closed());
    }
}
