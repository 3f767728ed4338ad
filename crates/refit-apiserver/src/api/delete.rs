//! Carrying out deletions: of one object, and of all that a selector selects.

use http::StatusCode;

use super::write::{MAX_ATTEMPTS, Refused};
use super::{Answer, Api, Call, not_allowed};
use crate::read::View;
use crate::read::selector::Selector;
use crate::read::view::{self, Page};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Key, Record, Write};
use crate::write::Change;
use crate::write::delete::{DeleteOptions, answers_object, delete, success};

/// What a deletion came to.
pub(super) enum Deleted {
    /// It is gone; this is how it looked last.
    Gone(serde_json::Value),
    /// Something holds it.
    Held(Record),
    /// Nothing happened, because the client only wanted to know.
    WouldHold(serde_json::Value),
}

impl Api {
    pub(super) async fn delete(&self, call: &Call<'_>, name: &str) -> Result<Answer, Status> {
        let options = DeleteOptions::parse(call.request)?;
        let resource = call.resource;
        let held = if options.wants_accepted { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok(match self.delete_object(resource, &call.key(name), &options).await? {
            Deleted::Gone(object) if answers_object(resource) => Answer::json(StatusCode::OK, &object),
            Deleted::Gone(object) => Answer::json(StatusCode::OK, &success(resource, &object)),
            Deleted::WouldHold(object) => Answer::json(held, &object),
            Deleted::Held(record) => Answer::json_text(held, View::full(resource, &record)),
        })
    }

    /// Deletes what is selected, one object after the other, and answers with the objects as they were.
    pub(super) async fn delete_collection(&self, call: &Call<'_>) -> Result<Answer, Status> {
        if call.resource.is("", "namespaces") {
            return Err(not_allowed());
        }
        let view = View::of_list(call.request)?;
        let options = DeleteOptions::parse(call.request)?;
        let selector = Selector::parse(&call.request.query, call.resource)?;
        let snapshot = self.shared.store.list(&call.scope(), None, None);
        let snapshot = snapshot.map_err(|error| Status::internal(error.to_string()))?;
        let selects = |record: &Record| selector.is_everything() || selector.matches(&record.value());
        let records: Vec<Record> = snapshot.records.into_iter().filter(selects).collect();
        for record in &records {
            match self.delete_object(call.resource, record.key(), &options).await {
                Err(status) if status.code != StatusCode::NOT_FOUND => return Err(status),
                Err(_) | Ok(_) => {}
            }
        }
        Ok(self.listed(call, view, records, (snapshot.revision, &Page::default())).await)
    }

    /// Decides upon what is there until a decision meets what it was made for.
    pub(super) async fn delete_object(
        &self,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        for _ in 0..MAX_ATTEMPTS {
            let live = self.shared.store.get(key);
            let live = live.ok_or_else(|| Status::not_found(resource.qualified_plural(), key.name()))?;
            let change = delete(resource, &view::live(resource, &live), options, self.now())?;
            match self.store_deletion(resource, live, change, options.is_dry_run).await {
                Ok(deleted) => return Ok(deleted),
                Err(Refused::Taken(_)) => {}
                Err(Refused::Status(status)) => return Err(status),
            }
        }
        Err(Status::modified(resource.qualified_plural(), key.name()))
    }

    async fn store_deletion(
        &self,
        resource: &Resource,
        live: Record,
        change: Change,
        is_dry_run: bool,
    ) -> Result<Deleted, Refused> {
        let (key, at) = (live.key().clone(), live.revision());
        Ok(match change {
            Change::Nothing => Deleted::Held(live),
            Change::Put(object) if is_dry_run => Deleted::WouldHold(object),
            Change::Put(object) => {
                let object = view::to_stored(resource, object);
                Deleted::Held(self.commit(Write::replace(key, at, object), None).await?)
            }
            Change::Remove(object) if is_dry_run => Deleted::Gone(object),
            Change::Remove(object) => {
                self.commit(Write::delete(key, at), None).await?;
                Deleted::Gone(object)
            }
        })
    }
}
