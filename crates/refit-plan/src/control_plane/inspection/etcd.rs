//! What etcd says of its members.

use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::control_plane::{
    etcd_member_deleting, etcd_member_healthy, etcd_member_not_healthy, inspection_failed,
};
use refit_api::vocabulary::condition_types::ETCD_MEMBER_HEALTHY;

use super::node::{Hosted, hosted};
use super::{Seen, SeenEtcd, SeenMember, clip};
use crate::control_plane::observed::{EtcdMember, EtcdMembers, ObservedMachine};

const NO_LEADER: &str = "etcd has no leader";

/// The condition of the member on this Machine.
pub(super) fn condition(seen: &Seen, machine: &ObservedMachine) -> NewCondition {
    let unknown = |why: String| inspection_failed(ETCD_MEMBER_HEALTHY, why);
    let node = match hosted(seen, machine) {
        Hosted::Deleting => return etcd_member_deleting(),
        Hosted::NotYet(why) => return unknown(why),
        Hosted::Unreadable(_) => return unknown("Failed to get the Node hosting the etcd member".to_owned()),
        Hosted::On(node, _) => node,
    };
    match known(&seen.etcd) {
        Ok((members, _)) => of_member(members, node),
        Err(why) => unknown(format!("Failed to get etcd members: {}", clip(&why))),
    }
}

/// The members, for the decision.
pub(super) fn members(seen: &Seen) -> EtcdMembers {
    match known(&seen.etcd) {
        Ok((members, leader)) => EtcdMembers::Known(members.iter().map(|member| member_of(member, leader)).collect()),
        Err(why) => EtcdMembers::Unknown { why: clip(&why) },
    }
}

/// The members and the one that leads. Without a leader, the list may be old.
fn known(etcd: &SeenEtcd) -> Result<(&[SeenMember], u64), String> {
    match etcd {
        SeenEtcd::External => Err("etcd does not run on the machines of the control plane".to_owned()),
        SeenEtcd::Unknown { why } => Err(why.clone()),
        SeenEtcd::Known { members, .. } if members.is_empty() => Err("etcd names no members".to_owned()),
        SeenEtcd::Known { leader: None, .. } => Err(NO_LEADER.to_owned()),
        SeenEtcd::Known { members, leader: Some(leader) } => Ok((members, *leader)),
    }
}

fn member_of(member: &SeenMember, leader: u64) -> EtcdMember {
    EtcdMember {
        name: member.name.clone(),
        is_healthy: member.alarms.is_empty(),
        is_learner: member.is_learner,
        is_leader: member.id == leader,
    }
}

/// kubeadm names a member after its Node.
fn of_member(members: &[SeenMember], node: &str) -> NewCondition {
    match members.iter().find(|member| member.name == node) {
        None => etcd_member_not_healthy(format!("Etcd doesn't have an etcd member for Node {node}")),
        Some(member) if member.is_learner => etcd_member_not_healthy("Waiting for learner etcd member to be promoted"),
        Some(member) if !member.alarms.is_empty() => {
            etcd_member_not_healthy(format!("Etcd reports alarms: {}", clip(&member.alarms.join(", "))))
        }
        Some(_) => etcd_member_healthy(),
    }
}
