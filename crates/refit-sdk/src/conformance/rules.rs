//! The rules, and why each of them is one.

use serde::Serialize;

/// A rule that extensions are held to.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A word for programs and searches.
    pub id: &'static str,
    /// The rule itself.
    pub title: &'static str,
    /// What happens when it is broken.
    pub why: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

macro_rules! rules {
    ($($NAME:ident = $id:literal, $title:literal, $why:literal, $remedy:literal;)+) => {
        $(pub(super) const $NAME: &Rule = &Rule { id: $id, title: $title, why: $why, remedy: $remedy };)+

        impl Rule {
            /// All rules, in the order in which they are looked at.
            pub const ALL: &[&Rule] = &[$($NAME),+];
        }
    };
}

rules! {
    DISCOVERY_ANSWERS = "discovery-answers", "Discovery answers with success",
        "without it no handler is known, and the ExtensionConfig stays undiscovered",
        "answer 200 and a DiscoveryResponse with status Success at /hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery";
    DISCOVERY_VALID = "discovery-valid", "every handler can be registered",
        "one wrong handler makes controllers refuse all handlers of the extension",
        "give handlers unique DNS-1123 labels as names, hooks of the catalog, timeouts of 0 to 30 seconds, and Fail or Ignore as policy";
    DISCOVERY_STABLE = "discovery-stable", "Discovery always says the same",
        "each different answer, a different order included, rewrites the ExtensionConfig and starts another discovery",
        "sort the handlers by name";
    UPDATE_NEVER_IGNORED = "update-never-ignored", "UpdateMachine does not have the failure policy Ignore",
        "upstream's controllers read a call without an answer as an update that is done",
        "leave the failure policy of UpdateMachine out, or set Fail";
    HOOKS_COMPLETE = "hooks-complete", "there is one handler for each hook of in-place updates",
        "who can say what changes must be able to make them; upstream's controllers refuse to choose among several handlers",
        "serve CanUpdateMachine, CanUpdateMachineSet and UpdateMachine, once each";
    PROTOCOLS = "protocols", "HTTP/1.1, HTTP/2 and bodies without a length are served, without a content type",
        "controllers written in Go prefer HTTP/2, and send no content type",
        "offer h2 and http/1.1, and parse the body whatever its headers say";
    UNKNOWN_PATH = "unknown-path", "a path without a handler gets 404",
        "a controller that calls a handler that is gone must not take the answer for one",
        "answer 404";
    MALFORMED_BODY = "malformed-body", "a body that is no request gets 200 and status Failure",
        "a controller shows the message of a failure to its user; of anything else it shows that the call failed",
        "catch errors of the parser, and answer with status Failure and their message";
    DEEP_BODY = "deep-body", "deeply nested JSON does no harm",
        "a parser that recurses without a bound ends the process, and every update with it",
        "bound the depth of JSON";
    LARGE_BODY = "large-body", "a request of 19 MiB is answered like a small one",
        "controllers send up to 20 MiB: templates can carry many files",
        "raise the limit for bodies to 20 MiB";
    HUGE_BODY = "huge-body", "a request of more than 20 MiB is no success, and does no harm",
        "who can reach the port could otherwise fill the memory",
        "stop reading after 20 MiB and answer with status Failure";
    BROKEN_CALLERS = "broken-callers", "callers that hang up or stand still do not keep others waiting",
        "networks break; the next controller must still be served",
        "serve each connection on its own, and bound how long its headers may take";
    CLAIMS_ANSWER = "claims-answer", "a question gets an answer in time",
        "without an answer, controllers neither update nor replace the machine, and ask for ever",
        "answer 200 with status Success or Failure within the handler's timeout; to be able to do nothing is a success without patches";
    CLAIMS_DETERMINISTIC = "claims-deterministic", "the same question always has the same answer",
        "what was accepted is what is run; an answer that flips blocks the rollout or breaks a machine",
        "decide from the request alone";
    PATCHES_APPLY = "patches-apply", "every patch applies to the object that was sent",
        "a patch that does not apply is an error, not a no: the rollout stands still until it is mended",
        "compute patches on the JSON as it was received, in standard base64, with paths that begin with a slash";
    CLAIMS_LEAD_TO_DESIRED = "claims-lead-to-desired", "patches make fields what they should be, nothing else",
        "a field that becomes neither what it is nor what it should be can never be covered",
        "copy values from desired as they are: null, {} and a missing field are three things";
    NOTHING_TO_CHANGE = "nothing-to-change", "without a difference nothing is claimed",
        "a patch that changes something when nothing should change undoes what other extensions do",
        "answer with success and no patch";
    MISSING_BOOTSTRAP = "missing-bootstrap", "a machine without a bootstrap config is no failure",
        "machines may have none; their rollouts would stand still",
        "leave the patch out when there is no object";
    UNKNOWN_KINDS = "unknown-kinds", "objects of unknown kinds are no failure",
        "a failure stops the rollout of machines that the extension has nothing to do with",
        "answer with success and no patch for kinds that are not yours";
    UNKNOWN_FIELDS = "unknown-fields", "fields that are not known change nothing",
        "controllers of other versions send more fields, and null for timestamps",
        "ignore what you do not know";
    CLAIMS_CONCURRENT = "claims-concurrent", "many questions at once have the answers of one",
        "several controllers ask at the same time",
        "keep no state between questions";
    UPDATE_ANSWERS = "update-answers", "UpdateMachine says how far it is",
        "a negative time to wait, or a status that is not set, reads as an update that is done, or as an error",
        "answer with Success and retryAfterSeconds 0 when done, more than 0 when in progress, or with Failure";
    UPDATE_ENDS = "update-ends", "an update comes to its end",
        "a machine counts as unavailable for as long as its update runs",
        "answer with retryAfterSeconds 0 once the machine is what it should be";
    UPDATE_IDEMPOTENT = "update-idempotent", "a machine that is done stays done",
        "controllers ask again after they have been restarted, also for machines that were done",
        "look at the machine first, and answer that it is done when it is";
    UPDATE_CONCURRENT = "update-concurrent", "calls for one machine at the same time all get an answer",
        "a controller that was restarted asks while its earlier call still runs",
        "run one update for each machine, and let all calls ask about it";
    UPDATE_WITHOUT_BOOTSTRAP = "update-without-bootstrap", "a machine without a bootstrap config can be updated",
        "machines may have none",
        "use the object only if it is there";
}
