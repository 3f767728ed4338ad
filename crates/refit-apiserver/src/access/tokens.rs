//! Bearer tokens.

use std::fmt;
use std::hint::black_box;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::request::User;

/// A token and who comes with it, as it stands in the file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub token: String,
    pub user: String,
    #[serde(default)]
    pub groups: Vec<String>,
}

/// Secrets stay out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("user", &self.user).field("groups", &self.groups).finish_non_exhaustive()
    }
}

/// All known tokens, kept as digests.
#[derive(Debug, Default)]
pub struct Tokens(Vec<([u8; 32], User)>);

impl Tokens {
    /// An empty token is nobody's.
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a Token>) -> Self {
        let known = tokens.into_iter().filter(|token| !token.token.is_empty());
        Self(known.map(|token| (digest(&token.token), token.identity())).collect())
    }

    /// Who comes with this token. How long it takes tells nothing about any token.
    pub fn user(&self, token: &str) -> Option<&User> {
        let asked = digest(token);
        let mut found = None;
        for (known, user) in &self.0 {
            if equal(known, &asked) {
                found = Some(user);
            }
        }
        found
    }
}

impl Token {
    fn identity(&self) -> User {
        let groups = self.groups.iter().map(String::as_str).chain([super::AUTHENTICATED]);
        User { name: self.user.clone(), groups: groups.map(str::to_owned).collect() }
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Looks at every byte, whatever the first ones say.
fn equal(left: &[u8; 32], right: &[u8; 32]) -> bool {
    let different = left.iter().zip(right).fold(0, |bits, (left, right)| black_box(bits | (left ^ right)));
    different == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(token: &str, user: &str) -> Token {
        Token { token: token.to_owned(), user: user.to_owned(), groups: vec!["g".to_owned()] }
    }

    #[test]
    fn only_the_whole_token_is_known() {
        let tokens = Tokens::new(&[token("secret", "a"), token("other", "b"), token("", "c")]);
        for (asked, expected) in
            [("secret", Some("a")), ("other", Some("b")), ("secre", None), ("secret1", None), ("", None)]
        {
            assert_eq!(tokens.user(asked).map(|user| user.name.as_str()), expected, "{asked:?}");
        }
        assert_eq!(tokens.user("secret").map(|user| user.groups.len()), Some(2));
    }

    #[test]
    fn a_token_is_not_printed() {
        assert!(!format!("{:?}", token("hunter2", "a")).contains("hunter2"));
    }
}
