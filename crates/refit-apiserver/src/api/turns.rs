//! Turns of work that may take long: a few at a time, of which no user has all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::access;
use crate::budget::{DECISIONS_AT_A_TIME, DECISIONS_OF_ONE_USER, DECISIONS_OF_OTHERS};
use crate::request::User;

/// All turns. Whoever has to wait is served in the order of arrival, among the others of the same user first.
pub struct Turns {
    all: Semaphore,
    /// Of everybody but the administrator.
    others: Semaphore,
    /// Of those who have a turn or wait for one.
    users: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// A turn, until it is dropped.
pub struct Turn<'a> {
    _of_all: Option<SemaphorePermit<'a>>,
    _of_others: Option<(SemaphorePermit<'a>, OwnPermit<'a>)>,
}

/// What one user has of all turns. The permit goes before the entry does.
struct OwnPermit<'a> {
    permit: Option<OwnedSemaphorePermit>,
    turns: &'a Turns,
    name: &'a str,
}

impl Default for Turns {
    fn default() -> Self {
        let (all, others) = (Semaphore::new(DECISIONS_AT_A_TIME), Semaphore::new(DECISIONS_OF_OTHERS));
        Self { all, others, users: Mutex::default() }
    }
}

impl Turns {
    /// Waits for a turn.
    pub async fn take<'a>(&'a self, user: &'a User) -> Turn<'a> {
        let of_others = if access::is_master(user) {
            None
        } else {
            let own = self.own(&user.name).await;
            // It is never closed.
            self.others.acquire().await.ok().map(|permit| (permit, own))
        };
        Turn { _of_all: self.all.acquire().await.ok(), _of_others: of_others }
    }

    /// Waits until no other work of the user stands in the way.
    async fn own<'a>(&'a self, name: &'a str) -> OwnPermit<'a> {
        let semaphore = {
            let mut users = self.users();
            let make = || Arc::new(Semaphore::new(DECISIONS_OF_ONE_USER));
            users.entry(name.to_owned()).or_insert_with(make).clone()
        };
        let mut own = OwnPermit { permit: None, turns: self, name };
        own.permit = semaphore.acquire_owned().await.ok();
        own
    }

    fn users(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Semaphore>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OwnPermit<'_> {
    fn drop(&mut self) {
        let mut users = self.turns.users();
        drop(self.permit.take());
        if users.get(self.name).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            users.remove(self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::access::{admin, nobody, viewer};

    /// Takes turns until one would have to wait.
    fn take_all<'a>(turns: &'a Turns, user: &'a User) -> Vec<Turn<'a>> {
        std::iter::from_fn(|| turns.take(user).now_or_never()).collect()
    }

    #[test]
    fn no_user_has_all_turns_and_some_are_kept_for_the_administrator() {
        let turns = Turns::default();
        let users = [nobody(), viewer(), User { name: "third".to_owned(), groups: Vec::new() }];
        let held: Vec<Vec<Turn<'_>>> = users.iter().map(|user| take_all(&turns, user)).collect();
        assert!(held.iter().all(|turns| turns.len() == DECISIONS_OF_ONE_USER));
        let fourth = User { name: "fourth".to_owned(), groups: Vec::new() };
        assert!(take_all(&turns, &fourth).is_empty(), "what is left is kept");
        let master = admin();
        assert_eq!(take_all(&turns, &master).len(), DECISIONS_AT_A_TIME - DECISIONS_OF_OTHERS);
        drop(held);
        assert_eq!(take_all(&turns, &fourth).len(), DECISIONS_OF_ONE_USER);
        assert_eq!(take_all(&turns, &master).len(), DECISIONS_AT_A_TIME);
        assert!(turns.users().is_empty(), "nothing is kept of those who have nothing");
    }

    #[tokio::test]
    async fn who_stops_waiting_leaves_nothing_behind() {
        let (turns, user) = (Turns::default(), nobody());
        let held = take_all(&turns, &user);
        let mut waiting = Box::pin(turns.take(&user));
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        assert!((&mut waiting).now_or_never().is_some(), "it is the turn of who has waited");
        drop(waiting);
        assert!(turns.users().is_empty());
    }
}
