//! An etcd whose answers are written down, for what real ones do not do on demand. What those say is tested with them.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use refit_workload::etcd::{Etcd, EtcdError, EtcdTarget, Member, Membership};

/// What the etcd in these tests says, and what it was told.
#[derive(Default)]
pub struct Script {
    pub membership: Membership,
    /// Members that take no leadership.
    pub unwilling: Vec<u64>,
    /// Nodes that answer.
    pub reachable: Vec<&'static str>,
    pub told: Vec<String>,
}

pub async fn connect(script: Arc<Mutex<Script>>, target: EtcdTarget) -> Result<Box<dyn Etcd>, EtcdError> {
    assert_eq!((target.namespace.as_str(), target.name.as_str()), ("ns", "demo"));
    if target.nodes.is_empty() {
        return Err(EtcdError::NoNodes);
    }
    let reachable = script.lock().expect("the script must be whole").reachable.clone();
    let node = target.nodes.iter().find(|node| reachable.contains(&node.as_str()));
    let node = node.ok_or_else(|| EtcdError::NoneAnswers(target.nodes.clone()))?;
    Ok(Box::new(Scripted { script: Arc::clone(&script), node: node.clone() }))
}

/// A connection to it.
struct Scripted {
    script: Arc<Mutex<Script>>,
    node: String,
}

impl Etcd for Scripted {
    fn membership(&self) -> BoxFuture<'_, Result<Membership, EtcdError>> {
        let membership = self.script.lock().expect("the script must be whole").membership.clone();
        async { Ok(membership) }.boxed()
    }

    fn move_leader(&self, to: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        let mut script = self.script.lock().expect("the script must be whole");
        script.told.push(format!("{}: lead {to}", self.node));
        let outcome = match script.unwilling.contains(&to) {
            true => Err(EtcdError::Call { what: "moving", why: "timed out".to_owned() }),
            false => {
                script.membership.leader = Some(to);
                Ok(())
            }
        };
        async { outcome }.boxed()
    }

    fn remove_member(&self, id: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        let mut script = self.script.lock().expect("the script must be whole");
        script.told.push(format!("{}: remove {id}", self.node));
        script.membership.members.retain(|member| member.id != id);
        async { Ok(()) }.boxed()
    }
}

pub fn member(id: u64, name: &str) -> Member {
    Member { id, name: name.to_owned(), is_learner: false }
}

/// Members 1, 2, 3 on Nodes a, b, c; the first leads.
pub fn three() -> Membership {
    let members = vec![member(1, "a"), member(2, "b"), member(3, "c")];
    Membership { members, leader: Some(1), alarms: Vec::new() }
}
