//! An extension that may say anything: registered for the namespace of one story, and asked before the examples.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::client::Body;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::refit::annotations::ORDER;
use refit_apiserver::credentials::{Authority, Pair};
use refit_sdk::{Claims, Extension, MachineUpdate, Paths, Progress, UpdateFailure, Updater};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};
use tokio_rustls::server::TlsStream;

use crate::story::Story;

/// What is said to a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// What an extension of these claims says. Updates are done at once.
    Usual,
    /// The usual, with these fields.
    With(Value),
    /// The usual of a discovery, with these fields in every handler.
    Ignoring(Value),
    /// Status 500.
    Broken,
}

/// Decides on a reply, by the hook and by how often it was called before.
pub type Script = Box<dyn Fn(&str, usize) -> Reply + Send + Sync>;

/// Every update goes on until it may end.
pub fn until_it_may_end(may_end: &Arc<AtomicBool>) -> Script {
    let may_end = Arc::clone(may_end);
    Box::new(move |hook, _| match hook {
        "updatemachine" if !may_end.load(Ordering::SeqCst) => {
            Reply::With(json!({ "status": "Success", "retryAfterSeconds": 1 }))
        }
        _ => Reply::Usual,
    })
}

pub struct Stranger {
    serving: JoinHandle<()>,
    name: String,
    /// Where it listens, and who vouches for it.
    port: u16,
    authority: String,
    inner: Arc<Inner>,
}

struct Inner {
    extension: Extension,
    script: Mutex<Script>,
    calls: Mutex<BTreeMap<String, usize>>,
}

/// Does nothing, successfully.
struct Idle(Paths);

impl Updater for Idle {
    fn claims(&self) -> Claims {
        self.0.clone().into()
    }

    async fn update(&self, _: MachineUpdate) -> Result<Progress, UpdateFailure> {
        Ok(Progress::Done)
    }
}

impl Stranger {
    /// Claims these paths, and follows the script.
    pub async fn register(story: &Story, paths: Paths, script: Script) -> Self {
        let stranger = Self::serve(story, paths, script).await;
        stranger.install(story).await;
        stranger
    }

    /// The same with an ExtensionConfig that trusts somebody else: it is never discovered.
    pub async fn register_with_wrong_ca(story: &Story, paths: Paths, script: Script) -> Self {
        let (stranger, (other, _)) = (Self::serve(story, paths, script).await, tls());
        stranger.apply(story, &other).await;
        stranger
    }

    /// Is there, and nobody knows it.
    pub async fn serve(story: &Story, paths: Paths, script: Script) -> Self {
        let extension = Extension::builder(Idle(paths)).build().expect("the claims must be good");
        let (authority, acceptor) = tls();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port must be free");
        let port = listener.local_addr().expect("it must be bound").port();
        let inner = Arc::new(Inner { extension, script: Mutex::new(script), calls: Mutex::default() });
        let serving = tokio::spawn(accept(listener, acceptor, Arc::clone(&inner)));
        Self { serving, name: format!("stranger-{}", story.name), port, authority, inner }
    }

    /// The name of its ExtensionConfig.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its ExtensionConfig is made, and it is asked from then on.
    pub async fn install(&self, story: &Story) {
        self.apply(story, &self.authority).await;
        self.until_discovered(&Api::all(story.client.clone())).await;
    }

    /// Its ExtensionConfig is deleted.
    pub async fn uninstall(&self, story: &Story) {
        let api: Api<ExtensionConfig> = Api::all(story.client.clone());
        api.delete(&self.name, &DeleteParams::default()).await.expect("it must be deleted");
    }

    /// The same extension is registered under another name, and its first ExtensionConfig is gone.
    pub async fn install_as(&mut self, story: &Story, name: &str) {
        self.uninstall(story).await;
        self.name = format!("{name}-{}", story.name);
        self.install(story).await;
    }

    /// Its ExtensionConfig trusts it from now on.
    pub async fn mend_ca(&self, story: &Story) {
        self.apply(story, &self.authority).await;
    }

    /// How often a hook was called.
    pub fn calls(&self, hook: &str) -> usize {
        self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner).get(hook).copied().unwrap_or(0)
    }

    /// Says something else from now on, by its settings: then it is asked again at once.
    pub async fn change(&self, story: &Story, script: Script) {
        *self.inner.script.lock().unwrap_or_else(PoisonError::into_inner) = script;
        let api: Api<ExtensionConfig> = Api::all(story.client.clone());
        let patch = json!({ "spec": { "settings": { "version": "2" } } });
        api.patch(&self.name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("it must be patched");
    }

    async fn apply(&self, story: &Story, authority: &str) {
        let config = json!({
            "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
            "kind": "ExtensionConfig",
            "metadata": { "name": self.name, "annotations": { ORDER: "5" } },
            "spec": {
                "clientConfig": {
                    "url": format!("https://127.0.0.1:{}", self.port),
                    "caBundle": BASE64_STANDARD.encode(authority),
                },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": story.name } },
            },
        });
        let api: Api<ExtensionConfig> = Api::all(story.client.clone());
        let applied = api.patch(&self.name, &PatchParams::apply("story").force(), &Patch::Apply(config)).await;
        applied.expect("the extension must be registered");
    }

    /// From now on it is asked.
    async fn until_discovered(&self, api: &Api<ExtensionConfig>) {
        let began = tokio::time::Instant::now();
        loop {
            let config = api.get(&self.name).await.expect("it must be there");
            if !config.status.handlers.is_empty() {
                return;
            }
            assert!(began.elapsed() < crate::story::LIMIT, "{} is not discovered", self.name);
            tokio::time::sleep(crate::story::EVERY).await;
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Inner {
    /// The status and the body of an answer.
    async fn answer(&self, path: &str, body: Vec<u8>) -> (u16, String) {
        let hook = path.split('/').nth(3).unwrap_or_default().to_owned();
        let reply = self.reply(&hook);
        let request = http::Request::builder().uri(path).body(Body::from(body)).expect("a path must be a uri");
        let usual = self.extension.handle(request).await.into_body().collect().await;
        let usual = usual.expect("a whole body must be readable").to_bytes();
        let mut usual: Value = serde_json::from_slice(&usual).unwrap_or_default();
        match reply {
            Reply::Usual => (200, usual.to_string()),
            Reply::Broken => (500, String::new()),
            Reply::Ignoring(fields) => {
                let handlers = usual["handlers"].as_array_mut().into_iter().flatten();
                handlers.for_each(|handler| crate::merge::merge(handler, &fields));
                (200, usual.to_string())
            }
            Reply::With(fields) => {
                crate::merge::merge(&mut usual, &fields);
                (200, usual.to_string())
            }
        }
    }

    fn reply(&self, hook: &str) -> Reply {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(hook.to_owned()).or_default();
        let reply = self.script.lock().unwrap_or_else(PoisonError::into_inner)(hook, *count);
        *count += 1;
        reply
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, inner: Arc<Inner>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, inner) = (acceptor.clone(), Arc::clone(&inner));
        // Whoever goes away in the middle comes back.
        tokio::spawn(async move { serve(stream, acceptor, &inner).await });
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, inner: &Inner) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    loop {
        let (path, body) = read(&mut stream).await?;
        let (status, body) = inner.answer(&path, body).await;
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
    }
}

/// The path and the body of one request.
async fn read(stream: &mut TlsStream<TcpStream>) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok((head.split(' ').nth(1).unwrap_or_default().to_owned(), body))
}

/// An authority, and the server side of what it vouches for.
fn tls() -> (String, TlsAcceptor) {
    let now = Timestamp::now();
    let authority = Authority::generate(now).expect("an authority must be made");
    let Pair { certificate, key } =
        authority.issue_server(&["127.0.0.1".to_owned()], now).expect("a certificate must be issued");
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("it must be a certificate");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("it must be a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("the versions must be good");
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("the certificate must be good")));
    (authority.certificate().to_owned(), acceptor)
}
