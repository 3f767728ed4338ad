//! What came of reading: a failed read is a value of its own, so that nobody takes it for "there is none".
//!
//! A list that failed and was taken for an empty one makes a controller create machines that are there, or delete what
//! belongs to them. Whoever decides about numbers takes a slice, and a slice comes only from a list that was read.

/// A list of objects, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed<T> {
    /// All that there are, maybe none.
    All(Vec<T>),
    Unreadable(Unreadable),
}

/// One object, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Read<T> {
    Found(T),
    /// It is known not to exist.
    Missing,
    Unreadable(Unreadable),
}

/// Something could not be read: nothing is known about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} could not be read: {why}")]
pub struct Unreadable {
    /// As in `machines`, or `DevMachine default/m1`.
    pub what: String,
    pub why: String,
}

/// An object that is needed is not there, or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    #[error("{what} does not exist")]
    Missing { what: String },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl<T> Listed<T> {
    /// The objects, if they were read.
    pub fn all(&self) -> Result<&[T], &Unreadable> {
        match self {
            Self::All(items) => Ok(items),
            Self::Unreadable(problem) => Err(problem),
        }
    }
}

impl<T> Read<T> {
    /// The object, if it is there. `what` names it in the error.
    pub fn found(&self, what: impl FnOnce() -> String) -> Result<&T, NotFound> {
        match self {
            Self::Found(object) => Ok(object),
            Self::Missing => Err(NotFound::Missing { what: what() }),
            Self::Unreadable(problem) => Err(problem.clone().into()),
        }
    }

    /// Whether it is known not to exist. What could not be read may exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable() -> Unreadable {
        Unreadable { what: "machines".to_owned(), why: "connection refused".to_owned() }
    }

    #[test]
    fn a_failed_list_is_not_an_empty_one() {
        assert_eq!(Listed::<()>::All(Vec::new()).all(), Ok(&[][..]));
        let failed = Listed::<()>::Unreadable(unreadable());
        let error = failed.all().expect_err("it was not read");
        assert_eq!(error.to_string(), "machines could not be read: connection refused");
    }

    #[test]
    fn what_could_not_be_read_may_exist() {
        let failed = Read::<()>::Unreadable(unreadable());
        assert!(!failed.is_missing() && Read::<()>::Missing.is_missing());
        let check = |read: &Read<()>, expected: Option<&str>| {
            let found = read.found(|| "Host a".to_owned());
            assert_eq!(found.err().map(|error| error.to_string()).as_deref(), expected);
        };
        check(&failed, Some("machines could not be read: connection refused"));
        check(&Read::Missing, Some("Host a does not exist"));
        check(&Read::Found(()), None);
    }
}
