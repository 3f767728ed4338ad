//! I8: what was known of extensions at a moment.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt;
use refit_api::runtime::ExtensionConfig;
use refit_api::vocabulary::condition_types::DISCOVERED;

/// How long refit may take to hear of an ExtensionConfig that is new, or is not discovered any more.
const HEARD_AFTER: Duration = Duration::from_secs(5);
/// Times on objects are whole seconds, and what is seen here was written a little earlier.
const SLACK: Duration = Duration::from_secs(2);

/// The extensions that are asked about the machines of the story.
#[derive(Debug, Default)]
pub struct Extensions {
    /// Those that are registered, and since when each is not discovered.
    registered: BTreeMap<String, Option<Duration>>,
    /// When another one came or went, after the machines were there.
    changed: Option<Duration>,
}

impl Extensions {
    /// An ExtensionConfig is like this now. Nothing about it is wrong by itself. Without a time, it was so from the start.
    pub fn note(&mut self, config: &ExtensionConfig, is_gone: bool, at: Option<Duration>) -> Vec<String> {
        let name = config.name_any();
        let was_discovered = self.registered.get(&name).is_some_and(Option::is_none);
        let is_discovered = !is_gone && is_discovered(config);
        if was_discovered != is_discovered {
            self.changed = at.or(self.changed);
        }
        if is_gone {
            self.registered.remove(&name);
        } else {
            let since = self.registered.get(&name).copied().flatten().or(at).unwrap_or_default();
            self.registered.insert(name, (!is_discovered).then_some(since));
        }
        Vec::new()
    }

    /// Whether all of them can have answered, and for so long that machines may be replaced for it.
    pub fn are_known(&self, at: Duration, replace_after: Duration) -> bool {
        let is_missed = |since: &Duration| at >= *since + HEARD_AFTER;
        let has_lasted = self.changed.is_none_or(|changed| at + SLACK >= changed + replace_after);
        has_lasted && !self.registered.values().flatten().any(is_missed)
    }
}

fn is_discovered(config: &ExtensionConfig) -> bool {
    config.status.conditions.iter().any(|it| it.type_ == DISCOVERED && it.status == "True")
}
