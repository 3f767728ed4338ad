//! Client certificates, and what becomes of credentials over time.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use refit_apiserver::access::{self, Tokens};
use refit_apiserver::credentials::{Authority, Credentials, CredentialsError, kubeconfig};
use tempfile::TempDir;

use crate::running::{Running, client, refusal};

const DAY: SignedDuration = SignedDuration::from_hours(24);

#[tokio::test]
async fn only_a_certificate_of_our_authority_that_is_not_expired_counts() {
    let running = Running::start().await;
    let now = Timestamp::now();
    let credentials = Credentials::open(&running.file(""), &[], now).unwrap();
    let (ours, other) = (credentials.authority(), Authority::generate(now).unwrap());
    let admin = access::admin();
    for (what, pair, expected) in [
        ("ours", ours.issue_client(&admin, now).unwrap(), 200),
        ("of a user without rights", ours.issue_client(&access::nobody(), now).unwrap(), 403),
        ("expired", ours.issue_client_until(&admin, now - DAY * 2, DAY).unwrap(), 0),
        ("not valid yet", ours.issue_client(&admin, now + DAY).unwrap(), 0),
        ("of another authority", other.issue_client(&admin, now).unwrap(), 0),
        ("of a server", ours.issue_server(&["localhost".to_owned()], now).unwrap(), 0),
    ] {
        let client = client(&kubeconfig(&running.url, ours.certificate(), "a", &pair)).await;
        let (code, message) = refusal(Api::<Namespace>::all(client).list(&ListParams::default()).await);
        assert_eq!(code, expected, "{what}: {message}");
    }
    running.stop().await;
}

/// Authority and server certificate as they are at a time.
fn at(folder: &Path, names: &[&str], now: Timestamp) -> (String, String) {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let credentials = Credentials::open(folder, &names, now).expect("there must be credentials");
    (credentials.authority().certificate().to_owned(), credentials.server().certificate.clone())
}

#[test]
fn credentials_are_used_again_and_renewed_before_they_expire() {
    let folder = TempDir::new().unwrap();
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let (authority, server) = at(folder.path(), &[], begin);
    assert_eq!(at(folder.path(), &[], begin + DAY * 300), (authority.clone(), server.clone()));
    let (same, renewed) = at(folder.path(), &[], begin + DAY * 310);
    assert!(same == authority && renewed != server);
    let (same, renamed) = at(folder.path(), &["refit.example"], begin + DAY * 310);
    assert!(same == authority && renamed != renewed);
    assert_eq!(at(folder.path(), &["refit.example"], begin + DAY * 311), (authority.clone(), renamed.clone()));
    let (another, anew) = at(folder.path(), &["refit.example"], begin + DAY * 365 * 9 + DAY);
    assert!(another != authority && anew != renamed);
}

#[test]
fn nobody_else_may_read_the_files() {
    let folder = TempDir::new().unwrap();
    let open = || Credentials::open(folder.path(), &[], Timestamp::now()).unwrap();
    open().write_kubeconfigs("https://localhost").unwrap();
    let pki = folder.path().join("pki");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in [pki.join("ca.key"), pki.join("tokens.json")] {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(&pki, Permissions::from_mode(0o755)).unwrap();
    open().write_kubeconfigs("https://localhost").unwrap();
    assert_eq!(mode(&pki), 0o700);
    let files = fs::read_dir(&pki).unwrap().chain(fs::read_dir(folder.path()).unwrap());
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 11, "{files:?}");
    for path in files {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn tokens_last_and_a_file_that_is_broken_is_not_overwritten() {
    let folder = TempDir::new().unwrap();
    let open = || Credentials::open(folder.path(), &[], Timestamp::now());
    let tokens = open().unwrap().token_list().to_vec();
    assert_eq!(open().unwrap().token_list(), tokens);
    assert_eq!(Tokens::new(&tokens).user(&tokens[0].token), Some(&access::admin()));
    let path = folder.path().join("pki/tokens.json");
    fs::write(&path, "[{]").unwrap();
    assert!(matches!(open(), Err(CredentialsError::Content { path: named, .. }) if named == path));
    assert_eq!(fs::read_to_string(&path).unwrap(), "[{]");
}
