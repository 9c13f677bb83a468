//! The frame of all pages: its landmarks, its navigation, and who has signed in.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, HttpResponse, dev::Payload, http::StatusCode, web::Data};
use maud::{DOCTYPE, Markup, html};

use crate::{
    failure::Failure,
    guard::{Guard, Operator},
    shared::Shared,
};

/// A place in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Resources,
    Managers,
    Elections,
    Schedules,
    Partitions,
    Doctor,
    Tuning,
    Login,
}

const PLACES: &[(Place, &str, &str)] = &[
    (Place::Resources, "./", "Resources"),
    (Place::Managers, "managers", "Managers"),
    (Place::Elections, "elections", "Elections"),
    (Place::Schedules, "schedules", "Schedules"),
    (Place::Partitions, "partitions", "Partitions"),
    (Place::Doctor, "doctor", "Doctor"),
    (Place::Tuning, "tuning", "Tuning"),
];

/// The part of a page that is the same for all.
pub(super) struct Frame {
    who: Option<Operator>,
    allows_changes: bool,
    /// The state of the store; `None` for a reader without the right to see it.
    told: Option<Told>,
}

struct Told {
    summary: String,
    /// The state of the observation that the page was made in: the script fetches it again when there is another one.
    revision: u64,
}

impl FromRequest for Frame {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let (guard, shared) = (request.app_data::<Data<Guard>>(), request.app_data::<Data<Shared>>());
        let frame = guard.zip(shared).map(|(guard, shared)| Self {
            who: guard.operator(request),
            allows_changes: guard.allows_changes(),
            // The login is open to all, and tells nothing to those who may not read.
            told: guard
                .check_reader(request)
                .ok()
                .map(|()| Told { summary: summary(shared), revision: shared.watch().revision }),
        });
        ready(frame.ok_or_else(Failure::gone))
    }
}

/// Says in one line how things are. Its last words say what is not known.
fn summary(shared: &Shared) -> String {
    let seen = shared.watch();
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match (seen.contended, seen.waiting, seen.trouble) {
        (Some(contended), Some(waiting), _) => {
            let waiters = counted(waiting, "waiter");
            let more = if seen.complete { "" } else { "; there may be more that were not looked at" };
            format!("{} contended, {waiters}{more}.", counted(contended, "resource"))
        }
        (_, _, Some(trouble)) => format!("The store does not say: {trouble}"),
        _ if seen.without_queues => "The store keeps no queues: nobody knows who waits.".to_owned(),
        _ => "Not looked yet.".to_owned(),
    }
}

impl Frame {
    /// Returns true if whoever sees the page may change something.
    pub(super) const fn may_change(&self) -> bool {
        self.who.is_some()
    }

    /// Returns a page, or the page of a failure.
    pub(super) fn show(&self, place: Place, title: &str, body: Result<Markup, Failure>) -> HttpResponse {
        let (status, title, body) = match body {
            Ok(body) => (StatusCode::OK, title, body),
            Err(failure) => {
                // The script reloads a page that could not be made as soon as it can be.
                let again = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS]
                    .contains(&failure.status);
                let told = html! {
                    h1 { "That did not work" }
                    p.bad role="alert" { (failure.detail) }
                    p { a href="./" { "Back to the resources" } }
                    @if again { div #live data-failed {} }
                };
                (failure.status, "That did not work", told)
            }
        };
        let page = self.page(place, title, &body).into_string();
        HttpResponse::build(status).content_type("text/html; charset=utf-8").body(page)
    }

    fn page(&self, place: Place, title: &str, body: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · leasehold" }
                    link rel="icon" href="icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="console.css";
                    script src="console.js" defer {}
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        p.brand { a href="./" { "leasehold" } }
                        nav aria-label="Views" { (navigation(place)) }
                        (self.session())
                    }
                    div.said {
                        @if let Some(told) = &self.told {
                            p #status role="status" aria-live="polite" data-revision=(told.revision) { (told.summary) }
                        }
                        // Said by the script, each second: a screen reader is told only when it asks.
                        p #age {}
                    }
                    main #main tabindex="-1" { (body) }
                    footer {
                        p { "Times are counted back from when the page was made. API: " a href="openapi.json" { "openapi.json" } }
                    }
                }
            }
        }
    }

    fn session(&self) -> Markup {
        html! {
            @if let Some(who) = &self.who {
                form.session method="post" action="logout" {
                    span { "Signed in: " (who) " " }
                    button type="submit" { "Sign out" }
                }
            } @else if self.allows_changes {
                p.session { a href="login" { "Sign in" } }
            } @else {
                p.session { "Read only" }
            }
        }
    }
}

fn navigation(here: Place) -> Markup {
    html! {
        ul {
            @for (place, href, label) in PLACES {
                li { a href=(href) aria-current=[(*place == here).then_some("page")] { (label) } }
            }
        }
    }
}
