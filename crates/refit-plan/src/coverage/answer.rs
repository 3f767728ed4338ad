//! What extensions answer, and what becomes of it.

use refit_api::hooks::{
    CanUpdateMachineResponse, CanUpdateMachineSetResponse, CanonicalName, HookResponse, Patch, StatusError, plain,
};
use refit_api::rollout::{self, ChangedObject};

use super::change::{Changes, shortened};
use super::patch::PatchError;

/// How many characters of an extension's words are kept. As many as a MachineRollout has room for.
pub const MAX_WORDS: usize = 1024;

/// How a call of an extension ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It answered, with success or not.
    Replied(Reply),
    /// It did not answer, or not in a way that could be read.
    Failed { words: String },
}

/// The response to either of the two questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub(super) patches: Result<Patches, StatusError>,
    pub(super) message: String,
}

impl From<CanUpdateMachineResponse> for Reply {
    fn from(response: CanUpdateMachineResponse) -> Self {
        let message = response.message().to_owned();
        let patches = response.into_patches().map(|patches| Patches {
            machine: patches.machine,
            infrastructure: patches.infrastructure_machine,
            bootstrap: patches.bootstrap_config,
        });
        Self { patches, message }
    }
}

impl From<CanUpdateMachineSetResponse> for Reply {
    fn from(response: CanUpdateMachineSetResponse) -> Self {
        let message = response.message().to_owned();
        let patches = response.into_patches().map(|patches| Patches {
            machine: patches.machine_set,
            infrastructure: patches.infrastructure_machine_template,
            bootstrap: patches.bootstrap_config_template,
        });
        Self { patches, message }
    }
}

/// The claims of an extension on the objects of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Patches {
    pub machine: Option<Patch>,
    pub infrastructure: Option<Patch>,
    pub bootstrap: Option<Patch>,
}

impl Patches {
    pub fn of(&self, which: ChangedObject) -> Option<&Patch> {
        match which {
            ChangedObject::Machine => self.machine.as_ref(),
            ChangedObject::InfrastructureMachine => self.infrastructure.as_ref(),
            ChangedObject::BootstrapConfig => self.bootstrap.as_ref(),
        }
    }
}

/// What an extension that was asked contributes, and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionAnswer {
    pub extension: CanonicalName,
    pub verdict: Verdict,
    /// What the extension said, or why its call failed. At most [`MAX_WORDS`] characters, and often none.
    pub words: String,
}

/// What an extension contributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It makes these changes.
    Covers(Changes),
    /// It makes no change.
    CoversNothing,
    /// It sent a patch that cannot be applied. None of its patches count, and it is not known what it meant to cover:
    /// a broken extension is no reason to replace a machine.
    BadPatch(PatchError),
    /// It changes these fields to something else than what is wanted, and nobody after it has put that right. It is not known
    /// what it meant: a broken extension is no reason to replace a machine.
    Strays(Changes),
    /// It is not known what it would cover: the call failed, or the extension says that it did. To be asked again.
    Unknown,
}

impl Verdict {
    /// Whether it is not known what the extension would cover.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::BadPatch(_) | Self::Strays(_) | Self::Unknown => true,
            Self::Covers(_) | Self::CoversNothing => false,
        }
    }
}

impl ExtensionAnswer {
    pub(super) fn new(extension: CanonicalName, verdict: Verdict, words: String) -> Self {
        Self { extension, verdict, words: shortened(words, MAX_WORDS) }
    }

    /// The answer as a MachineRollout lists it.
    pub fn to_status(&self) -> rollout::ExtensionAnswer {
        let covers = match &self.verdict {
            Verdict::Covers(changes) => i32::try_from(changes.count()).unwrap_or(i32::MAX),
            Verdict::CoversNothing | Verdict::BadPatch(_) | Verdict::Strays(_) | Verdict::Unknown => 0,
        };
        let message = Some(self.explanation()).filter(|message| !message.is_empty());
        rollout::ExtensionAnswer { name: self.extension.to_string(), covers, message }
    }

    /// The words, and what is wrong with the patch if anything is.
    fn explanation(&self) -> String {
        let text = match &self.verdict {
            Verdict::BadPatch(error) => self.with_words(error.to_string()),
            Verdict::Strays(changes) => self.with_words(format!(
                "the patch of {} is wrong: it changes {} to something else than what is wanted",
                self.extension,
                changes.names()
            )),
            Verdict::Covers(_) | Verdict::CoversNothing | Verdict::Unknown => self.words.clone(),
        };
        shortened(plain(&text), MAX_WORDS)
    }

    fn with_words(&self, problem: String) -> String {
        if self.words.is_empty() { problem } else { format!("{problem}; it says: {}", self.words) }
    }
}
