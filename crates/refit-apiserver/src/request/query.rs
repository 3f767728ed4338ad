//! The part of a URI after the question mark.

use super::path::unescape;

/// The parameters of a request, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `a=b&c`. Empty pairs are skipped: some clients begin with an ampersand.
    pub fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| unescape(&text.replace('+', " "));
            (decode(name), decode(value))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a flag is set. Everything counts as yes, save for its absence, `0` and `false`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_ampersand_and_escapes_are_understood() {
        let query = Query::parse("&limit=500&labelSelector=a%3Db%2Cc+in+%28x%29&dryRun=All&dryRun=");
        assert_eq!(query.get("limit"), Some("500"));
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (x)"));
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", ""]);
        assert_eq!(query.get("continue"), None);
    }

    #[test]
    fn a_flag_is_on_unless_it_says_otherwise() {
        for (text, expected) in [("watch", true), ("watch=maybe", true), ("watch=0", false), ("watch=False", false)] {
            assert_eq!(Query::parse(text).is_true("watch"), expected, "{text}");
        }
    }
}
