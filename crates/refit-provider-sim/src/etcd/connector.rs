//! The simulated etcd as whoever manages a control plane reaches it.

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use refit_workload::etcd::{Alarm, Etcd, EtcdConnector, EtcdError, EtcdTarget, Member, Membership};

use super::{EtcdRefusal, EtcdStore, SimEtcd, SimEtcdAlarm, SimEtcdMember, StoreError};
use crate::words::KUBE_SYSTEM;

/// Connects to the etcd of simulated control planes, in place of a port-forward to a real one.
///
/// A member answers while its host and its Pod are up. The authority of etcd is not looked at: nothing here is encrypted.
pub fn etcd_connector() -> EtcdConnector {
    std::sync::Arc::new(|target| connect(target).boxed())
}

/// A connection to one member.
struct Connection {
    store: EtcdStore,
    /// The Node of the member.
    node: String,
}

async fn connect(target: EtcdTarget) -> Result<Box<dyn Etcd>, EtcdError> {
    if target.nodes.is_empty() {
        return Err(EtcdError::NoNodes);
    }
    let store = EtcdStore::of(target.client.clone());
    let mut reasons = Vec::new();
    for node in target.nodes {
        let connection = Connection { store: store.clone(), node };
        match connection.why_not(&target.client).await {
            None => return Ok(Box::new(connection)),
            Some(why) => reasons.push(format!("Node {}: {why}", connection.node)),
        }
    }
    Err(EtcdError::NoneAnswers(reasons))
}

impl Connection {
    /// Why the member does not answer.
    async fn why_not(&self, workload: &Client) -> Option<String> {
        let name = format!("etcd-{}", self.node);
        match Api::<Pod>::namespaced(workload.clone(), KUBE_SYSTEM).get_opt(&name).await {
            Err(error) => return Some(format!("Pod {name} cannot be read: {error}")),
            Ok(None) => return Some(format!("there is no Pod {name}")),
            Ok(Some(_)) => {}
        }
        match self.store.read().await {
            Err(error) => Some(error.to_string()),
            Ok(etcd) => self.member(&etcd).err(),
        }
    }

    /// The member at the other end of this connection.
    fn member<'a>(&self, etcd: &'a SimEtcd) -> Result<&'a SimEtcdMember, String> {
        let mut found = etcd.members.iter().filter(|member| member.name == self.node && member.is_up);
        found.next().ok_or_else(|| format!("connection refused: no member of etcd runs on Node {}", self.node))
    }

    async fn membership(&self) -> Result<Membership, EtcdError> {
        let failed = call("asking for the members");
        let etcd = self.store.read().await.map_err(|error| failed(error.to_string()))?;
        self.member(&etcd).map_err(&failed)?;
        let members = etcd.members().map_err(|refusal| failed(refusal.to_string()))?;
        Ok(Membership {
            members: members.iter().map(shown).collect(),
            leader: etcd.leader,
            alarms: members.iter().filter_map(alarm).collect(),
        })
    }

    async fn move_leader(&self, to: u64) -> Result<(), EtcdError> {
        let failed = call("moving the leadership");
        let etcd = self.store.read().await.map_err(|error| failed(error.to_string()))?;
        let member = self.member(&etcd).map_err(&failed)?;
        if etcd.leader.is_some() && etcd.leader != Some(member.id) {
            return Err(failed(format!("member {} does not lead", member.name)));
        }
        let moved = self.store.change(|etcd| etcd.move_leader(to)).await;
        moved.map(drop).map_err(|error| failed(error.to_string()))
    }

    async fn remove_member(&self, id: u64) -> Result<(), EtcdError> {
        let failed = call("removing a member");
        let etcd = self.store.read().await.map_err(|error| failed(error.to_string()))?;
        self.member(&etcd).map_err(&failed)?;
        match self.store.change(|etcd| etcd.remove(id)).await {
            Ok(_) | Err(StoreError::Refused(EtcdRefusal::UnknownMember { .. })) => Ok(()),
            Err(StoreError::Refused(EtcdRefusal::LastVoter { .. })) => Err(EtcdError::LastMember { id }),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Etcd for Connection {
    fn membership(&self) -> BoxFuture<'_, Result<Membership, EtcdError>> {
        self.membership().boxed()
    }

    fn move_leader(&self, to: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        self.move_leader(to).boxed()
    }

    fn remove_member(&self, id: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        self.remove_member(id).boxed()
    }
}

/// A member as etcd shows it: without a name until it has started.
fn shown(member: &SimEtcdMember) -> Member {
    let name = if member.has_started { member.name.clone() } else { String::new() };
    Member { id: member.id, name, is_learner: member.is_learner }
}

fn alarm(member: &SimEtcdMember) -> Option<Alarm> {
    let name = match member.alarm? {
        SimEtcdAlarm::NoSpace => "NOSPACE",
        SimEtcdAlarm::Corrupt => "CORRUPT",
    };
    Some(Alarm { member: member.id, name: name.to_owned() })
}

fn call(what: &'static str) -> impl Fn(String) -> EtcdError {
    move |why| EtcdError::Call { what, why }
}
