//! One connection from its handshake to its end.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::presence::Presence;
use super::shares::Share;
use super::stall::Stall;
use super::strangers::Stranger;
use super::tls::HTTP_2;
use super::{Limits, Shared};
use crate::access::{CertificateUser, certificate_user};
use crate::request::User;

type Stream = TlsStream<Stall<TcpStream>>;

/// How long the connection of somebody who never said who they are stays open without a request.
const STRANGER_IDLE: Duration = Duration::from_secs(15);

/// Who is on the other side of a connection.
pub(super) struct Client {
    stranger: Arc<Stranger>,
    /// The share of connections of whoever said first who they are.
    share: OnceLock<Share>,
}

impl Client {
    /// Takes note of who they are. Returns whether there is room for one more connection of theirs.
    pub(super) fn introduce(&self, shared: &Shared, user: &User) -> bool {
        if self.share.get().is_some() {
            return true;
        }
        let Some(share) = shared.connections.take(user, 1) else { return false };
        let _ = self.share.set(share);
        self.stranger.introduce();
        true
    }
}

/// Counts a connection while it is open.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.host.metrics().connections.inc();
        Self(shared.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.host.metrics().connections.dec();
    }
}

/// Serves a connection. Nobody is told when it breaks: the client knows.
pub(super) async fn serve(
    shared: Arc<Shared>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
) {
    let limits = shared.limits;
    let (stranger, has_pushed) = shared.strangers.enter();
    if has_pushed {
        shared.host.metrics().turn_away("strangers");
    }
    let _open = Open::new(&shared);
    let stranger = Arc::new(stranger);
    // Answers are written in one go; waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    let handshake = timeout(limits.handshake, acceptor.accept(Stall::new(stream, limits.stall)));
    let handshake = tokio::select! {
        handshake = handshake => handshake,
        () = stranger.evicted() => return,
    };
    match handshake {
        Ok(Ok(stream)) => talk(shared, stream, stranger).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn talk(shared: Arc<Shared>, stream: Stream, stranger: Arc<Stranger>) {
    let limits = shared.limits;
    let certificate = Arc::new(peer(&stream));
    let client = Arc::new(Client { stranger, share: OnceLock::new() });
    let guest = client.clone();
    if let Some(CertificateUser { user, .. }) = &*certificate {
        client.introduce(&shared, user);
    }
    let builder = builder(&stream, &limits);
    let presence = Presence::new();
    let mut ending = shared.ending.subscribe();
    let service = service_fn({
        let presence = presence.clone();
        move |request: hyper::Request<Incoming>| {
            let (shared, certificate, visit) = (shared.clone(), certificate.clone(), presence.enter());
            let client = client.clone();
            async move { Ok::<_, Infallible>(shared.respond((*certificate).as_ref(), &client, visit, request).await) }
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut last_moment = None;
    loop {
        // A stranger who has asked for the server's health has no more to ask for.
        let idle = if guest.stranger.is_known() { limits.idle } else { limits.idle.min(STRANGER_IDLE) };
        let deadline = last_moment.unwrap_or_else(|| presence.deadline(limits.first_request, idle));
        tokio::select! {
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            _ = ending.wait_for(|is_ending| *is_ending), if last_moment.is_none() => {
                connection.as_mut().graceful_shutdown();
                last_moment = Some(Instant::now() + limits.shutdown);
            }
            () = guest.stranger.evicted() => return,
            () = sleep_until(deadline) => {
                if last_moment.is_some() || !presence.has_asked() {
                    return;
                }
                if presence.deadline(limits.first_request, idle) <= Instant::now() {
                    connection.as_mut().graceful_shutdown();
                    last_moment = Some(Instant::now() + limits.shutdown);
                }
            }
        }
    }
}

/// Who has shown a certificate; the handshake has verified it.
fn peer(stream: &Stream) -> Option<CertificateUser> {
    let certificates = stream.get_ref().1.peer_certificates()?;
    certificates.first().and_then(|certificate| certificate_user(certificate))
}

/// The protocol was agreed on in the handshake; nothing has to be guessed from what comes first.
fn builder(stream: &Stream, limits: &Limits) -> auto::Builder<TokioExecutor> {
    let builder = auto::Builder::new(TokioExecutor::new());
    let is_http_2 = stream.get_ref().1.alpn_protocol() == Some(HTTP_2);
    let mut builder = if is_http_2 { builder.http2_only() } else { builder.http1_only() };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.header_bytes)
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.stall)
        .keep_alive_timeout(limits.stall)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    builder
}
