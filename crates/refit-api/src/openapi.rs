//! The OpenAPI description of the hooks, made from the types that are sent and received.

mod examples;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::hooks::{
    API_VERSION, CanUpdateMachineRequest, CanUpdateMachineSetRequest, DiscoveryRequest, Hook, HookRequest,
    UpdateMachineRequest, VERSION,
};
use crate::schema;
use examples::Examples;

/// The OpenAPI 3.0 document of Discovery and the three hooks of in-place updates.
pub fn hooks() -> Value {
    let mut generator = generator();
    let paths: Map<String, Value> = [
        path::<DiscoveryRequest>(&mut generator, DISCOVERY, examples::discovery()),
        path::<CanUpdateMachineRequest>(&mut generator, CAN_UPDATE_MACHINE, examples::can_update_machine()),
        path::<CanUpdateMachineSetRequest>(&mut generator, CAN_UPDATE_MACHINE_SET, examples::can_update_machine_set()),
        path::<UpdateMachineRequest>(&mut generator, UPDATE_MACHINE, examples::update_machine()),
    ]
    .into_iter()
    .collect();
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Runtime Hooks for in-place updates", "version": VERSION, "description": ABOUT },
        "paths": paths,
        "components": { "schemas": components(&mut generator) },
    })
}

const ABOUT: &str = "What a Cluster API controller asks of an extension when it updates machines in place. \
    Every call is a POST over HTTPS, below the URL or Service of the ExtensionConfig. \
    The path alone says what a body is; `apiVersion` and `kind` are not checked, and neither is the content type. \
    Unknown fields are ignored, and `null` is the same as an absent field. \
    Any HTTP status but 200 is a failed call, and redirects are not followed: \
    what an extension cannot do, it reports with 200 and `status: Failure`.";

const DISCOVERY: Text = Text {
    summary: "Which handlers does the extension have?",
    description: "Called whenever the ExtensionConfig is reconciled, with a timeout of 10 seconds. \
        One wrong handler makes the whole answer invalid: names must be unique DNS-1123 labels, \
        and every hook must be in Cluster API's catalog. Discovery itself is not listed.",
};

const CAN_UPDATE_MACHINE: Text = Text {
    summary: "Which changes of this Machine can be made in place?",
    description: "Called for a control plane machine before it would be replaced. The extension answers with a patch \
        for each object that it can change. The patches are applied to `current`; if its specs then equal those of \
        `desired`, the Machine is updated in place. Nothing is to be changed by this call.",
};

const CAN_UPDATE_MACHINE_SET: Text = Text {
    summary: "Which changes of the Machines of this MachineSet can be made in place?",
    description: "Called once for the Machines of a MachineDeployment that would move from one MachineSet to another. \
        The extension answers with a patch for each object that it can change. The patches are applied to `current`; \
        if `spec.template.spec` of each object then equals that of `desired`, the Machines are updated in place. \
        Nothing is to be changed by this call.",
};

const UPDATE_MACHINE: Text = Text {
    summary: "Make the changes of this Machine",
    description: "Called again and again until the extension answers `Success` with `retryAfterSeconds: 0`. \
        It must be safe to repeat: after a failure, after a restart of either side, and after the update was done. \
        `Failure` does not end the update; the extension is asked again later.",
};

/// What is said about a hook, for people.
struct Text {
    summary: &'static str,
    description: &'static str,
}

/// A generator that gives every type a component, in the dialect of OpenAPI 3.0.
fn generator() -> SchemaGenerator {
    let simplify = |schema: &mut Schema| {
        let simplified = schema::into_structural(std::mem::take(schema));
        *schema = Schema::try_from(simplified).expect("a simplified schema must be a schema");
    };
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.meta_schema = None;
        settings.transforms.insert(0, Box::new(simplify));
    });
    settings.into_generator()
}

/// The schemas of all types that the paths use. Each payload may say its type, and none has to.
fn components(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut components = generator.take_definitions(true);
    for kind in Hook::ALL.iter().flat_map(|hook| [hook.request_kind(), hook.response_kind()]) {
        let Some(payload) = components.get_mut(kind) else { continue };
        payload["properties"]["apiVersion"] = json!({ "type": "string", "enum": [API_VERSION] });
        payload["properties"]["kind"] = json!({ "type": "string", "enum": [kind] });
    }
    components
}

fn path<R: HookRequest>(generator: &mut SchemaGenerator, text: Text, examples: Examples) -> (String, Value) {
    let operation = json!({
        "operationId": R::HOOK.name(),
        "summary": text.summary,
        "description": text.description,
        "parameters": parameters(R::HOOK),
        "requestBody": {
            "required": true,
            "content": content(generator.subschema_for::<R>(), examples.requests),
        },
        "responses": {
            "200": {
                "description": "The extension's answer. Whether it is a good one is in `status`.",
                "content": content(generator.subschema_for::<R::Response>(), examples.responses),
            },
        },
    });
    (path_template(R::HOOK), json!({ "post": operation }))
}

fn path_template(hook: Hook) -> String {
    let path = hook.path(None);
    if has_handler(hook) { format!("{path}/{{handler}}") } else { path }
}

fn has_handler(hook: Hook) -> bool {
    hook != Hook::Discovery
}

fn content(schema: Schema, examples: Vec<(&str, Value)>) -> Value {
    let examples = examples.into_iter().map(|(name, value)| (name.to_owned(), json!({ "value": value })));
    json!({ "application/json": { "schema": schema, "examples": examples.collect::<Map<_, _>>() } })
}

fn parameters(hook: Hook) -> Vec<Value> {
    let handler = json!({
        "name": "handler",
        "in": "path",
        "required": true,
        "description": "The name of the handler, as in the answer to Discovery.",
        "schema": { "type": "string", "maxLength": 63, "pattern": schema::DNS_LABEL },
    });
    let timeout = json!({
        "name": "timeout",
        "in": "query",
        "description": "How long the controller waits for the answer, as a Go duration.",
        "schema": { "type": "string" },
        "example": "10s",
    });
    has_handler(hook).then_some(handler).into_iter().chain([timeout]).collect()
}

#[cfg(test)]
mod tests;
