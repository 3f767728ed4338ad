//! The server of workload clusters that the provider runs itself.

use refit_provider_sim::WorkloadServer;
use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::backend::clock;

#[tokio::test]
async fn workload_clusters_survive_a_restart_of_their_server() {
    let folder = TempDir::new().expect("there must be a temporary folder");
    // Bound and not listening: the port is free for the server, and for nobody else while that is away.
    let reserved = TcpSocket::new_v4().expect("there must be a socket");
    reserved.set_reuseaddr(true).expect("the port must be shared");
    reserved.bind("127.0.0.1:0".parse().expect("it must be an address")).expect("a port must be free");
    let port = reserved.local_addr().expect("it must be bound").port();
    std::fs::write(folder.path().join("port"), port.to_string()).expect("the port must be written");
    let start = async || WorkloadServer::start(folder.path(), clock()).await.expect("the server must start");
    let server = start().await;
    let workloads = server.workloads();
    workloads.create("ns", "demo").await.expect("a cluster must be made");
    workloads.create("ns", "demo").await.expect("it may be there already");
    let (before, endpoint) = (workloads.find("ns", "demo"), workloads.endpoint());
    assert!(before.is_some() && workloads.find("ns", "other").is_none());
    drop(workloads);
    server.stop().await;

    let server = start().await;
    assert_eq!((server.workloads().find("ns", "demo"), server.workloads().endpoint()), (before, endpoint));
    server.workloads().drop("ns", "demo").await.expect("a cluster must be dropped");
    server.workloads().drop("ns", "demo").await.expect("it may be gone already");
    assert_eq!(server.workloads().find("ns", "demo"), None);
    server.stop().await;
}
