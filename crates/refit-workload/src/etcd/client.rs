//! The real etcd, by gRPC over TLS.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use rustls::ClientConfig;
use tokio::time::timeout;
use tonic::Code;

use super::channel::{Channel, EtcdStream};
use super::messages::{
    AlarmMessage, AlarmRequest, MemberListRequest, MemberListResponse, MemberMessage, MemberRemoveRequest,
    MoveLeaderRequest, StatusRequest,
};
use super::{Alarm, Etcd, EtcdConnector, EtcdError, EtcdTarget, Member, Membership, certificate, chain};

/// How long opening a connection may take, in seconds.
const DIAL_SECONDS: u64 = 10;

/// Opens a stream to the etcd of a Node, by its name.
pub type EtcdDialer = Arc<dyn Fn(kube::Client, String) -> BoxFuture<'static, Dialed> + Send + Sync>;

/// The stream, or why there is none.
pub type Dialed = Result<Box<dyn EtcdStream>, Box<dyn Error + Send + Sync>>;

/// Tells the time, for the certificates that are made.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Connects to real etcd over the streams that the dialer opens.
///
/// The Nodes are tried in their order. One whose member is a learner, or knows of no leader, is passed over: what it
/// says need not be what the others have agreed on.
pub fn connector(dialer: EtcdDialer, now: Now) -> EtcdConnector {
    Arc::new(move |target| connect(Arc::clone(&dialer), target, now()).boxed())
}

async fn connect(dialer: EtcdDialer, target: EtcdTarget, now: Timestamp) -> Result<Box<dyn Etcd>, EtcdError> {
    if target.nodes.is_empty() {
        return Err(EtcdError::NoNodes);
    }
    let tls = Arc::new(certificate::tls(&target.authority, now)?);
    let mut reasons = Vec::new();
    for node in &target.nodes {
        match try_node(&dialer, &target, node, Arc::clone(&tls)).await {
            Ok(client) => return Ok(Box::new(client)),
            Err(error) => reasons.push(format!("{node}: {}", chain(&error))),
        }
    }
    Err(EtcdError::NoneAnswers(reasons))
}

async fn try_node(
    dialer: &EtcdDialer,
    target: &EtcdTarget,
    node: &str,
    tls: Arc<ClientConfig>,
) -> Result<Client, EtcdError> {
    let open = async {
        let stream = dialer(target.client.clone(), node.to_owned()).await;
        let stream = stream.map_err(|source| EtcdError::Stream { node: node.to_owned(), source })?;
        Channel::open(stream, node, tls).await
    };
    let late = |_| EtcdError::Late { what: "connecting".to_owned(), seconds: DIAL_SECONDS };
    let channel = timeout(Duration::from_secs(DIAL_SECONDS), open).await.map_err(late)??;
    let status = channel.call(StatusRequest {}).await?;
    if status.is_learner {
        return Err(EtcdError::Unfit { why: "its member is a learner" });
    }
    if status.leader == 0 {
        return Err(EtcdError::Unfit { why: "its member knows of no leader" });
    }
    Ok(Client { channel })
}

/// A connection to one member.
struct Client {
    channel: Channel,
}

impl Client {
    async fn members(&self) -> Result<Vec<Member>, EtcdError> {
        let MemberListResponse { members } = self.channel.call(MemberListRequest { linearizable: true }).await?;
        Ok(members.into_iter().map(Member::from).collect())
    }

    async fn look(&self) -> Result<Membership, EtcdError> {
        let members = self.members().await?;
        let alarms = self.channel.call(AlarmRequest {}).await?.alarms;
        // Asked last: the others may have waited for an election.
        let leader = self.channel.call(StatusRequest {}).await?.leader;
        let alarms = alarms.into_iter().filter_map(alarm).collect();
        Ok(Membership { members, leader: (leader != 0).then_some(leader), alarms })
    }

    async fn remove(&self, id: u64) -> Result<(), EtcdError> {
        let members = self.members().await?;
        if !members.iter().any(|member| member.id == id) {
            return Ok(());
        }
        if !members.iter().any(|member| member.id != id && !member.is_learner) {
            return Err(EtcdError::LastMember { id });
        }
        match self.channel.call(MemberRemoveRequest { id }).await {
            Err(error) if error.code == Code::NotFound => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }
}

impl Etcd for Client {
    fn membership(&self) -> BoxFuture<'_, Result<Membership, EtcdError>> {
        self.look().boxed()
    }

    fn move_leader(&self, to: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        async move { Ok(self.channel.call(MoveLeaderRequest { target: to }).await.map(drop)?) }.boxed()
    }

    fn remove_member(&self, id: u64) -> BoxFuture<'_, Result<(), EtcdError>> {
        self.remove(id).boxed()
    }
}

impl From<MemberMessage> for Member {
    fn from(MemberMessage { id, name, is_learner }: MemberMessage) -> Self {
        Self { id, name, is_learner }
    }
}

fn alarm(AlarmMessage { member, kind }: AlarmMessage) -> Option<Alarm> {
    let name = match kind {
        0 => return None,
        1 => "NOSPACE".to_owned(),
        2 => "CORRUPT".to_owned(),
        other => format!("alarm {other}"),
    };
    Some(Alarm { member, name })
}
