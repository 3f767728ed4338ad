//! Real etcd through a port-forward. The API server and the kubelet between are played: they speak WebSocket, and carry
//! bytes to the etcd of the Pod that is named.

use std::collections::BTreeMap;

use futures::{SinkExt, StreamExt};
use kube::{Client, Config};
use refit_workload::etcd::{EtcdTarget, by_port_forward};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::certificates::now;
use crate::etcd::{NAMES, World, names, words};

const PROTOCOL: &str = "v4.channel.k8s.io";
/// The port of etcd, as both channels begin with it.
const PORT: [u8; 2] = 2379_u16.to_le_bytes();
const DATA: u8 = 0;
const ERRORS: u8 = 1;

/// Where the etcd of each Pod is.
type Pods = BTreeMap<String, u16>;

async fn serve(listener: TcpListener, pods: Pods) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(forward(stream, pods.clone()));
    }
}

/// One port-forward, from its request to its end.
async fn forward(stream: TcpStream, pods: Pods) {
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the library says so")]
    let look = |request: &Request, mut response: Response| {
        path = request.uri().to_string();
        response.headers_mut().insert("Sec-WebSocket-Protocol", PROTOCOL.parse().expect("it must be a header"));
        Ok(response)
    };
    let mut socket = accept_hdr_async(stream, look).await.expect("the client must speak WebSocket");
    for channel in [DATA, ERRORS] {
        socket.send(framed(channel, &PORT)).await.expect("the client must listen");
    }
    let pod = path.strip_prefix("/api/v1/namespaces/kube-system/pods/").and_then(|rest| rest.split_once('/'));
    let (pod, rest) = pod.expect("a Pod of kube-system must be named");
    assert!(rest.starts_with("portforward?") && rest.ends_with("ports=2379"), "{path}");
    match pods.get(pod) {
        None => {
            let refused = framed(ERRORS, b"dial tcp 127.0.0.1:2379: connect: connection refused");
            socket.send(refused).await.expect("the client must listen");
            socket.close(None).await.expect("the client must listen");
        }
        Some(port) => carry(socket, *port).await,
    }
}

/// Bytes in both directions, until one side ends.
async fn carry(socket: tokio_tungstenite::WebSocketStream<TcpStream>, port: u16) {
    let etcd = TcpStream::connect(("127.0.0.1", port)).await.expect("etcd must listen");
    let (mut from_etcd, mut to_etcd) = etcd.into_split();
    let (mut to_client, mut from_client) = socket.split();
    let back = async {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from_etcd.read(&mut buffer).await {
            if to_client.send(framed(DATA, &buffer[..count])).await.is_err() {
                break;
            }
        }
    };
    let forth = async {
        while let Some(Ok(Message::Binary(bytes))) = from_client.next().await {
            assert_eq!(bytes[0], DATA);
            if to_etcd.write_all(&bytes[1..]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! { () = back => {}, () = forth => {} }
}

fn framed(channel: u8, bytes: &[u8]) -> Message {
    Message::binary([&[channel], bytes].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_is_reached_through_the_pod_of_its_node() {
    let Some(world) = World::start().await else { return };
    // The etcd of the first Node does not listen.
    let pods = NAMES[1..].iter().map(|name| (format!("etcd-{name}"), world.cluster.port(name))).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port must be free");
    let address = listener.local_addr().expect("it must be bound");
    let server = tokio::spawn(serve(listener, pods));
    let config = Config::new(format!("http://{address}").parse().expect("it must be an address"));
    let client = Client::try_from(config).expect("a client must start");

    let target = |nodes: &[&str]| EtcdTarget {
        client: client.clone(),
        namespace: "ns".to_owned(),
        name: "demo".to_owned(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        authority: world.authority.authority(),
    };
    let connector = by_port_forward(now());
    let etcd = connector(target(&NAMES)).await.expect("the second member must answer");
    let membership = etcd.membership().await.expect("the members must be known");
    assert_eq!(names(&membership), NAMES);
    let refused = words(connector(target(&NAMES[..1])).await);
    assert!(refused.contains("cp-a: ") && refused.contains("connection refused"), "{refused}");
    // The connection outlives the server's acceptance of others.
    server.abort();
    assert_eq!(etcd.membership().await.expect("it must still answer").leader, membership.leader);
}
