//! TLS: certificates that are replaced while the server runs, and callers that must have one.

use std::path::Path;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use refit_sdk::ServerOptions;
use refit_sdk::conformance::{self, ClientFiles, Options, Target};
use refit_sdk::server::{CertificateFiles, Server, Transport};

use crate::support::{Served, sample};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key must be made")).expect("it must be signed")
}

/// Writes a certificate for localhost, its key, and the authority that signed it.
fn write_pair(folder: &Path, authority: &Authority) {
    let key = KeyPair::generate().expect("a key must be made");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("the name must be right");
    let certificate = params.signed_by(&key, authority).expect("it must be signed");
    write(folder, "tls.crt", &certificate.pem());
    write(folder, "tls.key", &key.serialize_pem());
}

fn write(folder: &Path, name: &str, content: &str) {
    std::fs::write(folder.join(name), content).expect("the file must be written");
}

fn options(folder: &Path, client_ca: Option<&str>) -> ServerOptions {
    let files = CertificateFiles {
        folder: folder.to_owned(),
        client_ca: client_ca.map(str::to_owned),
        ..CertificateFiles::default()
    };
    let reload_interval = Duration::from_millis(20);
    ServerOptions { transport: Transport::Tls(files), reload_interval, ..ServerOptions::local() }
}

/// Whether Discovery answers a caller that trusts this authority.
async fn answers(served: &Served, folder: &Path, ca: &str, pair: bool) -> bool {
    let pair = pair.then(|| (folder.join("tls.crt"), folder.join("tls.key")));
    let files = ClientFiles { ca: Some(folder.join(ca)), pair };
    let target =
        Target::new(&format!("https://localhost:{}", served.address.port()), &files, false).expect("it must be right");
    let options = Options { handler: Some("none".to_owned()), ..Options::default() };
    !matches!(conformance::check(&target, &options).await, Err(conformance::CheckError::Unreachable(_)))
}

#[tokio::test]
async fn a_replaced_certificate_is_served_without_a_restart() {
    let folder = tempfile::tempdir().expect("a folder must be made");
    let (old, new) = (authority(), authority());
    write(folder.path(), "old.crt", &old.pem());
    write(folder.path(), "new.crt", &new.pem());
    write_pair(folder.path(), &old);
    let served = Served::start(sample(), options(folder.path(), None)).await;
    assert!(answers(&served, folder.path(), "old.crt", false).await);
    assert!(!answers(&served, folder.path(), "new.crt", false).await);
    write(folder.path(), "tls.crt", "half writ");
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(answers(&served, folder.path(), "old.crt", false).await, "a broken file must change nothing");
    write_pair(folder.path(), &new);
    let began = Instant::now();
    while !answers(&served, folder.path(), "new.crt", false).await {
        assert!(began.elapsed() < Duration::from_secs(180), "the new certificate must be served");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn every_rule_is_kept_over_tls_and_both_versions_of_http() {
    let folder = tempfile::tempdir().expect("a folder must be made");
    let authority = authority();
    write(folder.path(), "ca.crt", &authority.pem());
    write_pair(folder.path(), &authority);
    let served = Served::start(sample(), options(folder.path(), None)).await;
    let files = ClientFiles { ca: Some(folder.path().join("ca.crt")), pair: None };
    let url = format!("https://localhost:{}", served.address.port());
    let target = Target::new(&url, &files, false).expect("the address must be right");
    let options = Options { large_bodies: false, ..Options::default() };
    let report = conformance::check(&target, &options).await.expect("it must be checked");
    assert!(report.is_conformant(), "{}", report.text());
}

#[tokio::test]
async fn callers_need_a_certificate_when_the_server_says_so() {
    let folder = tempfile::tempdir().expect("a folder must be made");
    let authority = authority();
    write(folder.path(), "ca.crt", &authority.pem());
    write_pair(folder.path(), &authority);
    let served = Served::start(sample(), options(folder.path(), Some("ca.crt"))).await;
    assert!(!answers(&served, folder.path(), "ca.crt", false).await);
    assert!(answers(&served, folder.path(), "ca.crt", true).await);
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder must be made");
    let check = async |options: ServerOptions, expected: &str| {
        let error = Server::bind(sample(), options).await.err().expect("it must be refused").to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(options(folder.path(), None), "cannot read").await;
    write_pair(folder.path(), &authority());
    write(folder.path(), "tls.key", &KeyPair::generate().expect("a key must be made").serialize_pem());
    check(options(folder.path(), None), "do not go together").await;
    write(folder.path(), "tls.crt", "no certificate");
    check(options(folder.path(), None), "has no certificate").await;
    let beyond = ServerOptions { address: ([0, 0, 0, 0], 0).into(), ..ServerOptions::local() };
    check(beyond, "is no loopback address").await;
}
