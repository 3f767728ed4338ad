//! Names of container images.

use refit_api::bootstrap::ClusterConfiguration;
use refit_api::version::KubernetesVersion;

/// An image by repository and tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'a> {
    /// Registry and path.
    pub repository: &'a str,
    pub tag: &'a str,
}

/// Why an image cannot be followed by another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("image {0:?} is pinned by a digest; pin another one, or take the digest away")]
    Pinned(String),
    #[error("image {0:?} has no tag; give it one")]
    Untagged(String),
}

impl<'a> Image<'a> {
    /// Reads `registry/path:tag`.
    pub fn parse(image: &'a str) -> Result<Self, ImageError> {
        if image.contains('@') {
            return Err(ImageError::Pinned(image.to_owned()));
        }
        // The registry may have a port.
        let name = image.rfind('/').map_or(0, |slash| slash + 1);
        match image[name..].rfind(':').map(|colon| name + colon) {
            Some(colon) if colon > 0 && colon + 1 < image.len() => {
                Ok(Self { repository: &image[..colon], tag: &image[colon + 1..] })
            }
            _ => Err(ImageError::Untagged(image.to_owned())),
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> &'a str {
        self.repository.rsplit('/').next().unwrap_or(self.repository)
    }
}

/// The image of kube-proxy for this version: from the repository that is wanted, or where the last one came from.
pub fn kube_proxy(
    current: &str,
    version: &KubernetesVersion,
    configuration: &ClusterConfiguration,
) -> Result<String, ImageError> {
    let image = Image::parse(current)?;
    // A tag cannot have a plus.
    let tag = format!("v{version}").replace('+', "_");
    Ok(match wanted_registry(configuration) {
        Some(registry) => format!("{registry}/{}:{tag}", image.name()),
        None => format!("{}:{tag}", image.repository),
    })
}

/// Where all images come from, if the user says so.
pub(super) fn wanted_registry(configuration: &ClusterConfiguration) -> Option<&str> {
    configuration.image_repository.as_deref().map(|registry| registry.trim_end_matches('/')).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_read_by_their_last_colon_behind_the_last_slash() {
        let check = |text: &str, repository, tag| assert_eq!(Image::parse(text), Ok(Image { repository, tag }));
        check("registry.k8s.io/kube-proxy:v1.33.0", "registry.k8s.io/kube-proxy", "v1.33.0");
        check("localhost:5000/a/kube-proxy:v1", "localhost:5000/a/kube-proxy", "v1");
        check("kube-proxy:v1", "kube-proxy", "v1");
        for untagged in ["kube-proxy", "localhost:5000/kube-proxy", "kube-proxy:", ":v1", ""] {
            assert_eq!(Image::parse(untagged), Err(ImageError::Untagged(untagged.to_owned())));
        }
        let pinned = "registry.k8s.io/kube-proxy:v1@sha256:00";
        assert_eq!(Image::parse(pinned), Err(ImageError::Pinned(pinned.to_owned())));
    }

    fn check(current: &str, version: &str, registry: Option<&str>, expected: &str) {
        let version = KubernetesVersion::parse_prefixed(version).expect("the version must be one");
        let image_repository = registry.map(str::to_owned);
        let configuration = ClusterConfiguration { image_repository, ..ClusterConfiguration::default() };
        assert_eq!(kube_proxy(current, &version, &configuration).as_deref(), Ok(expected));
    }

    #[test]
    fn kube_proxy_follows_the_version_and_the_wanted_registry() {
        let current = "registry.k8s.io/kube-proxy:v1.32.0";
        check(current, "v1.33.1", None, "registry.k8s.io/kube-proxy:v1.33.1");
        check(current, "v1.33.1+vendor.2", None, "registry.k8s.io/kube-proxy:v1.33.1_vendor.2");
        check(current, "v1.33.1", Some("mirror:5000/k8s/"), "mirror:5000/k8s/kube-proxy:v1.33.1");
        check("mirror/kube-proxy:v1.32.0", "v1.32.0", None, "mirror/kube-proxy:v1.32.0");
    }
}
