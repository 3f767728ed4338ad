//! The flags of an extension's program, named as those of upstream's.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::{ServerOptions, Transport};

/// What the flags are, for people.
const USAGE: &str = "the flags are --host, --port, --cert-dir, --cert-name, --key-name, --client-ca-name and \
                     --health-addr (an address, or none), each followed by its value; --insecure-plain-http has none";

/// Why the arguments of the program are wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    #[error("there is no flag {0:?}; {USAGE}")]
    Unknown(String),
    #[error("{0} has no value")]
    NoValue(String),
    #[error("{flag}: {value:?} is not what it takes")]
    Value { flag: String, value: String },
    #[error("the certificate flags and --insecure-plain-http do not go together")]
    PlainWithCertificate,
}

impl ServerOptions {
    /// The options that the arguments of a program ask for; without its name, as after `std::env::args().skip(1)`.
    pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Self, FlagError> {
        let mut options = Self::default();
        let mut plain = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            if flag == "--insecure-plain-http" {
                plain = true;
                continue;
            }
            let value = value.or_else(|| arguments.next()).ok_or_else(|| FlagError::NoValue(flag.clone()))?;
            options.set(&flag, &value)?;
        }
        options.made_plain(plain)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<(), FlagError> {
        let wrong = || FlagError::Value { flag: flag.to_owned(), value: value.to_owned() };
        match flag {
            "--host" => self.address.set_ip(value.parse::<IpAddr>().map_err(|_| wrong())?),
            "--port" => self.address.set_port(value.parse().map_err(|_| wrong())?),
            "--health-addr" if value == "none" => self.health_address = None,
            "--health-addr" => self.health_address = Some(address(value).ok_or_else(wrong)?),
            _ => return self.set_certificate(flag, value),
        }
        Ok(())
    }

    fn set_certificate(&mut self, flag: &str, value: &str) -> Result<(), FlagError> {
        let Transport::Tls(files) = &mut self.transport else { return Err(FlagError::PlainWithCertificate) };
        match flag {
            "--cert-dir" => files.folder = PathBuf::from(value),
            "--cert-name" => files.certificate = value.to_owned(),
            "--key-name" => files.key = value.to_owned(),
            "--client-ca-name" => files.client_ca = Some(value.to_owned()),
            _ => return Err(FlagError::Unknown(flag.to_owned())),
        }
        Ok(())
    }

    fn made_plain(mut self, plain: bool) -> Result<Self, FlagError> {
        let untouched = Self::default();
        match (&self.transport, &untouched.transport) {
            (Transport::Tls(files), Transport::Tls(defaults)) if plain && files != defaults => {
                Err(FlagError::PlainWithCertificate)
            }
            _ if plain => {
                self.transport = Transport::Plain;
                Ok(self)
            }
            _ => Ok(self),
        }
    }
}

/// An address, where `:9440` means all interfaces, as Go has it.
fn address(text: &str) -> Option<SocketAddr> {
    let whole = if text.starts_with(':') { format!("[::]{text}") } else { text.to_owned() };
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<ServerOptions, FlagError> {
        ServerOptions::from_arguments(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_are_read_in_both_forms() {
        let options = parse("--host 127.0.0.1 --port=0 --cert-dir /certs --client-ca-name ca.crt --health-addr :1")
            .expect("the flags must be right");
        assert_eq!(options.address.to_string(), "127.0.0.1:0");
        assert_eq!(options.health_address.map(|address| address.to_string()).as_deref(), Some("[::]:1"));
        let Transport::Tls(files) = options.transport else { panic!("it must be TLS") };
        assert_eq!((files.folder.to_str(), files.client_ca.as_deref()), (Some("/certs"), Some("ca.crt")));
        assert!(parse("--health-addr none").expect("the flags must be right").health_address.is_none());
    }

    #[test]
    fn wrong_flags_are_refused() {
        let check = |words, expected: &str| {
            let error = parse(words).expect_err("the flags must be wrong").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("--prot 1", "there is no flag \"--prot\"");
        check("--port", "--port has no value");
        check("--port many", "--port: \"many\"");
        check("--cert-dir /c --insecure-plain-http", "do not go together");
    }
}
