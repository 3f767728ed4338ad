//! Which image of CoreDNS follows the one that runs.
//!
//! The Corefile is the user's, and is never rewritten. From `FIRST_COMPATIBLE` on, every version that upstream knows
//! reads what earlier ones read; an older CoreDNS is left to its operator.

use refit_api::admission::kubeadm_control_plane::coredns::can_migrate;
use refit_api::bootstrap::ClusterConfiguration;
use refit_api::version::KubernetesVersion;

use super::image::{Image, ImageError, wanted_registry};

/// From this version on, nothing was taken out of the Corefile, and kubeadm's ClusterRole has what CoreDNS reads.
const FIRST_COMPATIBLE: KubernetesVersion = KubernetesVersion::new(1, 8, 3);
/// Registries in which CoreDNS has a folder of its own.
const NESTED_IN: [&str; 2] = ["registry.k8s.io", "k8s.gcr.io"];
const NAME: &str = "coredns";

/// Why CoreDNS stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CorednsError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error("the tag {0:?} is no version, so nobody can say whether its Corefile fits; upgrade CoreDNS by hand")]
    Tag(String),
    #[error("CoreDNS is not downgraded from {from} to {to}; set dns.imageTag to {from} or higher")]
    Downgrade { from: KubernetesVersion, to: KubernetesVersion },
    #[error(
        "the way of CoreDNS from {from} to {to} is not known; upgrade it by hand, or set dns.imageTag to a version that is"
    )]
    Unknown { from: KubernetesVersion, to: KubernetesVersion },
    #[error(
        "the Corefile of CoreDNS {from} may use what {to} does not know; upgrade CoreDNS and its Corefile by hand to \
         {FIRST_COMPATIBLE} or higher first"
    )]
    TooOld { from: KubernetesVersion, to: KubernetesVersion },
}

/// The image that CoreDNS should have, from the one that it has. They are the same where nothing is wanted.
pub fn image(current: &str, configuration: &ClusterConfiguration) -> Result<String, CorednsError> {
    let running = Image::parse(current)?;
    let tag = configuration.dns.image_tag.as_deref().filter(|tag| !tag.is_empty()).unwrap_or(running.tag);
    let wanted = format!("{}:{tag}", repository(&running, configuration));
    if wanted != current && tag != running.tag {
        check(&version(running.tag)?, &version(tag)?)?;
    }
    Ok(wanted)
}

fn repository(running: &Image<'_>, configuration: &ClusterConfiguration) -> String {
    let of_dns = configuration.dns.image_repository.as_deref().map(|it| it.trim_end_matches('/'));
    match of_dns.filter(|it| !it.is_empty()).or_else(|| wanted_registry(configuration)) {
        None => running.repository.to_owned(),
        Some(registry) if NESTED_IN.contains(&registry) => format!("{registry}/{NAME}/{NAME}"),
        Some(registry) => format!("{registry}/{NAME}"),
    }
}

fn version(tag: &str) -> Result<KubernetesVersion, CorednsError> {
    KubernetesVersion::parse_image_tag(tag).map_err(|_| CorednsError::Tag(tag.to_owned()))
}

fn check(from: &KubernetesVersion, to: &KubernetesVersion) -> Result<(), CorednsError> {
    let both = || (from.clone(), to.clone());
    if to.cmp_release(from).is_eq() {
        // Another build of the same version.
        Ok(())
    } else if to.cmp_release(from).is_lt() {
        let (from, to) = both();
        Err(CorednsError::Downgrade { from, to })
    } else if !can_migrate(from, to) {
        let (from, to) = both();
        Err(CorednsError::Unknown { from, to })
    } else if from.cmp_release(&FIRST_COMPATIBLE).is_lt() {
        let (from, to) = both();
        Err(CorednsError::TooOld { from, to })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use refit_api::bootstrap::DNS;

    use super::*;

    const RUNNING: &str = "registry.k8s.io/coredns/coredns:v1.11.1";

    fn of(current: &str, registry: &str, repository: &str, tag: &str) -> Result<String, String> {
        let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let dns = DNS { image_repository: set(repository), image_tag: set(tag) };
        let configuration =
            ClusterConfiguration { dns, image_repository: set(registry), ..ClusterConfiguration::default() };
        image(current, &configuration).map_err(|error| error.to_string())
    }

    fn check(current: &str, [registry, repository, tag]: [&str; 3], expected: &str) {
        assert_eq!(of(current, registry, repository, tag).as_deref(), Ok(expected));
    }

    fn check_refused(current: &str, tag: &str, expected: &str) {
        let error = of(current, "", "", tag).expect_err("it must be refused");
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn coredns_goes_where_it_is_wanted() {
        check(RUNNING, ["", "", ""], RUNNING);
        check(RUNNING, ["", "", "v1.12.0"], "registry.k8s.io/coredns/coredns:v1.12.0");
        check(RUNNING, ["mirror/k8s/", "", ""], "mirror/k8s/coredns:v1.11.1");
        check(RUNNING, ["mirror", "dns.example", "v1.11.3"], "dns.example/coredns:v1.11.3");
        check("mirror/coredns:v1.11.1", ["registry.k8s.io", "", ""], RUNNING);
        check(RUNNING, ["", "", "v1.11.1_build.2"], "registry.k8s.io/coredns/coredns:v1.11.1_build.2");
        check("mirror/coredns:main", ["", "", ""], "mirror/coredns:main");
    }

    #[test]
    fn what_may_break_name_resolution_is_refused_with_a_way_out() {
        check_refused(RUNNING, "v1.11.0", "not downgraded from 1.11.1 to 1.11.0; set dns.imageTag");
        check_refused(RUNNING, "v1.99.0", "from 1.11.1 to 1.99.0 is not known");
        check_refused("a/coredns:v1.11.2", "v1.12.0", "from 1.11.2 to 1.12.0 is not known");
        check_refused("a/coredns:v1.7.0", "v1.11.1", "upgrade CoreDNS and its Corefile by hand to 1.8.3");
        check_refused("a/coredns:main", "v1.11.1", "the tag \"main\" is no version");
        check_refused(RUNNING, "latest", "the tag \"latest\" is no version");
        check_refused("a/coredns@sha256:00", "v1.11.1", "pinned by a digest");
        check_refused("a/coredns", "v1.11.1", "has no tag");
    }
}
