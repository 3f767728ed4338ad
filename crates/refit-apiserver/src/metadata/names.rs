//! The shapes of names, keys and values, with Kubernetes' sentences about what is wrong.

const SUBDOMAIN_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What the names of a kind's objects must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Labels joined by dots: most kinds.
    Subdomain,
    /// Namespaces.
    Label,
    /// Services.
    Label1035,
    /// Anything that can stand in a path: roles and bindings.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name.
    pub fn problems(self, name: &str) -> impl Iterator<Item = String> + use<> {
        let problems = match self {
            Self::Subdomain => bounded(name, SUBDOMAIN_MAX_BYTES, is_subdomain(name), SUBDOMAIN),
            Self::Label => bounded(name, LABEL_MAX_BYTES, is_label(name), LABEL),
            Self::Label1035 => {
                let starts_well = name.starts_with(|character: char| character.is_ascii_lowercase());
                bounded(name, LABEL_MAX_BYTES, is_label(name) && starts_well, LABEL_1035)
            }
            Self::PathSegment => path_segment_problems(name),
        };
        problems.into_iter()
    }

    /// What is wrong with a prefix to which a random suffix will be added: it may end with a dash.
    pub fn prefix_problems(self, prefix: &str) -> impl Iterator<Item = String> + use<> {
        match prefix.strip_suffix('-') {
            Some(rest) if self != Self::PathSegment && !rest.is_empty() => self.problems(&format!("{rest}a")),
            _ => self.problems(prefix),
        }
    }
}

fn bounded(name: &str, max_bytes: usize, is_well_formed: bool, sentence: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > max_bytes {
        problems.push(format!("must be no more than {max_bytes} characters"));
    }
    if !is_well_formed {
        problems.push(sentence.to_owned());
    }
    problems
}

fn path_segment_problems(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let odd = ["/", "%"].into_iter().filter(|part| name.contains(part));
    odd.map(|part| format!("may not contain '{part}'")).collect()
}

/// What is wrong with the key of a label or annotation, or the name of a finalizer: `name` or `prefix/name`.
pub fn label_key_problems(key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY} {optional}")];
        }
    };
    let mut problems = Vec::new();
    match prefix {
        None => {}
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            problems.extend(NameRule::Subdomain.problems(prefix).map(|problem| format!("prefix part {problem}")))
        }
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX_BYTES {
        problems.push(format!("name part must be no more than {LABEL_MAX_BYTES} bytes"));
    }
    if !is_key_name(name) {
        problems.push(format!("name part {KEY}"));
    }
    problems
}

/// What is wrong with the value of a label.
pub fn label_value_problems(value: &str) -> Vec<String> {
    let mut problems = bounded(value, usize::MAX, value.is_empty() || is_key_name(value), VALUE);
    if value.len() > LABEL_MAX_BYTES {
        problems.insert(0, format!("must be no more than {LABEL_MAX_BYTES} bytes"));
    }
    problems
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_label(name: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_framed(name, is_edge, |byte| is_edge(byte) || *byte == b'-')
}

fn is_key_name(name: &str) -> bool {
    is_framed(name, u8::is_ascii_alphanumeric, |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Whether all bytes are `inner` and the first and last are `edge`.
fn is_framed(name: &str, edge: impl Fn(&u8) -> bool, inner: impl Fn(&u8) -> bool) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(&edge) && bytes.last().is_some_and(&edge) && bytes.iter().all(inner)
}
