//! A real extension, written in Go on upstream's own server library, is held to the same rules.

use rcgen::{CertificateParams, KeyPair};
use refit_peers::{GoExtension, require_extension};
use refit_sdk::conformance::{ClientFiles, Options, Target, check};

#[tokio::test]
async fn a_go_extension_keeps_every_rule() {
    let Some(program) = require_extension() else { return };
    let key = KeyPair::generate().expect("a key must be made");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("the name must be right");
    let certificate = params.self_signed(&key).expect("it must be signed").pem();
    let extension = GoExtension::start(&program, &certificate, &key.serialize_pem()).expect("it must start");
    let folder = tempfile::tempdir().expect("a folder must be made");
    let ca = folder.path().join("ca.crt");
    std::fs::write(&ca, certificate).expect("the file must be written");
    let files = ClientFiles { ca: Some(ca), pair: None };
    let url = format!("https://localhost:{}", extension.port());
    let target = Target::new(&url, &files, false).expect("the address must be right");
    let report = check(&target, &Options::default()).await.expect("it must be checked");
    assert!(report.is_conformant(), "{}", report.text());
}
