//! Whom the client trusts, and whom it shows what.

use std::future::Future;
use std::sync::Arc;

use refit_api::hooks::Hook;
use refit_hooks::chain;
use refit_hooks::client::{ClientIdentity, IdentityFiles};
use refit_hooks::discovery::discover;
use rustls::ServerConfig;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::certificates::{Authority, Pair, self_signed, self_signed_expired};
use crate::objects::{config, config_at, extensions, namespace, update_request};
use crate::peer::{HOST, Peer, Reply, client, client_with, server_config};

async fn peer(ca: &str, tls: ServerConfig) -> Peer {
    let reply = Reply::Json(json!({ "status": "Success" }));
    Peer::start_with(ca.to_owned(), tls, Arc::new(move |_, _| reply.clone())).await
}

async fn check(ca: &str, pair: &Pair, expected: Result<(), &str>) {
    let peer = peer(ca, server_config(pair, None)).await;
    let found = discover(&client(), &config("ext", &peer, &[])).await.map(|_| ()).map_err(|error| chain(&error));
    match (found, expected) {
        (Ok(()), Ok(())) => {}
        (Err(error), Err(says)) => {
            assert!(error.starts_with("failed to discover extension \"ext\": http call failed"), "{error}");
            assert!(error.contains(says), "{error}");
            assert!(peer.received().is_empty(), "nothing must be said to a stranger");
        }
        (found, expected) => panic!("expected {expected:?}, found {found:?}"),
    }
}

#[tokio::test]
async fn only_a_certificate_of_the_bundle_for_this_host_and_time_is_trusted() {
    let (ours, other) = (Authority::new(), Authority::new());
    let both = format!("text before\n{}{}", other.pem(), ours.pem());
    check(&ours.pem(), &ours.sign(&[HOST]), Ok(())).await;
    check(&both, &ours.sign(&[HOST]), Ok(())).await;
    check(&ours.pem(), &other.sign(&[HOST]), Err("invalid peer certificate: ")).await;
    check(&ours.pem(), &ours.sign(&["other.system.svc"]), Err("certificate not valid for name \"ext.system.svc\""))
        .await;
    check(&ours.pem(), &ours.sign(&[]), Err("invalid peer certificate: ")).await;
    check(&ours.pem(), &ours.sign_expired(&[HOST]), Err("invalid peer certificate: certificate expired")).await;
    check(&ours.pem(), &ours.sign_future(&[HOST]), Err("invalid peer certificate: certificate not valid yet")).await;
    check("", &ours.sign(&[HOST]), Err("")).await;
    check("no certificate", &ours.sign(&[HOST]), Err("unable to load root certificates")).await;
}

#[tokio::test]
async fn a_self_signed_certificate_is_its_own_authority() {
    for is_authority in [false, true] {
        let good = self_signed(&[HOST], is_authority);
        check(&good.certificate, &good, Ok(())).await;
        let other = self_signed(&[HOST], is_authority);
        check(&good.certificate, &other, Err("invalid peer certificate: ")).await;
        let wrong_name = self_signed(&["other.system.svc"], is_authority);
        check(&wrong_name.certificate, &wrong_name, Err("not valid for name")).await;
        let expired = self_signed_expired(&[HOST], is_authority);
        check(&expired.certificate, &expired, Err("certificate expired")).await;
    }
}

#[tokio::test]
async fn an_address_needs_a_certificate_for_the_address() {
    let authority = Authority::new();
    for (names, is_good) in [(["127.0.0.1"], true), (["localhost"], false)] {
        let peer = peer(&authority.pem(), server_config(&authority.sign(&names), None)).await;
        let url = json!({ "url": format!("https://127.0.0.1:{}", peer.port) });
        let found = discover(&client(), &config_at("ext", url, &peer.ca, &[])).await;
        assert_eq!(found.is_ok(), is_good, "{names:?}");
    }
}

#[tokio::test]
async fn tls_1_2_is_spoken_too() {
    let (authority, provider) = (Authority::new(), Arc::new(rustls::crypto::ring::default_provider()));
    let pair = authority.sign(&[HOST]);
    let tls12 = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS12]);
    let tls12 = tls12.expect("TLS 1.2 must be there").with_no_client_auth();
    let tls12 = tls12.with_single_cert(pair.chain(), pair.private_key()).expect("the certificate must be good");
    let peer = peer(&authority.pem(), tls12).await;
    discover(&client(), &config("ext", &peer, &[])).await.expect("TLS 1.2 must be spoken");
}

#[tokio::test]
async fn what_is_no_server_of_tls_is_an_error_and_not_a_wait() {
    let (port, task) = raw_server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP only").await;
    })
    .await;
    let ca = Authority::new().pem();
    let url = |port: u16| json!({ "url": format!("https://{HOST}:{port}") });
    let error = discover(&client(), &config_at("ext", url(port), &ca, &[])).await.expect_err("it must be refused");
    assert!(chain(&error).contains("http call failed: client error (Connect)"), "{}", chain(&error));
    task.abort();
    // Bound, so that no other test gets the port, and not listening.
    let silent = TcpSocket::new_v4().expect("there must be a socket");
    silent.bind("127.0.0.1:0".parse().expect("it is an address")).expect("a port must be free");
    let port = silent.local_addr().expect("it must be bound").port();
    let error = discover(&client(), &config_at("ext", url(port), &ca, &[])).await.expect_err("nobody is there");
    assert!(chain(&error).to_lowercase().contains("connection refused"), "{}", chain(&error));
    let nowhere = json!({ "url": "https://no.such.host.invalid" });
    let error = discover(&client(), &config_at("ext", nowhere, &ca, &[])).await.expect_err("there is no such host");
    // Where nobody answers questions about names, the time is over first.
    let says = ["client error (Connect): dns error", "http request timeout expired"];
    assert!(says.iter().any(|says| chain(&error).contains(says)), "{}", chain(&error));
}

#[tokio::test]
async fn the_own_certificate_is_shown_and_follows_its_files() {
    let (servers, first, second) = (Authority::new(), Authority::new(), Authority::new());
    let folder = tempfile::tempdir().expect("there must be a folder");
    let files = IdentityFiles { certificate: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
    let write = |pair: &Pair| {
        std::fs::write(&files.certificate, &pair.certificate).expect("the certificate must be written");
        std::fs::write(&files.key, &pair.key).expect("the key must be written");
    };
    let server = |authority: &Authority| server_config(&servers.sign(&[HOST]), Some(&authority.pem()));
    let (old_peer, new_peer) =
        (peer(&servers.pem(), server(&first)).await, peer(&servers.pem(), server(&second)).await);
    let discovered = async |client: &refit_hooks::client::Client, peer: &Peer| {
        discover(client, &config("ext", peer, &[])).await.is_ok()
    };
    assert!(!discovered(&client(), &old_peer).await, "without a certificate there is no way in");

    write(&first.sign(&["refit"]));
    let identity = ClientIdentity::load(files.clone()).expect("the files must be good");
    let client = client_with(Arc::clone(&identity));
    assert!(discovered(&client, &old_peer).await && !discovered(&client, &new_peer).await);
    assert!(old_peer.received().iter().all(|request| request.has_client_certificate));
    assert!(!identity.reload().expect("the files must be good"), "nothing has changed");

    std::fs::write(&files.certificate, "half written").expect("the file must be written");
    identity.reload().expect_err("the file is no certificate");
    assert!(discovered(&client, &old_peer).await, "the last good pair stays in use");
    write(&Pair { key: first.sign(&["x"]).key, ..second.sign(&["refit"]) });
    let error = identity.reload().expect_err("the key is another one's");
    assert_eq!(error.to_string(), "the client certificate and its key cannot be used together");

    write(&second.sign(&["refit"]));
    assert!(identity.reload().expect("the files must be good"));
    assert!(discovered(&client, &new_peer).await, "new connections use the new pair");
    assert!(!discovered(&client, &old_peer).await, "connections of the old pair are not used any more");
}

/// A server that does this with every connection.
async fn raw_server<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port must be free");
    let port = listener.local_addr().expect("it must be bound").port();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    (port, task)
}

async fn update_at(port: u16, ca: &str) -> String {
    let url = json!({ "url": format!("https://{HOST}:{port}") });
    let mut config = config_at("ext", url, ca, &[Hook::UpdateMachine]);
    config.status.handlers[0].timeout_seconds = Some(1);
    let extensions = extensions(client(), &[config]);
    let name = "update-machine.ext".parse().expect("the name must parse");
    let error = extensions.update_machine(&name, &namespace(), update_request()).await;
    error.expect_err("the update must not be done").words()
}

#[tokio::test]
async fn a_handshake_that_never_ends_runs_out_of_time() {
    let (port, task) = raw_server(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let words = update_at(port, &Authority::new().pem()).await;
    assert!(words.ends_with("http call failed: http request timeout expired after 1s"), "{words}");
    task.abort();
}

#[tokio::test]
async fn a_server_that_promises_http_2_and_speaks_none_is_an_error() {
    let authority = Authority::new();
    let mut tls = server_config(&authority.sign(&[HOST]), None);
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let (port, task) = raw_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"status\":\"Success\"}").await;
            std::future::pending().await
        }
    })
    .await;
    let words = update_at(port, &authority.pem()).await;
    assert!(words.contains("http call failed"), "{words}");
    task.abort();
}
