//! What a client accepts: the first of its wishes that can be met.

use http::StatusCode;
use http::header::ACCEPT;

use crate::body::Encoding;
use crate::request::Request;
use crate::status::Status;

/// One wish of an `Accept` header that names a media type which is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish<'a> {
    pub encoding: Encoding,
    /// `g`, `v` and `as`: the form that is asked for instead of the object itself; all empty where none is.
    pub form: Form<'a>,
}

/// A kind that answers are to be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
}

/// The versions in which `Table` and `PartialObjectMetadata` are served. Older clients ask for the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl<'a> Form<'a> {
    /// No conversion.
    pub fn is_none(self) -> bool {
        self == Form::default()
    }

    /// The kind that objects are asked for as; empty for themselves, `None` for what no object is converted to.
    pub fn of_objects(self) -> Option<&'a str> {
        let is_known = matches!(self.kind, "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList")
            && self.group == "meta.k8s.io"
            && matches!(self.version, "v1" | "v1beta1");
        (self.is_none() || is_known).then_some(self.kind)
    }

    /// The version of the kind that objects are asked for as. Both have the same fields.
    pub fn meta_version(self) -> MetaVersion {
        if self.version == "v1beta1" { MetaVersion::V1Beta1 } else { MetaVersion::V1 }
    }
}

/// The wishes of a request, the dearest first. No header is a wish for JSON.
pub fn wishes(request: &Request) -> Vec<Wish<'_>> {
    parse(request.header(ACCEPT).unwrap_or_default())
}

/// How the answer is to be written: as the first wish says that can be met, and as JSON where none can.
pub fn encoding(request: &Request) -> Encoding {
    let wishes = wishes(request);
    wishes.iter().find(|wish| wish.form.of_objects().is_some()).map_or(Encoding::Json, |wish| wish.encoding)
}

/// Nothing that the client wishes can be given.
pub fn not_acceptable(served: &str) -> Status {
    let message = format!("only the following media types are accepted: {served}");
    Status::new(StatusCode::NOT_ACCEPTABLE, Some("NotAcceptable"), message)
}

fn parse(header: &str) -> Vec<Wish<'_>> {
    if header.trim().is_empty() {
        return vec![Wish { encoding: Encoding::Json, form: Form::default() }];
    }
    let mut ranked: Vec<(u16, usize, Wish<'_>)> = header.split(',').filter_map(wish).collect();
    // Stable: of equal ones, the first named stays first.
    ranked.sort_by_key(|(quality, wildcards, _)| (std::cmp::Reverse(*quality), *wildcards));
    ranked.into_iter().map(|(_, _, wish)| wish).collect()
}

/// A wish with its quality in thousandths and how many wildcards it has.
fn wish(clause: &str) -> Option<(u16, usize, Wish<'_>)> {
    let mut parts = clause.split(';').map(str::trim);
    let media_type = parts.next()?;
    let encoding = match media_type {
        "application/json" | "application/*" | "*/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        _ => return None,
    };
    let (mut form, mut quality) = (Form::default(), 1_000);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key.trim() {
            "g" => form.group = value.trim(),
            "v" => form.version = value.trim(),
            "as" => form.kind = value.trim(),
            "q" => quality = thousandths(value.trim()),
            _ => {}
        }
    }
    let wildcards = media_type.matches('*').count();
    (quality > 0).then_some((quality, wildcards, Wish { encoding, form }))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is between 0 and 1000")]
fn thousandths(quality: &str) -> u16 {
    let quality: f32 = quality.parse().unwrap_or(1.0);
    (quality.clamp(0.0, 1.0) * 1_000.0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: &[(Encoding, &str)]) {
        let found = parse(header);
        let found: Vec<(Encoding, &str)> = found.iter().map(|wish| (wish.encoding, wish.form.kind)).collect();
        assert_eq!(found, expected, "{header}");
    }

    #[test]
    fn wishes_stand_in_the_order_of_their_quality() {
        check("", &[(Encoding::Json, "")]);
        check("*/*", &[(Encoding::Json, "")]);
        check("application/vnd.kubernetes.protobuf,application/json", &[(Encoding::Json, "")]);
        check("application/json;q=0.1,application/yaml", &[(Encoding::Yaml, ""), (Encoding::Json, "")]);
        check("*/*,application/yaml", &[(Encoding::Yaml, ""), (Encoding::Json, "")]);
        check(
            "application/json;as=Table;g=meta.k8s.io;v=v1, application/json",
            &[(Encoding::Json, "Table"), (Encoding::Json, "")],
        );
    }

    #[test]
    fn unserved_types_are_no_wishes() {
        check("application/xml", &[]);
        check("application/json;q=0", &[]);
        check("nonsense", &[]);
    }
}
