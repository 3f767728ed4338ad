//! Following the changes of a resource.

use std::{fmt, sync::Arc};

use super::{
    Event, Revision, Scope, Store,
    history::Forgotten,
    shard::{Shard, State},
};

/// Why a watch has no more events. The client lists again and watches from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The next change is no longer kept: the watch began, or has become, too old.
    #[error("changes are kept from version {oldest} on only")]
    TooOld {
        /// The oldest version from which a watch could begin now.
        oldest: Revision,
    },
    /// The logical cluster is gone.
    #[error("the logical cluster was dropped")]
    Dropped,
}

impl From<Forgotten> for WatchEnd {
    fn from(Forgotten(oldest): Forgotten) -> Self {
        Self::TooOld { oldest }
    }
}

/// The changes of a scope, in order and without a gap. Holds a position and no events: those are shared by all watches,
/// and a watch that reads too slowly ends with [`WatchEnd::TooOld`] instead of taking up memory.
pub struct Watch {
    store: Store,
    shard: Arc<Shard>,
    scope: Scope,
    position: Revision,
}

impl Watch {
    pub(super) fn new(store: Store, scope: Scope, position: Revision) -> Result<Self, WatchEnd> {
        let shard = store.index.scope(&scope);
        check(&shard.read(), position)?;
        Ok(Self { store, shard, scope, position })
    }

    /// Everything up to this version was returned: where another watch may go on, and what a bookmark says.
    pub fn position(&self) -> Revision {
        self.position
    }

    /// The next event, if there is one already. When there is none, the position moves up to the store's version.
    pub fn try_next(&mut self) -> Result<Option<Event>, WatchEnd> {
        let state = self.shard.read();
        check(&state, self.position)?;
        while let Some(event) = state.history.after(self.position)? {
            self.position = event.revision();
            if self.scope.covers(event.record.key()) {
                return Ok(Some(event.clone()));
            }
        }
        // Read under the lock: no change of this resource up to this version is still to come.
        self.position = self.position.max(self.store.revision());
        Ok(None)
    }

    /// The next event, as soon as there is one. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Result<Event, WatchEnd> {
        loop {
            let shard = self.shard.clone();
            let changed = shard.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            changed.await;
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("scope", &self.scope).field("position", &self.position).finish_non_exhaustive()
    }
}

fn check(state: &State, position: Revision) -> Result<(), WatchEnd> {
    if state.dropped {
        return Err(WatchEnd::Dropped);
    }
    Ok(state.history.reaches(position)?)
}
