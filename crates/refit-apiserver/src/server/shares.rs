//! Shares of what a server has room for: no identity takes it all, and the administrator always finds some.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::access;
use crate::request::User;

/// Room that is shared.
pub(super) struct Shares {
    bounds: Bounds,
    taken: Mutex<Taken>,
}

/// How much there is, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// All of it.
    all: usize,
    /// What everybody but the administrator may have together; the rest is kept for the administrator.
    others: usize,
    /// What one of them may have.
    each: usize,
}

#[derive(Default)]
struct Taken {
    all: usize,
    others: usize,
    /// Only those who have something: no more entries than there is room.
    by_user: BTreeMap<String, usize>,
}

/// A share that is given back when it is dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    /// `None` for the administrator.
    user: Option<String>,
    count: usize,
}

impl Bounds {
    /// Three quarters for everybody but the administrator, of which nobody has more than a third.
    pub(super) fn new(all: usize) -> Self {
        let others = (all - all / 4).min(all);
        Self { all, others, each: (others / 3).max(others.min(1)) }
    }
}

impl Shares {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, taken: Mutex::default() })
    }

    /// A share for a user. What is larger than one may have has to have all of that for itself.
    pub(super) fn take(self: &Arc<Self>, user: &User, count: usize) -> Option<Share> {
        let is_master = access::is_master(user);
        let name = (!is_master).then_some(user.name.as_str());
        let Bounds { all, others, each } = self.bounds;
        let count = count.min(if is_master { all } else { each }).max(1);
        let mut taken = self.taken();
        let own = name.and_then(|name| taken.by_user.get(name)).copied().unwrap_or(0);
        let has_room =
            taken.all + count <= all && (is_master || (taken.others + count <= others && own + count <= each));
        if !has_room {
            return None;
        }
        taken.all += count;
        if let Some(name) = name {
            taken.others += count;
            taken.by_user.insert(name.to_owned(), own + count);
        }
        drop(taken);
        Some(Share { shares: self.clone(), user: name.map(str::to_owned), count })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.all -= self.count;
        let Some(name) = &self.user else { return };
        taken.others -= self.count;
        match taken.by_user.get_mut(name) {
            Some(own) if *own > self.count => *own -= self.count,
            _ => drop(taken.by_user.remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{admin, nobody, viewer};

    #[test]
    fn nobody_takes_it_all_and_the_administrator_always_finds_some() {
        let shares = Shares::new(Bounds::new(12));
        let take = |user: &User| shares.take(user, 1);
        let held: Vec<Share> = std::iter::from_fn(|| take(&nobody())).collect();
        assert_eq!(held.len(), 3, "a third of three quarters");
        let others: Vec<Share> = std::iter::from_fn(|| take(&viewer())).collect();
        assert_eq!(others.len(), 3);
        let third: Vec<Share> =
            std::iter::from_fn(|| take(&User { name: "third".to_owned(), groups: Vec::new() })).collect();
        assert_eq!(third.len(), 3);
        assert!(take(&User { name: "fourth".to_owned(), groups: Vec::new() }).is_none(), "the rest is kept");
        let mine: Vec<Share> = std::iter::from_fn(|| take(&admin())).collect();
        assert_eq!(mine.len(), 3);
        drop(held);
        assert!(take(&nobody()).is_some(), "what is given back can be had again");
        drop((others, third, mine));
        assert_eq!(std::iter::from_fn(|| take(&admin())).collect::<Vec<_>>().len(), 12);
        assert!(shares.taken().by_user.is_empty(), "nothing is kept of those who have nothing");
    }

    #[test]
    fn small_numbers_leave_something_for_everybody_who_may_have_any() {
        assert_eq!(Bounds::new(0), Bounds { all: 0, others: 0, each: 0 });
        assert_eq!(Bounds::new(1), Bounds { all: 1, others: 1, each: 1 });
        assert!(Shares::new(Bounds::new(0)).take(&admin(), 1).is_none());
        let shares = Shares::new(Bounds::new(8));
        let large = shares.take(&viewer(), 1_000).expect("it must have all that one may have");
        assert!(shares.take(&viewer(), 1).is_none());
        drop(large);
    }
}
