//! Hook calls per second, and what they cost beyond a plain HTTP exchange of the same bytes.
//!
//! Three ways of the same round trip, over one kept connection and with the same server behind TLS: bytes by hand, the
//! hook client, and the whole path of a controller with registry, settings and checks. Printed as ratios of the first.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use refit_api::hooks::{Hook, UpdateMachineRequest};
use refit_hooks::Extensions;
use refit_hooks::client::{CallTimeout, Client, ClientIdentity, Endpoint, Outgoing, Target, TlsTransport, Transport};
use refit_hooks::metrics::HookMetrics;
use refit_hooks::registry::Namespace;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tower::ServiceExt;

/// How many calls each way makes in a row, and how many such rows there are; the fastest one counts.
const CALLS: u32 = 1_000;
const ROWS: usize = 5;
const HOST: &str = "ext.system.svc";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime must start").block_on(compare());
}

async fn compare() {
    let (port, ca) = serve().await;
    let hosts = BTreeMap::from([(HOST.to_owned(), IpAddr::from(Ipv4Addr::LOCALHOST))]);
    let transport = TlsTransport::new(ClientIdentity::none()).with_hosts(hosts).boxed();
    let client = Client::new(transport.clone(), HookMetrics::default());
    let config = extension_config(port, &ca);
    let endpoint = Endpoint::new(&config.spec.client_config).expect("the URL must be good");
    let extensions = Extensions::new(client.clone());
    extensions.register(&config).expect("it must be registered");
    extensions.set_ready();
    let name = "update.ext".parse().expect("the name must parse");
    let namespace = Namespace { name: "ns".to_owned(), labels: None };

    let request = request();
    let body = Bytes::from(serde_json::to_vec(&request).expect("a request must encode"));
    let target = Target { endpoint: &endpoint, handler: None, timeout: CallTimeout::DEFAULT };
    let mut best = [Duration::MAX; 3];
    // By turns, so that a noise of the machine does not hit one of them alone.
    for _ in 0..ROWS {
        let plain = time(async || exchange_bytes(&transport, &endpoint, body.clone()).await).await;
        let hook = time(async || drop(client.call(target, &request).await.expect("it must be called"))).await;
        let whole = time(async || {
            let called = extensions.update_machine(&name, &namespace, request.clone()).await;
            called.expect("it must be called");
        })
        .await;
        best = [plain.min(best[0]), hook.min(best[1]), whole.min(best[2])];
    }
    let [plain, hook, whole] = best;
    report("plain HTTP", plain, plain);
    report("hook client", hook, plain);
    report("UpdateMachine through the registry", whole, plain);
}

fn report(what: &str, per_call: Duration, plain: Duration) {
    let (rate, ratio) = (1.0 / per_call.as_secs_f64(), per_call.as_secs_f64() / plain.as_secs_f64());
    println!("{what:<36} {rate:>8.0} calls/s  {per_call:>10.1?} per call  {ratio:>5.2} x plain");
}

/// How long one call takes.
async fn time(call: impl AsyncFn()) -> Duration {
    let begin = Instant::now();
    for _ in 0..CALLS {
        call().await;
    }
    begin.elapsed() / CALLS
}

/// The same request, encoded beforehand, and the same answer, not looked at.
async fn exchange_bytes(transport: &Transport, endpoint: &Endpoint, body: Bytes) {
    let uri = endpoint.address(Hook::UpdateMachine, None, Duration::from_secs(10)).expect("there must be an address");
    let request = http::Request::post(uri).body(Full::new(body)).expect("the request must be good");
    let outgoing = Outgoing { endpoint: endpoint.clone(), request };
    let response = transport.clone().oneshot(outgoing).await.expect("it must be answered");
    response.into_body().collect().await.expect("the body must arrive");
}

/// A Machine of the usual size: some KiB with its provider objects.
fn request() -> UpdateMachineRequest {
    let files: Vec<_> = (0..20).map(|n| json!({ "path": format!("/etc/{n}"), "content": "x".repeat(100) })).collect();
    let object = |kind: &str| json!({ "apiVersion": "x.io/v1", "kind": kind, "metadata": { "name": "m" }, "spec": { "files": files } });
    let desired = json!({ "machine": object("Machine"), "infrastructureMachine": object("DevMachine"), "bootstrapConfig": object("KubeadmConfig") });
    serde_json::from_value(json!({ "desired": desired })).expect("the request must decode")
}

fn extension_config(port: u16, ca: &str) -> refit_api::runtime::ExtensionConfig {
    let hook = json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "UpdateMachine" });
    let ca = k8s_openapi::ByteString(ca.as_bytes().to_vec());
    let config = json!({
        "metadata": { "name": "ext" },
        "spec": { "clientConfig": { "url": format!("https://{HOST}:{port}"), "caBundle": ca }, "namespaceSelector": {} },
        "status": { "handlers": [{ "name": "update.ext", "requestHook": hook }] },
    });
    serde_json::from_value(config).expect("the ExtensionConfig must decode")
}

/// A server that reads every request and says that it is done.
async fn serve() -> (u16, String) {
    let key = rcgen::generate_simple_self_signed([HOST.to_owned()]).expect("a certificate must be made");
    let (certificate, key) = (key.cert.pem(), key.signing_key.serialize_pem());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("it must be PEM")];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("it must be PEM");
    let tls = tls.expect("the versions must be good").with_no_client_auth().with_single_cert(chain, key);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls.expect("the certificate must be good")));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port must be free");
    let port = listener.local_addr().expect("it must be bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(answer);
                let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                // A client that goes away is the end of the benchmark.
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (port, certificate)
}

async fn answer(request: hyper::Request<hyper::body::Incoming>) -> Result<hyper::Response<Full<Bytes>>, hyper::Error> {
    request.into_body().collect().await?;
    Ok(hyper::Response::new(Full::new(Bytes::from_static(b"{\"status\":\"Success\",\"retryAfterSeconds\":5}"))))
}
