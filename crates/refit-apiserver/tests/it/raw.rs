//! Connections below any client library, for what such a library would never do.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::running::Running;

/// A connection without TLS.
pub async fn tcp(running: &Running) -> TcpStream {
    TcpStream::connect(running.url.trim_start_matches("https://")).await.expect("the server must listen")
}

/// A connection over which HTTP/1.1 can be spoken.
pub async fn tls(running: &Running) -> TlsStream<TcpStream> {
    tls_for(running, &[]).await
}

/// A connection for one of these protocols, as the two sides agree in the handshake.
pub async fn tls_for(running: &Running, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
    tls_by(&connector(running, protocols), running).await
}

/// One of many connections.
pub async fn tls_by(connector: &TlsConnector, running: &Running) -> TlsStream<TcpStream> {
    let name = ServerName::try_from("localhost").expect("it must be a name");
    connector.connect(name, tcp(running).await).await.expect("TLS must work")
}

/// How connections to a server are made.
pub fn connector(running: &Running, protocols: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(running.file("pki/ca.crt")).expect("there must be an authority");
    roots.add(authority).expect("it must be a certificate");
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("there must be versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

/// The head of a request by the administrator, without its last line.
pub fn head(running: &Running, line: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", running.token("admin"))
}

/// Sends a text, and reads until there is the first line of an answer; empty when the connection ends before that.
pub async fn ask(stream: &mut TlsStream<TcpStream>, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.expect("it must be sent");
    first_line(stream).await
}

pub async fn first_line(stream: &mut TlsStream<TcpStream>) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        match stream.read_u8().await {
            Ok(byte) => line.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(line).expect("it must be text").trim_end().to_owned()
}
