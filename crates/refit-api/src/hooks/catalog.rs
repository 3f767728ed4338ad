//! The hooks that exist, and where they are served.

use std::fmt;
use std::str::FromStr;

use super::HandlerName;

/// The API group of all hooks.
pub const GROUP: &str = "hooks.runtime.cluster.x-k8s.io";
/// The only version there is.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as in `apiVersion`.
pub const API_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// Defines [`Hook`] and its names from one list.
macro_rules! catalog {
    ($($(#[$doc:meta])* $Hook:ident,)+) => {
        /// A hook of the catalog.
        ///
        /// Every hook of upstream is here, also those that refit never calls: an extension that serves one of
        /// them beside the in-place hooks must not fail discovery.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Hook {
            $($(#[$doc])* $Hook,)+
        }

        impl Hook {
            /// All hooks.
            pub const ALL: &[Self] = &[$(Self::$Hook),+];

            /// The name, as in `requestHook.hook`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Hook => stringify!($Hook),)+
                }
            }

            /// The kind of its requests.
            pub const fn request_kind(self) -> &'static str {
                match self {
                    $(Self::$Hook => concat!(stringify!($Hook), "Request"),)+
                }
            }

            /// The kind of its responses.
            pub const fn response_kind(self) -> &'static str {
                match self {
                    $(Self::$Hook => concat!(stringify!($Hook), "Response"),)+
                }
            }
        }
    };
}

catalog! {
    /// Which handlers does the extension have?
    Discovery,
    /// Which changes of this Machine can be made in place?
    CanUpdateMachine,
    /// Which changes of the Machines of this MachineSet can be made in place?
    CanUpdateMachineSet,
    /// Make the changes of this Machine; called until it is done.
    UpdateMachine,
    BeforeClusterCreate,
    AfterControlPlaneInitialized,
    BeforeClusterUpgrade,
    BeforeControlPlaneUpgrade,
    AfterControlPlaneUpgrade,
    BeforeWorkersUpgrade,
    AfterWorkersUpgrade,
    AfterClusterUpgrade,
    BeforeClusterDelete,
    GeneratePatches,
    ValidateTopology,
    DiscoverVariables,
    GenerateUpgradePlan,
}

impl Hook {
    /// The hook of this name. Case counts.
    pub fn parse(name: &str) -> Result<Self, UnknownHook> {
        let found = Self::ALL.iter().find(|hook| hook.name() == name);
        found.copied().ok_or_else(|| UnknownHook(name.to_owned()))
    }

    /// The hook that a handler serves, if the catalog has it in that version.
    pub fn find(api_version: &str, name: &str) -> Option<Self> {
        Self::parse(name).ok().filter(|_| api_version == API_VERSION)
    }

    /// The name with its group, as in `UpdateMachine.hooks.runtime.cluster.x-k8s.io`.
    pub fn qualified_name(self) -> String {
        format!("{self}.{GROUP}")
    }

    /// The HTTP path that the hook is served at, for the handler if there is one.
    ///
    /// Only Discovery is called without a handler.
    pub fn path(self, handler: Option<&HandlerName>) -> String {
        let hook = self.name().to_ascii_lowercase();
        match handler {
            None => format!("/{API_VERSION}/{hook}"),
            Some(handler) => format!("/{API_VERSION}/{hook}/{handler}"),
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Hook {
    type Err = UnknownHook;

    fn from_str(name: &str) -> Result<Self, UnknownHook> {
        Self::parse(name)
    }
}

/// No hook has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook {0:?} is not in the catalog")]
pub struct UnknownHook(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_is_upstreams() {
        assert_eq!(Hook::ALL.len(), 17);
        assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
        for hook in Hook::ALL {
            assert_eq!(Hook::parse(hook.name()), Ok(*hook));
            assert_eq!(hook.request_kind(), format!("{hook}Request"));
            assert_eq!(hook.response_kind(), format!("{hook}Response"));
        }
        assert_eq!(Hook::UpdateMachine.qualified_name(), "UpdateMachine.hooks.runtime.cluster.x-k8s.io");
    }

    #[test]
    fn hook_names_are_case_sensitive() {
        for name in ["updateMachine", "updatemachine", "UPDATEMACHINE", " UpdateMachine", ""] {
            assert_eq!(Hook::parse(name), Err(UnknownHook(name.to_owned())));
        }
    }

    #[test]
    fn a_hook_is_found_in_its_own_version_only() {
        assert_eq!(Hook::find(API_VERSION, "UpdateMachine"), Some(Hook::UpdateMachine));
        for api_version in ["", "/", VERSION, GROUP, "hooks.runtime.cluster.x-k8s.io/v1beta1", "x.io/v1alpha1"] {
            assert_eq!(Hook::find(api_version, "UpdateMachine"), None, "{api_version}");
        }
    }

    #[test]
    fn paths_are_lowercase_and_discovery_has_no_handler() {
        let check = |hook: Hook, handler: Option<&str>, expected: &str| {
            let handler = handler.map(|name| HandlerName::new(name).expect("the name must be valid"));
            assert_eq!(hook.path(handler.as_ref()), format!("/hooks.runtime.cluster.x-k8s.io/v1alpha1/{expected}"));
        };
        check(Hook::Discovery, None, "discovery");
        check(Hook::CanUpdateMachine, Some("can-update-machine"), "canupdatemachine/can-update-machine");
        check(Hook::CanUpdateMachineSet, Some("can-update-machineset"), "canupdatemachineset/can-update-machineset");
        check(Hook::UpdateMachine, Some("update-machine"), "updatemachine/update-machine");
    }
}
