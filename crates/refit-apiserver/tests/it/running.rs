//! A server on a free port, and clients of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use refit_apiserver::access;
use refit_apiserver::credentials::Credentials;
use refit_apiserver::host::Host;
use refit_apiserver::request::User;
use refit_apiserver::server::{Kubeconfigs, Limits, Server};
use refit_apiserver::store::Store;
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs until it is stopped or dropped.
pub struct Running {
    pub host: Host,
    pub url: String,
    pub kubeconfigs: Kubeconfigs,
    folder: TempDir,
    address: SocketAddr,
    /// Bound and not listening: nobody else gets the port while the server is away.
    _reserved: TcpSocket,
    limits: Limits,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    pub async fn start() -> Self {
        Self::start_with(Limits::default()).await
    }

    pub async fn start_with(limits: Limits) -> Self {
        let folder = TempDir::new().expect("there must be a temporary folder");
        let host = Host::start_on_system(Store::in_memory()).await.expect("the API must start");
        let (reserved, address) = reserve();
        let server = bind(&host, folder.path(), address, limits).await;
        let (url, kubeconfigs) = (server.url().to_owned(), server.kubeconfigs());
        kubeconfigs.write().expect("kubeconfigs must be written");
        let (end, task) = spawn(server);
        Self { host, url, kubeconfigs, folder, address, _reserved: reserved, limits, end: Some(end), task }
    }

    /// Ends the server as a signal would, and waits until it has ended.
    pub async fn stop(mut self) {
        self.end().await;
    }

    /// Ends the server, and begins it again on the same port when something was done.
    pub async fn restart(&mut self, meanwhile: impl Future<Output = ()>) {
        self.end().await;
        meanwhile.await;
        let server = bind(&self.host, self.folder.path(), self.address, self.limits).await;
        let (end, task) = spawn(server);
        (self.end, self.task) = (Some(end), task);
    }

    async fn end(&mut self) {
        drop(self.end.take());
        (&mut self.task).await.expect("the server must end well");
    }

    /// A file in the data folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A client over HTTPS, as the administrator.
    pub async fn client(&self) -> Client {
        Client::try_from(self.config().await).expect("there must be a client")
    }

    /// How the administrator reaches the server.
    pub async fn config(&self) -> Config {
        config(&std::fs::read_to_string(self.file("admin.kubeconfig")).expect("it must be written")).await
    }

    /// A client over HTTPS with a token.
    pub async fn client_by_token(&self, token: &str) -> Client {
        self.client_as(AuthInfo { token: Some(token.to_owned().into()), ..Default::default() }).await
    }

    /// A client over HTTPS that shows nothing.
    pub async fn client_without_identity(&self) -> Client {
        self.client_as(AuthInfo::default()).await
    }

    /// The administrator over HTTPS, who takes every refusal as it comes.
    pub async fn client_without_retries(&self) -> Client {
        let mut config = self.config().await;
        config.default_retry = false;
        Client::try_from(config).expect("there must be a client")
    }

    async fn client_as(&self, auth_info: AuthInfo) -> Client {
        let mut config = self.config().await;
        config.auth_info = auth_info;
        Client::try_from(config).expect("there must be a client")
    }

    /// The token of one of the server's users.
    pub fn token(&self, user: &str) -> String {
        let text = std::fs::read_to_string(self.file("pki/tokens.json")).expect("there must be tokens");
        let tokens: Vec<serde_json::Value> = serde_json::from_str(&text).expect("they must be JSON");
        let token = tokens.iter().find(|token| token["user"] == user).expect("the user must have a token");
        token["token"].as_str().expect("a token must be text").to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A port that only those get who ask for it by its number.
fn reserve() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("there must be a socket");
    socket.set_reuseaddr(true).expect("the port must be shared with the server");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port must be free");
    let address = socket.local_addr().expect("it must be bound");
    (socket, address)
}

async fn bind(host: &Host, folder: &Path, address: SocketAddr, limits: Limits) -> Server {
    let credentials = Credentials::open(folder, &[], Timestamp::now()).expect("there must be credentials");
    Server::bind(host.clone(), credentials, address, limits).await.expect("the server must listen")
}

fn spawn(server: Server) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (end, ended) = oneshot::channel();
    let run = server.run(async move {
        let _ = ended.await;
    });
    (end, tokio::spawn(run))
}

/// A client in this process.
pub fn in_process(host: &Host, user: User) -> Client {
    Client::new(host.service(user), "default")
}

/// A client in this process that may do everything.
pub fn admin_in_process(host: &Host) -> Client {
    in_process(host, access::admin())
}

/// A client over HTTPS.
pub async fn client(kubeconfig: &str) -> Client {
    Client::try_from(config(kubeconfig).await).expect("there must be a client")
}

async fn config(kubeconfig: &str) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("it must be a kubeconfig");
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("it must be a whole kubeconfig")
}

/// The status code by which a request was refused.
pub fn refusal<T>(result: Result<T, kube::Error>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.message),
        Err(error) => (0, error.to_string()),
        Ok(_) => (200, String::new()),
    }
}
