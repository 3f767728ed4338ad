//! Carries out writes: judge, make durable, publish, answer. In that order, and whether or not the callers still wait.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Event, Record, Revision, Snapshot, WriteError, disk::Disk, group::Group, index::Index, write::Prepared};

/// What callers ask for.
pub(super) enum Request {
    Commit {
        writes: Vec<Prepared>,
        reply: Reply<Vec<Record>>,
    },
    DropCluster {
        cluster: Arc<str>,
        reply: Reply<Revision>,
    },
    /// Everything at one version: nothing is published while the one writer reads.
    Snapshot {
        reply: Reply<Snapshot>,
    },
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, WriteError>>;

impl Request {
    /// How much of a group it takes up.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Commit { writes, .. } => writes.len().max(1),
            Self::DropCluster { .. } | Self::Snapshot { .. } => 1,
        }
    }
}

/// The one writer.
pub(super) struct Engine {
    index: Arc<Index>,
    disk: Option<Disk>,
    /// The last version given out, also to writes that failed.
    revision: Revision,
}

impl Engine {
    pub(super) fn new(index: Arc<Index>, disk: Option<Disk>) -> Self {
        let revision = index.revision();
        Self { index, disk, revision }
    }

    /// Carries out requests in order; commits that follow each other share one transaction.
    pub(super) fn run(&mut self, requests: Vec<Request>) {
        let mut commits = Vec::new();
        for request in requests {
            match request {
                Request::Commit { writes, reply } => commits.push((writes, reply)),
                Request::DropCluster { cluster, reply } => {
                    self.commit(std::mem::take(&mut commits));
                    answer(reply, self.drop_cluster(&cluster));
                }
                Request::Snapshot { reply } => {
                    self.commit(std::mem::take(&mut commits));
                    let (revision, records) = (self.index.revision(), self.index.all_records());
                    answer(reply, Ok(Snapshot { revision, records }));
                }
            }
        }
        self.commit(commits);
    }

    fn commit(&mut self, commits: Vec<(Vec<Prepared>, Reply<Vec<Record>>)>) {
        if let Err(error) = self.repair() {
            commits.into_iter().for_each(|(_, reply)| answer(reply, Err(error.clone())));
            return;
        }
        let mut group = Group::new(&self.index, self.revision);
        let judged: Vec<_> = commits.into_iter().map(|(writes, reply)| (group.stage(writes), reply)).collect();
        self.revision = group.revision();
        let staged = group.staged;
        let saved = match &mut self.disk {
            Some(disk) if !staged.is_empty() => disk.save(&staged, self.revision),
            _ => Ok(()),
        };
        self.index.set_failing(saved.is_err());
        if saved.is_ok() {
            self.index.publish(staged.into_iter().map(|change| change.event).collect::<Vec<Event>>());
        }
        // Conflicts are answered now as well: what they lost against can be read, and if it failed, so did they.
        for (result, reply) in judged {
            answer(reply, saved.clone().map_err(WriteError::Disk).and(result));
        }
    }

    fn drop_cluster(&mut self, cluster: &str) -> Result<Revision, WriteError> {
        self.repair()?;
        self.revision = self.revision.next();
        if let Some(disk) = &mut self.disk {
            let gone = self.index.cluster_records(cluster);
            let removed = disk.remove(gone.iter().map(Record::key), self.revision);
            self.index.set_failing(removed.is_err());
            removed.map_err(WriteError::Disk)?;
        }
        self.index.drop_cluster(cluster, self.revision);
        Ok(self.revision)
    }

    /// After a failure: nothing goes on before the file agrees with the memory again.
    fn repair(&mut self) -> Result<(), WriteError> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        let repaired = disk.repair(&self.index, self.revision);
        self.index.set_failing(repaired.is_err());
        repaired.map_err(WriteError::Disk)
    }
}

/// A caller that no longer waits has no use for its answer.
fn answer<T>(reply: Reply<T>, result: Result<T, WriteError>) {
    let _ = reply.send(result);
}
