//! Which version an image belongs to, by its name: `worker-1.35`, `worker-v1.35.0`, `worker-1.35.0-arm64`.

/// Whether a host of image `from` runs image `to` once this version is installed on it.
pub(super) fn goes_with(from: &str, to: &str, version: &str) -> bool {
    let (Some(from), Some(to)) = (Image::read(from), Image::read(to)) else { return false };
    from.family == to.family && belongs(&to.version, version)
}

/// `1.35` and `1.35.0` belong to `v1.35.0`.
fn belongs(version: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix('v').unwrap_or(wanted);
    wanted.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The name of an image, taken apart.
struct Image {
    /// The words of the name but the version.
    family: Vec<String>,
    version: String,
}

impl Image {
    /// Nothing if no word of the name, or more than one, is a version.
    fn read(name: &str) -> Option<Self> {
        let (versions, family): (Vec<&str>, Vec<&str>) = name.split('-').partition(|word| is_version(word));
        let [version] = versions[..] else { return None };
        // Where the version stands is part of the name.
        let place = name.split('-').position(is_version).unwrap_or_default();
        let family = family.into_iter().map(str::to_owned).chain([place.to_string()]).collect();
        Some(Self { family, version: version.strip_prefix('v').unwrap_or(version).to_owned() })
    }
}

/// `1.35`, `v1.35`, `1.35.0`: two or three numbers.
fn is_version(word: &str) -> bool {
    let numbers: Vec<&str> = word.strip_prefix('v').unwrap_or(word).split('.').collect();
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&numbers.len()) && numbers.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_goes_with_the_version_in_its_name_and_stays_what_it_is() {
        let cases = [
            ("worker-1.34", "worker-1.35", "v1.35.0", true),
            ("worker-v1.34.1", "worker-v1.34.2", "v1.34.2", true),
            ("worker-1.34-arm64", "worker-1.35-arm64", "v1.35.3", true),
            // Another system, another architecture.
            ("worker-1.34", "windows-1.35", "v1.35.0", false),
            ("worker-1.34-arm64", "worker-1.35-amd64", "v1.35.0", false),
            ("worker-1.34", "1.35-worker", "v1.35.0", false),
            // Another version than the one that is wanted.
            ("worker-1.34", "worker-1.35", "v1.34.1", false),
            ("worker-1.34", "worker-1.35.1", "v1.35.0", false),
            ("worker-1.3", "worker-1.3", "v1.35.0", false),
            ("worker-1.34", "worker-1.35", "", false),
            // Nobody can tell which version it has.
            ("worker", "worker", "v1.35.0", false),
            ("worker-1.34", "worker", "v1.35.0", false),
            ("", "worker-1.35", "v1.35.0", false),
            ("worker-1.34-1.2", "worker-1.35-1.2", "v1.35.0", false),
        ];
        for (from, to, version, expected) in cases {
            assert_eq!(goes_with(from, to, version), expected, "{from} to {to} with {version}");
        }
    }
}
