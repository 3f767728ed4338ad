//! What secures the server: an authority of its own, the certificates it signs, tokens, and kubeconfig files.
//!
//! Everything lies in `pki` in the data folder, readable by its owner only, and is used again after a restart. What is
//! about to expire is made anew.

mod authority;
mod files;
mod kubeconfig;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use rand::TryRng;
use rand::rngs::SysRng;

use crate::access::{self, Token, Tokens};
use crate::request::User;

pub use authority::{Authority, Pair};
pub use kubeconfig::kubeconfig;

use authority::{CA_RENEWAL, LEAF_RENEWAL};
use files::{Private, read_pair, write_pair};

/// The name under which every server can be reached on its own machine.
const LOCAL_NAMES: [&str; 6] =
    ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
/// The certificates that the authority signs for the server itself.
const LEAVES: [&str; 3] = ["server", "admin", "read-only"];
const TOKEN_BYTES: usize = 32;

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("{} cannot be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be understood: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
    #[error("no certificate can be made for {subject}")]
    Certificate {
        subject: String,
        #[source]
        source: rcgen::Error,
    },
    #[error("a certificate names one group, and {user:?} is in several")]
    Groups { user: String },
}

/// The credentials of one server.
#[derive(Debug)]
pub struct Credentials {
    folder: PathBuf,
    names: Vec<String>,
    authority: Authority,
    server: Pair,
    admin: Pair,
    viewer: Pair,
    tokens: Vec<Token>,
}

/// The names that a server's certificate is for besides the local ones: those that were given, and the address that it
/// listens on where that is one that others reach.
pub fn certificate_names(given: &[String], bind: SocketAddr) -> Vec<String> {
    let address = bind.ip();
    let own = (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string());
    let mut names: Vec<String> = given.iter().cloned().chain(own).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Credentials {
    /// Reads the credentials in a data folder, and makes those that are missing, expire soon or name other hosts.
    pub fn open(folder: &Path, extra_names: &[String], now: Timestamp) -> Result<Self, CredentialsError> {
        let pki = folder.join("pki");
        files::create_folder(&pki)?;
        let names: Vec<String> = LOCAL_NAMES.iter().map(|&name| name.to_owned()).chain(extra_names.to_vec()).collect();
        let kept = read_pair(&pki, "ca")?.filter(|pair| pair.outlives(now, CA_RENEWAL));
        if let Some(pair) = kept {
            return Self::under(Authority::load(pair)?, folder, names, now);
        }
        let authority = Authority::generate(now)?;
        // What another authority signed is worth nothing.
        LEAVES.iter().try_for_each(|name| files::remove_pair(&pki, name))?;
        write_pair(&pki, "ca", authority.pair())?;
        Self::under(authority, folder, names, now)
    }

    /// The same with what has come near its end meanwhile made anew. The authority stays while the server runs.
    pub fn renewed(&self, now: Timestamp) -> Result<Self, CredentialsError> {
        let authority = Authority::load(self.authority.pair().clone())?;
        Self::under(authority, &self.folder, self.names.clone(), now)
    }

    /// Those that an authority has signed.
    fn under(
        authority: Authority,
        folder: &Path,
        names: Vec<String>,
        now: Timestamp,
    ) -> Result<Self, CredentialsError> {
        let pki = folder.join("pki");
        let [server, admin, viewer] = LEAVES;
        let client = |file: &str, user: &User| leaf(&pki, file, now, |_| true, || authority.issue_client(user, now));
        let server = leaf(&pki, server, now, |pair| pair.names_all(&names), || authority.issue_server(&names, now))?;
        let admin = client(admin, &access::admin())?;
        let viewer = client(viewer, &access::viewer())?;
        let tokens = read_tokens(&pki)?;
        Ok(Self { folder: folder.to_owned(), names, authority, server, admin, viewer, tokens })
    }

    /// Writes `admin.kubeconfig` and `read-only.kubeconfig` into the data folder. Returns where the former is.
    pub fn write_kubeconfigs(&self, server: &str) -> Result<PathBuf, CredentialsError> {
        let write = |name: &str, pair: &Pair| {
            let path = self.folder.join(format!("{name}.kubeconfig"));
            Private(&path).write(kubeconfig(server, self.authority.certificate(), name, pair).as_bytes())?;
            Ok(path)
        };
        write("read-only", &self.viewer)?;
        write("admin", &self.admin)
    }

    /// A kubeconfig for a user: with the address of a logical cluster and its administrator, what the secret
    /// `<cluster>-kubeconfig` holds.
    pub fn kubeconfig_for(&self, user: &User, server: &str, now: Timestamp) -> Result<String, CredentialsError> {
        let pair = self.authority.issue_client(user, now)?;
        Ok(kubeconfig(server, self.authority.certificate(), &user.name, &pair))
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    pub fn server(&self) -> &Pair {
        &self.server
    }

    /// The tokens as they stand in the file.
    pub fn token_list(&self) -> &[Token] {
        &self.tokens
    }

    pub fn tokens(&self) -> Tokens {
        Tokens::new(&self.tokens)
    }
}

/// A certificate of an earlier run, or a new one where there is none that still fits.
fn leaf(
    pki: &Path,
    file: &str,
    now: Timestamp,
    fits: impl Fn(&Pair) -> bool,
    issue: impl Fn() -> Result<Pair, CredentialsError>,
) -> Result<Pair, CredentialsError> {
    let kept = read_pair(pki, file)?.filter(|pair| pair.outlives(now, LEAF_RENEWAL) && fits(pair));
    if let Some(pair) = kept {
        return Ok(pair);
    }
    let pair = issue()?;
    write_pair(pki, file, &pair)?;
    Ok(pair)
}

/// The tokens of the file, which is made with one for each kind of user where it is missing.
fn read_tokens(pki: &Path) -> Result<Vec<Token>, CredentialsError> {
    let path = pki.join("tokens.json");
    if let Some(text) = Private(&path).read()? {
        let broken =
            |error: serde_json::Error| CredentialsError::Content { path: path.clone(), problem: error.to_string() };
        return serde_json::from_slice(&text).map_err(broken);
    }
    let users = [access::admin(), access::viewer(), access::nobody()];
    let tokens: Vec<Token> = users.into_iter().map(token).collect();
    let text = serde_json::to_string_pretty(&tokens).expect("tokens must be JSON");
    Private(&path).write(text.as_bytes())?;
    Ok(tokens)
}

fn token(user: User) -> Token {
    let mut bytes = [0; TOKEN_BYTES];
    SysRng.try_fill_bytes(&mut bytes).expect("the system must have randomness");
    let groups = user.groups.into_iter().filter(|group| group != access::AUTHENTICATED).collect();
    Token { token: BASE64_URL_SAFE_NO_PAD.encode(bytes), user: user.name, groups }
}

/// So many days.
const fn days(count: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * count)
}
