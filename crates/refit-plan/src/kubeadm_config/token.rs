//! Bootstrap tokens: by which a joining Machine logs in for the first time.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// How long a token is good when it is made or extended, as upstream.
pub const TOKEN_VALIDITY: SignedDuration = SignedDuration::from_mins(15);
/// A token is extended when less than this is left: five sixths, as upstream.
const TOKEN_RENEWAL: SignedDuration = SignedDuration::from_secs(15 * 60 * 5 / 6);
/// How often a token is looked at. It is extended twice before it could run out.
pub const TOKEN_INTERVAL: Duration = Duration::from_secs(15 * 60 / 3);
/// Where Kubernetes looks for tokens.
pub const TOKEN_NAMESPACE: &str = "kube-system";
pub const TOKEN_SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
pub const EXPIRATION_KEY: &str = "expiration";
const ID_KEY: &str = "token-id";
const SECRET_KEY: &str = "token-secret";
/// What kubeadm allows Machines to do that log in by a token.
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";
const ID_CHARS: usize = 6;
const SECRET_CHARS: usize = 16;
const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A token. It is a secret: `Debug` shows its id alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    id: String,
    secret: String,
}

/// What is known of the Secret of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSecret {
    Missing,
    /// It never expires: somebody made it so.
    Endless,
    Expires(Timestamp),
    /// It is another token of the same id, or cannot be read.
    Unusable(&'static str),
}

/// What to do about the Secret of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenDecision {
    Create,
    Extend,
    Keep,
}

/// A text that is no token. It may be half a secret, so it is not quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the bootstrap token is not of the form [a-z0-9]{{6}}.[a-z0-9]{{16}}; correct it, or remove it to have one made"
)]
pub struct NoToken;

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Token {
    pub fn parse(text: &str) -> Result<Self, NoToken> {
        let (id, secret) = text.split_once('.').ok_or(NoToken)?;
        let is_good = |part: &str, length| part.len() == length && part.bytes().all(|it| ALPHABET.contains(&it));
        match is_good(id, ID_CHARS) && is_good(secret, SECRET_CHARS) {
            true => Ok(Self { id: id.to_owned(), secret: secret.to_owned() }),
            false => Err(NoToken),
        }
    }

    /// From numbers that nobody can guess.
    pub fn from_random(numbers: [u64; 3]) -> Self {
        let [id, first, second] = numbers;
        let secret = format!("{}{}", characters(first, SECRET_CHARS / 2), characters(second, SECRET_CHARS / 2));
        Self { id: characters(id, ID_CHARS), secret }
    }

    /// The whole token, as kubeadm takes it.
    pub fn text(&self) -> String {
        format!("{}.{}", self.id, self.secret)
    }

    /// The name of its Secret in the workload cluster.
    pub fn secret_name(&self) -> String {
        format!("bootstrap-token-{}", self.id)
    }

    /// What its Secret says.
    pub fn data(&self, now: Timestamp) -> BTreeMap<String, String> {
        let entries = [
            (ID_KEY, self.id.as_str()),
            (SECRET_KEY, self.secret.as_str()),
            (EXPIRATION_KEY, &expiration(now)),
            ("usage-bootstrap-authentication", "true"),
            ("usage-bootstrap-signing", "true"),
            ("auth-extra-groups", GROUP),
            ("description", "token of a joining Machine, made by refit"),
        ];
        entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    /// What the Secret that is there says about this token.
    pub fn look_at(&self, get: impl Fn(&str) -> Option<String>) -> TokenSecret {
        if get(SECRET_KEY).as_ref() != Some(&self.secret) {
            return TokenSecret::Unusable("it is of another token");
        }
        match get(EXPIRATION_KEY).map(|text| text.parse::<Timestamp>()) {
            None => TokenSecret::Endless,
            Some(Ok(end)) => TokenSecret::Expires(end),
            Some(Err(_)) => TokenSecret::Unusable("its expiration is no time"),
        }
    }
}

/// Until when a token is good that is made or extended now.
pub fn expiration(now: Timestamp) -> String {
    let end = now.saturating_add(TOKEN_VALIDITY).unwrap_or(now);
    Timestamp::from_second(end.as_second()).unwrap_or(end).to_string()
}

/// Decides about the Secret of a token that a Machine still needs.
pub fn decide(secret: &TokenSecret, now: Timestamp) -> Result<TokenDecision, &'static str> {
    match secret {
        TokenSecret::Missing => Ok(TokenDecision::Create),
        TokenSecret::Endless => Ok(TokenDecision::Keep),
        TokenSecret::Expires(end) if end.duration_since(now) > TOKEN_RENEWAL => Ok(TokenDecision::Keep),
        TokenSecret::Expires(_) => Ok(TokenDecision::Extend),
        TokenSecret::Unusable(why) => Err(why),
    }
}

fn characters(mut number: u64, count: usize) -> String {
    let base = ALPHABET.len() as u64;
    let mut next = || {
        let digit = usize::try_from(number % base).unwrap_or(0);
        number /= base;
        char::from(ALPHABET[digit])
    };
    (0..count).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_of_numbers_and_read_back() {
        let token = Token::from_random([u64::MAX, 1, 36]);
        let text = token.text();
        assert_eq!((text.len(), Token::parse(&text)), (23, Ok(token.clone())));
        assert!(text.ends_with("1000000001000000"), "{text}");
        assert!(!format!("{token:?}").contains("1000000"), "{token:?}");
        for bad in ["", "abcdef", "abcdef.0123456789abcde", "abcdeF.0123456789abcdef", "abcdef.0123456789abcdef0"] {
            assert_eq!(Token::parse(bad), Err(NoToken), "{bad}");
        }
    }

    #[test]
    fn a_token_is_made_extended_and_left_alone_in_time() {
        let now = Timestamp::UNIX_EPOCH;
        let ends = |minutes| TokenSecret::Expires(now + SignedDuration::from_mins(minutes));
        let cases = [
            (TokenSecret::Missing, Ok(TokenDecision::Create)),
            (TokenSecret::Endless, Ok(TokenDecision::Keep)),
            (ends(15), Ok(TokenDecision::Keep)),
            (ends(13), Ok(TokenDecision::Keep)),
            (ends(12), Ok(TokenDecision::Extend)),
            (ends(-1), Ok(TokenDecision::Extend)),
            (TokenSecret::Unusable("words"), Err("words")),
        ];
        for (secret, expected) in cases {
            assert_eq!(decide(&secret, now), expected, "{secret:?}");
        }
    }

    #[test]
    fn the_secret_of_a_token_says_what_kubernetes_reads() {
        let token = Token::parse("abcdef.0123456789abcdef").expect("it is a token");
        let data = token.data(Timestamp::UNIX_EPOCH);
        assert_eq!(token.secret_name(), "bootstrap-token-abcdef");
        assert_eq!(data["expiration"], "1970-01-01T00:15:00Z");
        let look = |key: &str, value: Option<&str>| {
            let get = |asked: &str| match asked == key {
                true => value.map(str::to_owned),
                false => data.get(asked).cloned(),
            };
            token.look_at(get)
        };
        assert_eq!(look("", None), TokenSecret::Expires(Timestamp::UNIX_EPOCH + TOKEN_VALIDITY));
        assert_eq!(look("expiration", None), TokenSecret::Endless);
        assert_eq!(look("expiration", Some("soon")), TokenSecret::Unusable("its expiration is no time"));
        assert_eq!(look("token-secret", Some("other")), TokenSecret::Unusable("it is of another token"));
    }
}
