//! The two changes of etcd: who leads, and who is no member any more.

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use refit_api::vocabulary::labels::NODE_ROLE_CONTROL_PLANE;

use super::{EtcdAccess, KubeWorkload};
use crate::WorkloadError;
use crate::etcd::{Etcd, EtcdError, Member, Membership, chain};
use crate::request::{About, bounded};

impl KubeWorkload {
    pub(super) async fn forward_leadership(&self, from: &str, candidates: &[String]) -> Result<(), WorkloadError> {
        // Who leads can be learned from any of them, also when the one that should not lead is down.
        let nodes = std::iter::once(from.to_owned()).chain(candidates.iter().cloned()).collect();
        let membership = self.connect(nodes).await?.membership().await?;
        let leader = membership.members.iter().find(|member| Some(member.id) == membership.leader);
        if leader.is_none_or(|leader| leader.name != from) {
            return Ok(());
        }
        // Only the leader hands its office over.
        let etcd = self.connect(vec![from.to_owned()]).await?;
        let mut reasons = Vec::new();
        for candidate in candidates {
            match hand_over(&*etcd, &membership, candidate).await {
                Ok(()) => return Ok(()),
                Err(why) => reasons.push(format!("{candidate}: {why}")),
            }
        }
        Err(EtcdError::NoSuccessor(reasons).into())
    }

    pub(super) async fn remove_member(&self, name: &str) -> Result<(), WorkloadError> {
        let mut nodes = self.node_names().await?;
        // A member that is taken out ends, and with it the connection.
        nodes.retain(|node| node != name);
        let etcd = self.connect(nodes).await?;
        let membership = etcd.membership().await?;
        match find(&membership, name)? {
            Some(member) => Ok(etcd.remove_member(member.id).await?),
            None => Ok(()),
        }
    }

    async fn connect(&self, nodes: Vec<String>) -> Result<Box<dyn Etcd>, WorkloadError> {
        match &self.etcd {
            EtcdAccess::External => Err(WorkloadError::EtcdIsExternal),
            EtcdAccess::Unknown { why } => Err(WorkloadError::EtcdIsUnknown { why: why.clone() }),
            EtcdAccess::Managed { authority, connector } => Ok(connector(self.target(nodes, authority)).await?),
        }
    }

    async fn node_names(&self) -> Result<Vec<String>, WorkloadError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let params = ListParams::default().labels(NODE_ROLE_CONTROL_PLANE);
        let list = bounded(About { what: "list of Nodes", done: "read" }, api.list_metadata(&params)).await?;
        Ok(list.items.into_iter().filter_map(|node| node.metadata.name).collect())
    }
}

async fn hand_over(etcd: &dyn Etcd, membership: &Membership, candidate: &str) -> Result<(), String> {
    let member = find(membership, candidate).map_err(|error| chain(&error))?;
    let Some(member) = member.filter(|member| !member.is_learner) else { return Err("no voting member".to_owned()) };
    etcd.move_leader(member.id).await.map_err(|error| chain(&error))
}

/// The member of this name. Of those without a name one is as good as another: none has ever started.
fn find<'a>(membership: &'a Membership, name: &str) -> Result<Option<&'a Member>, EtcdError> {
    let named = || membership.members.iter().filter(|member| member.name == name);
    match named().count() {
        count if count > 1 && !name.is_empty() => Err(EtcdError::Ambiguous { name: name.to_owned(), count }),
        _ => Ok(named().min_by_key(|member| member.id)),
    }
}
