//! The forms of changes, and the way back to the page that they came from.

use std::sync::Arc;

use actix_web::{
    HttpResponse,
    http::header::LOCATION,
    web::{Data, Form},
};
use leasehold::InvalidValue;
use maud::{Markup, html};

use super::{
    frame::{Frame, Place},
    parts::link,
};
use crate::{
    changes::{self, Wanted},
    guard::Change,
    shared::Shared,
};

/// Leads to another page, which is read.
pub(super) fn see(page: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, page)).finish()
}

/// Begins a change, and leads to the page that shows how it goes on.
pub(super) async fn change<Body>(
    right: Change,
    frame: Frame,
    shared: Data<Shared>,
    body: Form<Body>,
) -> HttpResponse
where
    Wanted: TryFrom<Body, Error = InvalidValue>,
{
    match Wanted::try_from(body.into_inner()) {
        Ok(wanted) => {
            let page = match &wanted {
                Wanted::Schedule { .. } => "schedules".to_owned(),
                Wanted::Revoke { name, .. } | Wanted::ForceRelease { name } => link(&name.encoded()),
            };
            // It is shown, and comes into the audit, when it is over; nobody waits for it here.
            drop(changes::begin(Arc::clone(&shared), right, wanted));
            see(&page)
        }
        Err(error) => frame.show(Place::Resources, "", Err(error.into())),
    }
}

/// Returns the forms that take a resource away.
pub(super) fn of_resource(name: &str) -> Markup {
    html! {
        section aria-labelledby="take" {
            h2 #take { "Take it away" }
            form.fields method="post" action="revoke" {
                input type="hidden" name="resource" value=(name);
                p { "Holders are told the reason and may finish. Then what they still hold is taken away." }
                label for="reason" { "Reason" }
                input #reason name="reason" type="text" maxlength="200" required;
                label for="grace" { "Seconds to finish" }
                input #grace name="grace_seconds" type="number" min="0" max="86400" value="30" required;
                button type="submit" { "Revoke" }
            }
            details {
                summary { "Release by force" }
                form.fields method="post" action="force-release" {
                    input type="hidden" name="resource" value=(name);
                    p.bad {
                        "The holders learn of it only afterwards. Until then two may believe that they hold it."
                    }
                    label for="confirm" { "Type the name of the resource" }
                    input #confirm name="confirm" type="text" required autocomplete="off" spellcheck="false";
                    button.danger type="submit" { "Release by force" }
                }
            }
        }
    }
}

/// Returns the buttons of a schedule.
pub(super) fn of_schedule(name: &str, paused: bool) -> Markup {
    let turn = if paused { ("resume", "Resume") } else { ("pause", "Pause") };
    html! {
        form.buttons method="post" action="schedule" {
            input type="hidden" name="schedule" value=(name);
            @for (action, label) in [turn, ("run", "Run now")] {
                button type="submit" name="action" value=(action) { (label) span.hidden { " " (name) } }
            }
        }
    }
}
