//! The etcd of a simulated control plane: who is a member, who leads, and what may be changed. Pure.
//!
//! The rules are etcd's own. Without a quorum nothing answers and nothing can be changed; a member is removed only where
//! the others keep a quorum; who joins is a learner until its process runs. What a host reports about its member is a fact and
//! is taken in always.

mod connector;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use connector::etcd_connector;
pub(crate) use store::EtcdStore;
pub use store::{StoreError, read};

/// The membership of one etcd cluster, and how its members are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimEtcd {
    /// How often a leader was elected.
    pub term: u64,
    /// How often a member joined.
    pub joins: u64,
    /// Nothing without a quorum.
    pub leader: Option<u64>,
    /// In the order in which they joined.
    pub members: Vec<SimEtcdMember>,
    /// Hosts whose members were removed while they are there: such a member does not come back by itself.
    pub removed_hosts: BTreeSet<String>,
}

/// A member of etcd.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimEtcdMember {
    pub id: u64,
    /// The name of its Node. Etcd knows it once the member has started.
    pub name: String,
    /// The host that it lives on; empty once that is gone.
    pub host: String,
    /// Tells one run of its process from the next.
    pub process: String,
    pub is_up: bool,
    pub is_learner: bool,
    pub has_started: bool,
    pub alarm: Option<SimEtcdAlarm>,
}

/// What a member complains about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SimEtcdAlarm {
    NoSpace,
    Corrupt,
}

/// What a host says of its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberReport {
    /// The name of its Node.
    pub name: String,
    pub host: String,
    pub process: String,
    pub state: MemberState,
}

/// How a member is, as its host knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// Its process runs, and complains where something is wrong.
    Up(Option<SimEtcdAlarm>),
    /// Its process does not run at the moment.
    Down,
    /// Nothing runs there, so that it cannot join either.
    Unreachable,
    /// It was taken out of the membership.
    Missing,
}

/// Why etcd refuses something. The words are close to etcd's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EtcdRefusal {
    #[error("etcd has no leader: {up} of {voters} voting members answer, and {quorum} are needed")]
    NoQuorum { up: usize, voters: usize, quorum: usize },
    #[error("etcd has no member {id:x}")]
    UnknownMember { id: u64 },
    #[error("etcd member {name} cannot lead: it is a learner, or it does not answer")]
    CannotLead { name: String },
    #[error("etcd member {name} is the last one that votes")]
    LastVoter { name: String },
    #[error("etcd member {name} cannot be removed: the others would have no quorum")]
    WouldLoseQuorum { name: String },
}

impl SimEtcd {
    /// Takes in what a host says of its member: lets it join, start, stop.
    ///
    /// Doing it twice equals doing it once. To join and to vote take a quorum of the others.
    pub fn observe(&self, report: &MemberReport) -> Result<Self, EtcdRefusal> {
        let mut next = self.clone();
        let is_removed = self.removed_hosts.contains(&report.host);
        match (next.members.iter().position(|member| member.host == report.host), report.state) {
            (Some(at), MemberState::Missing) => drop(next.members.remove(at)),
            (Some(at), MemberState::Up(alarm)) => next.start(at, report, alarm)?,
            (Some(at), MemberState::Down | MemberState::Unreachable) => next.members[at].is_up = false,
            (None, MemberState::Up(alarm)) if !is_removed => {
                next.join(report)?;
                next.start(next.members.len() - 1, report, alarm)?;
            }
            (None, MemberState::Down) if !is_removed && self.leader.is_some() => next.join(report)?,
            (None, _) => {}
        }
        next.elect();
        Ok(next)
    }

    /// A host is gone. Its member stays in the membership and does not answer any more.
    #[must_use]
    pub fn lose_host(&self, host: &str) -> Self {
        let mut next = self.clone();
        next.removed_hosts.remove(host);
        for member in next.members.iter_mut().filter(|member| member.host == host) {
            (member.is_up, member.host) = (false, String::new());
        }
        next.elect();
        next
    }

    /// Whether no host has any of its data.
    pub fn is_gone(&self) -> bool {
        self.members.iter().all(|member| member.host.is_empty())
    }

    /// The members, as each of them that answers says it.
    pub fn members(&self) -> Result<&[SimEtcdMember], EtcdRefusal> {
        self.require_quorum().map(|()| self.members.as_slice())
    }

    /// Makes another member the leader.
    pub fn move_leader(&self, to: u64) -> Result<Self, EtcdRefusal> {
        self.require_quorum()?;
        let member = self.member(to)?;
        if !member.can_vote_now() {
            return Err(EtcdRefusal::CannotLead { name: member.name.clone() });
        }
        let mut next = self.clone();
        next.lead(Some(to));
        Ok(next)
    }

    /// Takes a member out, where the others keep a quorum.
    pub fn remove(&self, id: u64) -> Result<Self, EtcdRefusal> {
        self.require_quorum()?;
        let member = self.member(id)?;
        let name = || member.name.clone();
        if !member.is_learner {
            let others: Vec<_> = self.voters().filter(|other| other.id != id).collect();
            if others.is_empty() {
                return Err(EtcdRefusal::LastVoter { name: name() });
            }
            if others.iter().filter(|other| other.is_up).count() < quorum(others.len()) {
                return Err(EtcdRefusal::WouldLoseQuorum { name: name() });
            }
        }
        let mut next = self.clone();
        next.members.retain(|other| other.id != id);
        if !member.host.is_empty() {
            next.removed_hosts.insert(member.host.clone());
        }
        next.elect();
        Ok(next)
    }

    fn require_quorum(&self) -> Result<(), EtcdRefusal> {
        let (voters, up) = (self.voters().count(), self.up());
        let quorum = quorum(voters);
        if up >= quorum { Ok(()) } else { Err(EtcdRefusal::NoQuorum { up, voters, quorum }) }
    }

    /// A new member. The first one of all is a cluster by itself; etcd begins anew where no host has its data any more.
    fn join(&mut self, report: &MemberReport) -> Result<(), EtcdRefusal> {
        let is_first = self.is_gone();
        if is_first {
            self.members.clear();
        } else {
            self.require_quorum()?;
        }
        let MemberReport { name, host, process, .. } = report.clone();
        self.joins += 1;
        let id = member_id(&host, self.joins);
        let member = SimEtcdMember { id, name, host, process, is_learner: !is_first, ..SimEtcdMember::default() };
        self.members.push(member);
        Ok(())
    }

    /// The process of a member runs. A learner votes from now on; a leader whose process is a new one has lost its leadership.
    fn start(&mut self, at: usize, report: &MemberReport, alarm: Option<SimEtcdAlarm>) -> Result<(), EtcdRefusal> {
        if self.members[at].is_learner {
            self.require_quorum()?;
        }
        let member = &mut self.members[at];
        let is_another_process = member.process != report.process;
        (member.is_up, member.is_learner, member.has_started) = (true, false, true);
        (member.alarm, member.process) = (alarm, report.process.clone());
        let id = member.id;
        if is_another_process && self.leader == Some(id) {
            let successor = self.successor();
            self.lead(successor.or(Some(id)));
        }
        Ok(())
    }

    /// Keeps the leader while it can lead, and elects another one otherwise.
    fn elect(&mut self) {
        let can_lead = self.leader.is_some_and(|leader| self.voters().any(|one| one.id == leader && one.is_up));
        if self.require_quorum().is_err() {
            self.leader = None;
        } else if !can_lead {
            let successor = self.successor();
            self.lead(successor);
        }
    }

    /// The member that leads next: the first one after the leader, in the order of their ids.
    fn successor(&self) -> Option<u64> {
        let mut ids: Vec<u64> = self.voters().filter(|member| member.is_up).map(|member| member.id).collect();
        ids.sort_unstable();
        let after = self.leader.and_then(|leader| ids.iter().find(|id| **id > leader));
        after.or(ids.iter().find(|id| Some(**id) != self.leader)).copied()
    }

    fn lead(&mut self, leader: Option<u64>) {
        self.leader = leader;
        self.term += 1;
    }

    fn member(&self, id: u64) -> Result<&SimEtcdMember, EtcdRefusal> {
        self.members.iter().find(|member| member.id == id).ok_or(EtcdRefusal::UnknownMember { id })
    }

    fn voters(&self) -> impl Iterator<Item = &SimEtcdMember> {
        self.members.iter().filter(|member| !member.is_learner)
    }

    fn up(&self) -> usize {
        self.voters().filter(|member| member.is_up).count()
    }
}

impl SimEtcdMember {
    fn can_vote_now(&self) -> bool {
        self.is_up && !self.is_learner
    }
}

/// How many of so many voting members must answer. No members have no quorum.
fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// A number that looks like etcd's: a host that joins again gets another one.
fn member_id(host: &str, joins: u64) -> u64 {
    let digest: [u8; 32] = Sha256::digest(format!("{host}/{joins}")).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
