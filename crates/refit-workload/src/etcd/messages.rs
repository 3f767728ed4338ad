//! The few messages of etcd's API that are sent and read here, with the fields that count. Numbers are etcd's.

use prost::Message;

/// How a request is called, and what answers it.
pub(super) trait Request: Message + Default + Clone + 'static {
    type Response: Message + Default + Clone + Send + Sync + 'static;
    const PATH: &'static str;
    /// What it does, for errors.
    const WHAT: &'static str;
}

macro_rules! requests {
    ($($request:ident => $response:ident, $path:literal, $what:literal;)*) => {
        $(impl Request for $request {
            type Response = $response;
            const PATH: &'static str = $path;
            const WHAT: &'static str = $what;
        })*
    };
}

requests! {
    StatusRequest => StatusResponse, "/etcdserverpb.Maintenance/Status", "asking etcd for its status";
    MemberListRequest => MemberListResponse, "/etcdserverpb.Cluster/MemberList", "asking etcd for its members";
    AlarmRequest => AlarmResponse, "/etcdserverpb.Maintenance/Alarm", "asking etcd for alarms";
    MoveLeaderRequest => Empty, "/etcdserverpb.Maintenance/MoveLeader", "moving the leadership of etcd";
    MemberRemoveRequest => Empty, "/etcdserverpb.Cluster/MemberRemove", "removing a member of etcd";
}

/// An answer of which only the arrival counts.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusResponse {
    /// The member that leads, or 0.
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    #[prost(bool, tag = "10")]
    pub is_learner: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberListRequest {
    /// Answered by what a quorum agrees on, not by what this member last heard.
    #[prost(bool, tag = "1")]
    pub linearizable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberListResponse {
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<MemberMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberMessage {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(bool, tag = "5")]
    pub is_learner: bool,
}

/// Without fields it asks for the alarms of all members.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AlarmRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AlarmResponse {
    #[prost(message, repeated, tag = "2")]
    pub alarms: Vec<AlarmMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AlarmMessage {
    #[prost(uint64, tag = "1")]
    pub member: u64,
    /// An enum, so newer versions of etcd may send numbers that are not known here.
    #[prost(int32, tag = "2")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MoveLeaderRequest {
    #[prost(uint64, tag = "1")]
    pub target: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberRemoveRequest {
    #[prost(uint64, tag = "1")]
    pub id: u64,
}
