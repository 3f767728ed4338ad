//! What an extension can change: a list of paths, or a decision in code.

mod change;

use refit_api::hooks::{
    CanUpdateMachineRequest, CanUpdateMachineResponse, CanUpdateMachineSetRequest, CanUpdateMachineSetResponse,
    MachinePatches, MachineSetPatches, Patch,
};

pub(crate) use change::field;
pub use change::{Change, ObjectChange};
use change::{MACHINE_SPEC, TEMPLATE_SPEC};

use crate::patch;
use crate::path::{FieldPath, FieldPathError};

/// One of the objects that a machine consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineObject {
    /// Cluster API's own object.
    Machine,
    /// The infrastructure provider's object for the host.
    Infrastructure,
    /// The bootstrap provider's object.
    Bootstrap,
}

/// The fields that an extension can change on a running machine.
///
/// Paths are those of a machine's own objects. For MachineSets and templates the same fields are meant; where they
/// are there is not the author's concern.
///
/// ```
/// use refit_sdk::Paths;
///
/// let paths = Paths::none().machine("spec.version").infrastructure_of("SimMachine", "spec.memory");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths(Vec<Claim>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    object: MachineObject,
    kind: Option<String>,
    path: String,
}

impl Paths {
    /// Nothing can be changed.
    pub fn none() -> Self {
        Self::default()
    }

    /// A field of the Machine can be changed. Controllers look at `spec.version` and `spec.failureDomain` only.
    pub fn machine(self, path: impl Into<String>) -> Self {
        self.with(MachineObject::Machine, None, path)
    }

    /// A field of the infrastructure provider's object can be changed, whatever its kind.
    pub fn infrastructure(self, path: impl Into<String>) -> Self {
        self.with(MachineObject::Infrastructure, None, path)
    }

    /// A field of the infrastructure provider's object can be changed if it is of this kind, as in `SimMachine`.
    pub fn infrastructure_of(self, kind: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(MachineObject::Infrastructure, Some(kind.into()), path)
    }

    /// A field of the bootstrap provider's object can be changed, whatever its kind.
    pub fn bootstrap(self, path: impl Into<String>) -> Self {
        self.with(MachineObject::Bootstrap, None, path)
    }

    /// A field of the bootstrap provider's object can be changed if it is of this kind, as in `KubeadmConfig`.
    pub fn bootstrap_of(self, kind: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(MachineObject::Bootstrap, Some(kind.into()), path)
    }

    fn with(mut self, object: MachineObject, kind: Option<String>, path: impl Into<String>) -> Self {
        self.0.push(Claim { object, kind, path: path.into() });
        self
    }
}

/// How an extension says what it can change. A list of paths is a claim as it is: `Paths::none().into()`.
pub enum Claims {
    /// The same paths, whatever the change.
    Declared(Paths),
    /// Decided for each change.
    Decided(Decision),
}

/// Looks at a change and says which of its fields can be changed. Pure: the same change has the same answer.
pub type Decision = Box<dyn Fn(&Change<'_>) -> Result<Paths, Refusal> + Send + Sync>;

/// Why an extension cannot say what it can change. The caller gets a failure, and asks again later.
///
/// To be able to change nothing is no refusal, but [`Paths::none`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Claims {
    /// Decides in code. The function must not wait for anything; it is asked for every change.
    ///
    /// ```
    /// use refit_sdk::{Claims, Paths};
    /// use serde_json::Value;
    ///
    /// // Memory can be added to a running machine, not taken away.
    /// let claims = Claims::decided(|change| {
    ///     let memory = |field: Option<&Value>| field.and_then(Value::as_u64).unwrap_or(0);
    ///     let (is, should_be) = (
    ///         memory(change.infrastructure.current_field("spec.memoryMiB")),
    ///         memory(change.infrastructure.desired_field("spec.memoryMiB")),
    ///     );
    ///     Ok(if should_be >= is { Paths::none().infrastructure("spec.memoryMiB") } else { Paths::none() })
    /// });
    /// ```
    pub fn decided(decide: impl Fn(&Change<'_>) -> Result<Paths, Refusal> + Send + Sync + 'static) -> Self {
        Self::Decided(Box::new(decide))
    }
}

impl From<Paths> for Claims {
    fn from(paths: Paths) -> Self {
        Self::Declared(paths)
    }
}

/// Why claims cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    #[error(transparent)]
    Path(#[from] FieldPathError),
    #[error("a kind in the claims is empty")]
    EmptyKind,
    /// With the paths declared, there would be nothing that the extension could ever do.
    #[error("the extension claims no field")]
    Nothing,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Claims that have been checked.
pub(crate) enum CheckedClaims {
    Declared(CheckedPaths),
    Decided(Decision),
}

pub(crate) type CheckedPaths = Vec<CheckedClaim>;

#[derive(Clone)]
pub(crate) struct CheckedClaim {
    object: MachineObject,
    kind: Option<String>,
    path: FieldPath,
}

impl CheckedClaims {
    pub(crate) fn new(claims: Claims) -> Result<Self, ClaimError> {
        match claims {
            Claims::Declared(Paths(claims)) if claims.is_empty() => Err(ClaimError::Nothing),
            Claims::Declared(paths) => Ok(Self::Declared(checked(paths)?)),
            Claims::Decided(decision) => Ok(Self::Decided(decision)),
        }
    }

    pub(crate) fn of_machine(&self, request: &CanUpdateMachineRequest) -> Result<CanUpdateMachineResponse, ClaimError> {
        let change = Change::of_machine(request);
        let patches = self.patches(&change, &MACHINE_SPEC)?;
        Ok(CanUpdateMachineResponse::success(MachinePatches {
            machine: patches.machine,
            infrastructure_machine: patches.infrastructure,
            bootstrap_config: patches.bootstrap,
        }))
    }

    pub(crate) fn of_machine_set(
        &self,
        request: &CanUpdateMachineSetRequest,
    ) -> Result<CanUpdateMachineSetResponse, ClaimError> {
        let change = Change::of_machine_set(request);
        let patches = self.patches(&change, &TEMPLATE_SPEC)?;
        Ok(CanUpdateMachineSetResponse::success(MachineSetPatches {
            machine_set: patches.machine,
            infrastructure_machine_template: patches.infrastructure,
            bootstrap_config_template: patches.bootstrap,
        }))
    }

    fn patches(&self, change: &Change<'_>, spec: &[&str]) -> Result<Patches, ClaimError> {
        let decided;
        let paths = match self {
            Self::Declared(paths) => paths,
            Self::Decided(decide) => {
                decided = checked(decide(change)?)?;
                &decided
            }
        };
        let patch =
            |object: MachineObject| change.object(object).and_then(|change| claimed_patch(paths, object, change, spec));
        Ok(Patches {
            machine: patch(MachineObject::Machine),
            infrastructure: patch(MachineObject::Infrastructure),
            bootstrap: patch(MachineObject::Bootstrap),
        })
    }
}

struct Patches {
    machine: Option<Patch>,
    infrastructure: Option<Patch>,
    bootstrap: Option<Patch>,
}

fn claimed_patch(
    paths: &CheckedPaths,
    object: MachineObject,
    change: &ObjectChange<'_>,
    spec: &[&str],
) -> Option<Patch> {
    // Fields of another kind, or of another version, mean something else.
    if !change.keeps_its_type() {
        return None;
    }
    let is_meant = |claim: &&CheckedClaim| {
        claim.object == object && claim.kind.as_deref().is_none_or(|kind| change.is_of_kind(kind))
    };
    let claimed: Vec<&FieldPath> = paths.iter().filter(is_meant).map(|claim| &claim.path).collect();
    patch::between(change.current(), change.desired(), spec, &claimed)
}

fn checked(paths: Paths) -> Result<CheckedPaths, ClaimError> {
    let check = |Claim { object, kind, path }: Claim| match kind {
        Some(kind) if kind.is_empty() => Err(ClaimError::EmptyKind),
        kind => Ok(CheckedClaim { object, kind, path: path.parse()? }),
    };
    paths.0.into_iter().map(check).collect()
}
