//! A server that speaks HTTP/1.1 by hand, so that it can say anything; and one that speaks HTTP/2.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use refit_hooks::client::{Client, ClientIdentity, TlsTransport};
use refit_hooks::metrics::HookMetrics;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificates::{Authority, Pair};

/// The name that peers are reached by, as Services are in a cluster.
pub const HOST: &str = "ext.system.svc";

/// A request as it came over the wire.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// As in `POST /path?query HTTP/1.1`.
    pub line: String,
    /// Names in lowercase.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    pub server_name: Option<String>,
    pub has_client_certificate: bool,
}

/// What the server does with a request: bytes to send, in pieces, or something else.
#[derive(Clone)]
pub enum Reply {
    /// A JSON body with status 200, as a Go server sends it: without a content type of JSON.
    Json(Value),
    /// These bytes, whatever they are; the connection is closed after them.
    Raw(Vec<u8>),
    /// These bytes, one after another, with a pause after each.
    Trickle(Vec<u8>, Duration),
    /// These bytes over and over, until nobody listens.
    Endless { head: Vec<u8>, piece: Vec<u8> },
    /// Nothing, and the connection stays open.
    Hang,
    /// Nothing, and the connection is closed.
    Close,
}

/// Decides on a reply to the request with this number, counted from 0.
pub type Script = Arc<dyn Fn(usize, &Received) -> Reply + Send + Sync>;

/// A running server. It ends with the value.
pub struct Peer {
    pub port: u16,
    pub ca: String,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Peer {
    /// A server with a good certificate for [`HOST`].
    pub async fn start(script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let authority = Authority::new();
        let pair = authority.sign(&[HOST, "localhost", "127.0.0.1"]);
        Self::start_with(authority.pem(), server_config(&pair, None), Arc::new(script)).await
    }

    /// A server that always gives the same reply.
    pub async fn always(reply: Reply) -> Self {
        Self::start(move |_, _| reply.clone()).await
    }

    pub async fn start_with(ca: String, config: ServerConfig, script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port must be free");
        let port = listener.local_addr().expect("it must be bound").port();
        let (received, connections) = (Arc::<Mutex<Vec<Received>>>::default(), Arc::<AtomicUsize>::default());
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let task = tokio::spawn(accept(listener, acceptor, script, Arc::clone(&received), Arc::clone(&connections)));
        Self { port, ca, received, connections, task }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("nobody panics with the lock").clone()
    }

    /// How many connections were made, with or without a request.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The TLS side of a server; with an authority, clients must show a certificate of it.
pub fn server_config(pair: &Pair, client_authority: Option<&str>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().expect("the versions must be good");
    let builder = match client_authority {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let authority = Pair { certificate: pem.to_owned(), key: String::new() };
            let mut roots = RootCertStore::empty();
            authority.chain().into_iter().for_each(|root| roots.add(root).expect("the authority must be good"));
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("the verifier must be good"))
        }
    };
    builder.with_single_cert(pair.chain(), pair.private_key()).expect("the certificate must be good")
}

/// A client that finds [`HOST`] on this machine.
pub fn client_counting(identity: Arc<ClientIdentity>, metrics: HookMetrics) -> Client {
    let hosts = BTreeMap::from([(HOST.to_owned(), IpAddr::from(Ipv4Addr::LOCALHOST))]);
    Client::new(TlsTransport::new(identity).with_hosts(hosts).boxed(), metrics)
}

pub fn client_with(identity: Arc<ClientIdentity>) -> Client {
    client_counting(identity, HookMetrics::default())
}

pub fn client() -> Client {
    client_with(ClientIdentity::none())
}

/// An answer with this status line and this body.
pub fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    script: Script,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let (acceptor, script, received) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&received));
        tokio::spawn(async move {
            // A client that goes away, or does not trust us, is what many tests are about.
            let _ = serve(stream, acceptor, script, received).await;
        });
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    script: Script,
    received: Arc<Mutex<Vec<Received>>>,
) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return serve_http2(stream, script, received).await;
    }
    loop {
        let request = read_request(&mut stream).await?;
        let reply = reply_to(&request, &script, &received);
        match reply {
            Reply::Json(body) => {
                let content_type = "Content-Type: text/plain; charset=utf-8\r\n";
                stream.write_all(&answer("200 OK", content_type, &body.to_string())).await?;
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Reply::Trickle(bytes, pause) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Reply::Endless { head, piece } => {
                stream.write_all(&head).await?;
                loop {
                    stream.write_all(&piece).await?;
                }
            }
            Reply::Hang => std::future::pending().await,
            Reply::Close => return stream.shutdown().await,
        }
    }
}

fn reply_to(request: &Received, script: &Script, received: &Mutex<Vec<Received>>) -> Reply {
    let number = {
        let mut received = received.lock().expect("nobody panics with the lock");
        received.push(request.clone());
        received.len() - 1
    };
    script(number, request)
}

async fn read_request(stream: &mut TlsStream<TcpStream>) -> io::Result<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).expect("a request must begin with text");
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: BTreeMap<String, String> = lines.filter_map(pair).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let (_, session) = stream.get_ref();
    Ok(Received {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        server_name: session.server_name().map(str::to_owned),
        has_client_certificate: session.peer_certificates().is_some(),
    })
}

async fn serve_http2(
    stream: TlsStream<TcpStream>,
    script: Script,
    received: Arc<Mutex<Vec<Received>>>,
) -> io::Result<()> {
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (script, received) = (Arc::clone(&script), Arc::clone(&received));
        async move {
            let line = format!("{} {} {:?}", request.method(), request.uri(), request.version());
            let body = request.into_body().collect().await?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let reply = reply_to(&Received { line, body, ..Received::default() }, &script, &received);
            let body = match reply {
                Reply::Json(body) => body,
                _ => std::future::pending().await,
            };
            Ok::<_, hyper::Error>(hyper::Response::new(Full::new(Bytes::from(body.to_string()))))
        }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    connection.serve_connection(TokioIo::new(stream), service).await.map_err(io::Error::other)
}
