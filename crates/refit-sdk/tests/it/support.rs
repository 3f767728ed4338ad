//! A served extension, and callers that are as raw as it takes.

use std::net::SocketAddr;

use refit_sdk::{Claims, Extension, MachineUpdate, Paths, Progress, Server, ServerOptions, UpdateFailure, Updater};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

pub const HOOKS: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// Claims a version and a memory size, and is done at once.
pub struct Sample;

impl Updater for Sample {
    fn claims(&self) -> Claims {
        Paths::none().machine("spec.version").infrastructure_of("SimMachine", "spec.memory").into()
    }

    async fn update(&self, _: MachineUpdate) -> Result<Progress, UpdateFailure> {
        Ok(Progress::Done)
    }
}

pub fn sample() -> Extension {
    Extension::builder(Sample).build().expect("the extension must be right")
}

/// A server that ends with the value.
pub struct Served {
    pub address: SocketAddr,
    pub health: Option<SocketAddr>,
    end: Option<oneshot::Sender<()>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Served {
    pub async fn start(extension: Extension, options: ServerOptions) -> Self {
        let server = Server::bind(extension, options).await.expect("the server must listen");
        let address = server.address().expect("the address must be known");
        let health = server.health_address().expect("the address must be known");
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(server.run(async { drop(ended.await) }));
        Self { address, health, end: Some(end), task: Some(task) }
    }

    pub async fn local() -> Self {
        Self::start(sample(), ServerOptions::local()).await
    }

    /// Asks the server to end and waits until it has.
    pub async fn end(mut self) {
        drop(self.end.take());
        self.task.take().expect("it ends once").await.expect("the server must end well");
    }
}

/// Sends bytes over a connection and reads until the server closes it.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the server must be there");
    stream.write_all(request).await.expect("the request must be sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the answer must be read");
    String::from_utf8(answer).expect("the answer must be text")
}

/// A request with these header lines, closed afterwards.
pub fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// A request as Go's client sends it.
pub fn post(path: &str, body: &str) -> Vec<u8> {
    let headers =
        format!("User-Agent: Go-http-client/1.1\r\nContent-Length: {}\r\nAccept-Encoding: gzip\r\n", body.len());
    request("POST", path, &headers, body)
}

/// The status line's code, and the body as JSON (or as text when it is none).
pub fn parsed(answer: &str) -> (u16, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let code = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    (code, serde_json::from_str(body).unwrap_or_else(|_| json!(body)))
}
