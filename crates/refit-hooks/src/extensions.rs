//! What controllers hold to talk to extensions: the registry, the client, and the answers that are still good.
//!
//! ```text
//! coverage:  Question -> Composition -> for each extension in order: answer in memory, or call in flight, or a new call
//! update:    handler of a frozen plan -> one call, never from memory
//! ```

mod ask;
mod call;
mod memory;
mod sharing;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use refit_api::hooks::{CanonicalName, Hook, RawObject, UpdateMachineRequest, UpdateMachineResponse};
use refit_api::runtime::ExtensionConfig;
use refit_plan::coverage::{
    Composition, CompositionError, ContentHash, Coverage, Extension, ExtensionAnswer, Question, Scope, Step, Verdict,
};
use tokio::time::Instant;

pub use ask::MAX_ASKING;
pub use call::{CallError, CallProblem, MAX_MESSAGE_BYTES};
pub use memory::{ANSWER_LIFETIME, MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_MEMORY_BYTES, UNSETTLED_LIFETIME};
pub use sharing::MAX_CALLS;

use crate::client::Client;
use crate::registry::{Namespace, Registration, RegistrationError, Registry, RegistryError};
use memory::Memory;
use sharing::Sharing;

/// How soon to ask again where an extension gave no answer. Long enough for one that is overloaded, short enough for
/// whoever watches a rollout.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_secs(15);

/// The extensions of a management cluster. Clones are the same.
#[derive(Clone)]
pub struct Extensions {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    /// Readers take the whole of it and let go; whoever changes it makes another one if somebody still reads.
    registry: RwLock<Arc<Registry>>,
    listeners: RwLock<Vec<Listener>>,
    memory: Memory,
    sharing: Sharing,
}

/// Is told that other extensions are registered than before, after they are. It must not block.
pub type Listener = Box<dyn Fn() + Send + Sync>;

/// What came of asking about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub coverage: Coverage,
    /// When to ask again. None: every extension that was needed has answered.
    pub ask_again: Option<Duration>,
}

/// Why nobody could be asked. To be tried again; it says nothing about the change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("the extensions that could be asked are not known")]
    Registry(#[from] RegistryError),
    #[error("the extensions cannot be asked together")]
    Composition(#[from] CompositionError),
}

impl Extensions {
    /// No extensions yet, and none that could be asked before [`set_ready`](Self::set_ready).
    pub fn new(client: Client) -> Self {
        let (registry, memory, sharing) = (RwLock::default(), Memory::default(), Sharing::default());
        Self { shared: Arc::new(Shared { client, registry, listeners: RwLock::default(), memory, sharing }) }
    }

    /// The client that extensions are called with.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// The registry as it is now.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.shared.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts the handlers that the status of an ExtensionConfig lists in the place of those that it had.
    pub fn register(&self, config: &ExtensionConfig) -> Result<(), RegistrationError> {
        self.with_registry(|registry| registry.register(config))
    }

    /// The same for one that could not be discovered, with the words that say why.
    pub fn register_undiscovered(&self, config: &ExtensionConfig, why: String) -> Result<(), RegistrationError> {
        self.with_registry(|registry| registry.register_undiscovered(config, why))
    }

    /// Notes that an ExtensionConfig is there, before anybody has asked what it serves.
    pub fn announce(&self, config: &ExtensionConfig) {
        self.with_registry(|registry| registry.announce(config));
    }

    /// Tells of every change of what is registered, in the order of subscription.
    pub fn listen(&self, listener: Listener) {
        self.shared.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Forgets the handlers of an ExtensionConfig.
    pub fn unregister(&self, extension_config: &str) {
        self.with_registry(|registry| registry.unregister(extension_config));
    }

    /// Says that all ExtensionConfigs have been looked at once.
    pub fn set_ready(&self) {
        self.with_registry(Registry::set_ready);
    }

    /// Asks the extensions of a namespace what they cover of a change, one after another.
    ///
    /// # Guarantees
    /// An extension that fails, or is slow, or cannot be called, and an ExtensionConfig of which nobody knows what it serves
    /// leave the change undecided, with words and a time to ask again, unless the others cover everything. Whatever its `failurePolicy` is, it is never read as "cannot".
    /// It returns within [`MAX_ASKING`].
    pub async fn coverage(&self, question: Question, namespace: &Namespace) -> Result<Asked, AskError> {
        let registry = self.registry();
        let matching = registry.matching(hook_of(question.scope()), namespace)?;
        let extensions = matching.iter().map(|it| Extension { name: it.name.clone(), order: it.order });
        let undiscovered = registry.undiscovered(namespace);
        let mut composition = Composition::new(question, extensions)?.beside(undiscovered);
        let deadline = Instant::now() + MAX_ASKING;
        let mut asked = Vec::new();
        loop {
            let (extension, request) = match composition.next_step() {
                Step::Ask { extension, request } => (extension.clone(), request),
                Step::Done(coverage) => {
                    self.shared.memory.shorten(&unsettled(&coverage, asked), Instant::now());
                    return Ok(Asked::new(coverage));
                }
            };
            let registration = registration(&matching, &extension);
            let key = ask::content_of(&registration, &request);
            asked.push(key.clone());
            let answer = self.ask(registration, key, request, deadline).await;
            composition.answer(&extension, answer)?;
        }
    }

    /// Who is asked about changes in this namespace, and in which state of their ExtensionConfigs: another value when that
    /// changes.
    pub fn fingerprint(&self, scope: Scope, namespace: &Namespace) -> Result<ContentHash, RegistryError> {
        self.registry().fingerprint(hook_of(scope), namespace)
    }

    /// Tells an extension to bring a Machine to its desired state, or asks how far it has come.
    ///
    /// # Guarantees
    /// Only an answer that says so completes an update: not a call that failed, whatever its `failurePolicy` is, and not a
    /// negative `retryAfterSeconds`. No token by which a stranger could join the cluster is sent.
    pub async fn update_machine(
        &self,
        handler: &CanonicalName,
        namespace: &Namespace,
        mut request: UpdateMachineRequest,
    ) -> Result<UpdateMachineResponse, CallError> {
        let failed = |problem: CallProblem| CallError { handler: handler.clone(), problem };
        let registration = self.registry().get(handler, Hook::UpdateMachine).map_err(|error| failed(error.into()))?;
        match registration.selects(namespace) {
            Ok(true) => {}
            Ok(false) => return Err(failed(CallProblem::NotSelected(object_name(namespace, &request)))),
            Err(error) => return Err(failed(error.into())),
        }
        let config = request.desired.bootstrap_config.take();
        request.desired.bootstrap_config = config.map(RawObject::without_join_tokens);
        let response = call::call(&self.shared.client, &registration, request).await.map_err(failed)?;
        call::check_update(&response).map_err(failed)?;
        Ok(response)
    }

    fn with_registry<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let (result, is_other) = {
            let mut registry = self.shared.registry.write().unwrap_or_else(PoisonError::into_inner);
            let before = registry.version();
            let result = change(Arc::make_mut(&mut registry));
            (result, registry.version() != before)
        };
        if is_other {
            let listeners = self.shared.listeners.read().unwrap_or_else(PoisonError::into_inner);
            listeners.iter().for_each(|tell| tell());
        }
        result
    }
}

impl Asked {
    fn new(coverage: Coverage) -> Self {
        let ask_again = match coverage {
            Coverage::Undecided { .. } => Some(ASK_AGAIN_AFTER),
            Coverage::Covered { .. } | Coverage::Uncovered { .. } => None,
        };
        Self { coverage, ask_again }
    }
}

/// The answers that are to be asked for again soon: all of them where something is left, and wrong ones in any case.
fn unsettled(coverage: &Coverage, asked: Vec<ContentHash>) -> Vec<ContentHash> {
    let is_settled = matches!(coverage, Coverage::Covered { .. });
    let is_bad = |answer: &ExtensionAnswer| matches!(answer.verdict, Verdict::BadPatch(_) | Verdict::Strays(_));
    let each = asked.into_iter().zip(coverage.answers());
    each.filter(|(_, answer)| !is_settled || is_bad(answer)).map(|(key, _)| key).collect()
}

fn hook_of(scope: Scope) -> Hook {
    match scope {
        Scope::Machine => Hook::CanUpdateMachine,
        Scope::MachineSet => Hook::CanUpdateMachineSet,
    }
}

fn registration(matching: &[Arc<Registration>], name: &CanonicalName) -> Arc<Registration> {
    let found = matching.iter().find(|it| it.name == *name);
    Arc::clone(found.expect("a composition must ask one of its extensions"))
}

fn object_name(namespace: &Namespace, request: &UpdateMachineRequest) -> String {
    format!("{}/{}", namespace.name, request.desired.machine.name().unwrap_or_default())
}
