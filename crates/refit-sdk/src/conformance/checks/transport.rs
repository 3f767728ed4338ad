//! The rules about HTTP, and about callers that are broken or hostile.

use std::time::Duration;

use bytes::Bytes;
use refit_api::hooks::Hook;
use serde_json::json;

use super::{DISCOVERY_TIME, Handler, Judgement, Manner, Run, Verdict, broken, is_success, response, rules};

const MIB: usize = 1 << 20;
/// How long an extension may take for a body of many MiB.
const LARGE_TIME: Duration = Duration::from_secs(30);
/// Deep enough to overflow the stack of a parser that has no bound.
const DEPTH: usize = 200_000;

impl Run<'_> {
    pub(super) async fn transport(&mut self, handlers: &[Handler]) {
        let judgement = self.protocols().await;
        self.note(rules::PROTOCOLS, None, judgement);
        let judgement = self.unknown_path().await;
        self.note(rules::UNKNOWN_PATH, None, judgement);
        let judgement = self.malformed().await;
        self.note(rules::MALFORMED_BODY, None, judgement);
        let judgement = self.deep().await;
        self.note(rules::DEEP_BODY, None, judgement);
        let judgement = self.large(handlers).await;
        self.note(rules::LARGE_BODY, None, judgement);
        let judgement = self.huge().await;
        self.note(rules::HUGE_BODY, None, judgement);
        let judgement = self.broken_callers().await;
        self.note(rules::BROKEN_CALLERS, None, judgement);
    }

    async fn protocols(&self) -> Judgement {
        for manner in [Manner::Http1, Manner::Http2, Manner::Chunked] {
            let answer = self.target.call(&discovery(), "{}", DISCOVERY_TIME, manner).await;
            let answered = answer.map_err(Verdict::from).and_then(|answer| response(&answer));
            match answered {
                Ok(value) if is_success(&value) => {}
                Ok(_) => return Err(broken(format!("Discovery fails over {manner:?}"))),
                Err(Verdict::Broken(what) | Verdict::Warned(what) | Verdict::Skipped(what)) => {
                    return Err(broken(format!("Discovery over {manner:?}: {what}")));
                }
            }
        }
        Ok(())
    }

    async fn unknown_path(&self) -> Judgement {
        let path = format!("{}/no-such-handler", Hook::UpdateMachine.path(None));
        match self.target.call(&path, "{}", DISCOVERY_TIME, Manner::Http1).await?.status {
            404 => Ok(()),
            status => Err(broken(format!("the answer to {path} has the HTTP status {status}"))),
        }
    }

    async fn malformed(&self) -> Judgement {
        for body in ["", "{", "[1]", "\"text\"", "\u{0}\u{1}"] {
            let answer = self.target.call(&discovery(), body, DISCOVERY_TIME, Manner::Http1).await?;
            match response(&answer) {
                Ok(value) if is_success(&value) => return Err(broken(format!("{body:?} is taken for a request"))),
                Ok(_) => {}
                Err(Verdict::Broken(what) | Verdict::Warned(what) | Verdict::Skipped(what)) => {
                    return Err(broken(format!("{body:?}: {what}")));
                }
            }
        }
        self.still_answers().await
    }

    async fn deep(&self) -> Judgement {
        // Whatever the answer is, and be it none: the extension must live.
        let _ = self.target.call(&discovery(), "{\"a\":".repeat(DEPTH), DISCOVERY_TIME, Manner::Http1).await;
        let nested = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
        let _ = self.target.call(&discovery(), nested, DISCOVERY_TIME, Manner::Http1).await;
        self.still_answers().await
    }

    async fn large(&self, handlers: &[Handler]) -> Judgement {
        self.may_be_large()?;
        let Some(handler) = handlers.iter().find(|handler| handler.hook == Hook::CanUpdateMachine) else {
            return Err(Verdict::Skipped("there is no handler of CanUpdateMachine".to_owned()));
        };
        let request = self.options.sample.request(handler.hook);
        let small = self.ask(handler, &request).await?;
        let mut padded = request;
        padded["padding"] = json!("x".repeat(19 * MIB));
        let answer = self.target.call(&handler.path, padded.to_string(), LARGE_TIME, Manner::Http1).await?;
        match response(&answer)? == small {
            true => Ok(()),
            false => Err(broken("the answer is another one than to the same request without padding")),
        }
    }

    async fn huge(&self) -> Judgement {
        self.may_be_large()?;
        let body = Bytes::from(format!("{{\"padding\":\"{}\"}}", "x".repeat(21 * MIB)));
        // An extension may hang up on somebody who sends that much.
        let answer = self.target.call(&discovery(), body, LARGE_TIME, Manner::Http1).await;
        match answer.map_err(Verdict::from).and_then(|answer| response(&answer)) {
            Ok(value) if is_success(&value) => Err(broken("a request of 21 MiB was accepted")),
            Ok(_) | Err(_) => self.still_answers().await,
        }
    }

    fn may_be_large(&self) -> Judgement {
        match self.options.large_bodies {
            true => Ok(()),
            false => Err(Verdict::Skipped("no large requests were to be sent".to_owned())),
        }
    }

    async fn broken_callers(&self) -> Judgement {
        let head = self.target.head(&discovery(), 1000);
        // One hangs up in the middle of its body, one stops in the middle of its head, one in its body.
        drop(self.target.send_raw(&[head.as_slice(), b"{\"a\""].concat()).await?);
        let _half_head = self.target.send_raw(&head[..head.len() / 2]).await?;
        let _half_body = self.target.send_raw(&[head.as_slice(), b"{"].concat()).await?;
        self.still_answers().await
    }
}

fn discovery() -> String {
    Hook::Discovery.path(None)
}
