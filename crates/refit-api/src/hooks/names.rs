//! The names of handlers: short inside their extension, canonical in the cluster.

use std::fmt;
use std::str::FromStr;

use crate::admission::names::dns_label_problem;

/// The name of a handler inside its extension: a DNS-1123 label.
///
/// It is a segment of the HTTP path, and being a label it is lowercase as it must be there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerName(String);

impl HandlerName {
    /// Refuses what is no DNS-1123 label.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        checked_label("handler", name.into()).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HandlerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a handler in the cluster: `<handler>.<extensionConfig>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalName {
    handler: HandlerName,
    extension_config: String,
}

impl CanonicalName {
    /// Refuses an ExtensionConfig whose name is no DNS-1123 label: with a dot in it, the name would not parse.
    pub fn new(handler: HandlerName, extension_config: impl Into<String>) -> Result<Self, NameError> {
        let extension_config = checked_label("ExtensionConfig", extension_config.into())?;
        Ok(Self { handler, extension_config })
    }

    /// The handler's name inside its extension, as in the HTTP path.
    pub fn handler(&self) -> &HandlerName {
        &self.handler
    }

    /// The name of the ExtensionConfig that the handler was discovered through.
    pub fn extension_config(&self) -> &str {
        &self.extension_config
    }
}

impl fmt::Display for CanonicalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.handler, self.extension_config)
    }
}

impl FromStr for CanonicalName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        match name.split('.').collect::<Vec<_>>().as_slice() {
            [handler, extension_config] => Self::new(HandlerName::new(*handler)?, *extension_config),
            _ => Err(NameError::Format(name.to_owned())),
        }
    }
}

/// Why something is not the name of a handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A canonical name has exactly one dot.
    #[error("registered handler name {0} was not in the expected format (HANDLER_NAME.EXTENSION_NAME)")]
    Format(String),
    /// A part of the name is no DNS-1123 label.
    #[error("{part} name {name:?} {problem}")]
    Label { part: &'static str, name: String, problem: &'static str },
}

fn checked_label(part: &'static str, name: String) -> Result<String, NameError> {
    match dns_label_problem(&name) {
        None => Ok(name),
        Some(problem) => Err(NameError::Label { part, name, problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_name_is_handler_dot_extension_config() {
        let name: CanonicalName = "update-machine.firmware".parse().expect("the name must parse");
        assert_eq!(name.handler().as_str(), "update-machine");
        assert_eq!(name.extension_config(), "firmware");
        assert_eq!(name.to_string(), "update-machine.firmware");
    }

    #[test]
    fn a_canonical_name_has_exactly_one_dot() {
        for name in ["", "a", "a.b.c", "a..b"] {
            assert_eq!(name.parse::<CanonicalName>(), Err(NameError::Format(name.to_owned())));
        }
    }

    #[test]
    fn both_parts_are_labels() {
        let check = |name: &str, wrong: &str| {
            let error = name.parse::<CanonicalName>().expect_err("the name must be refused").to_string();
            assert!(error.starts_with(wrong), "{error}");
        };
        check(".a", r#"handler name "" must be"#);
        check("A.b", r#"handler name "A" must be"#);
        check("a.", r#"ExtensionConfig name "" must be"#);
        check(&format!("a.{}", "b".repeat(64)), "ExtensionConfig name");
    }
}
