//! The login: a person shows the token once, and gets a session.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::SET_COOKIE,
    web::{Data, Form},
};
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    forms,
    frame::{Frame, Place},
};
use crate::{
    failure::Failure,
    guard::{self, Guard, LIFETIME, SESSION_COOKIE},
};

/// The form of a login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    token: String,
    #[serde(default)]
    name: String,
}

pub(super) async fn page(frame: Frame, guard: Data<Guard>) -> HttpResponse {
    frame.show(Place::Login, "Sign in", Ok(body(&guard, None)))
}

pub(super) async fn login(
    frame: Frame,
    request: HttpRequest,
    guard: Data<Guard>,
    form: Form<Login>,
) -> HttpResponse {
    if !guard.is_token(&form.token) {
        guard::refused(&request, &Failure::unauthenticated());
        let mut answer =
            frame.show(Place::Login, "Sign in", Ok(body(&guard, Some("This is not the token."))));
        *answer.status_mut() = actix_web::http::StatusCode::UNAUTHORIZED;
        return answer;
    }
    let (secret, who) = guard.begin_session(&form.name);
    guard::audited(&request, &who.to_string(), "login", "signed in");
    with_cookie(&request, &secret, LIFETIME.as_secs())
}

pub(super) async fn logout(request: HttpRequest, guard: Data<Guard>) -> HttpResponse {
    if let Some(who) = guard.operator(&request) {
        guard::audited(&request, &who.to_string(), "logout", "signed out");
    }
    guard.end_session(&request);
    with_cookie(&request, "", 0)
}

/// Leads to the first page, with a cookie. Without a `Path` it is for the folder of the console alone.
fn with_cookie(request: &HttpRequest, secret: &str, seconds: u64) -> HttpResponse {
    // A client that lies about it harms itself alone.
    let secure = if request.connection_info().scheme() == "https" { "; Secure" } else { "" };
    let cookie = format!("{SESSION_COOKIE}={secret}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut answer = forms::see("./");
    if let Ok(cookie) = cookie.parse() {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    answer
}

fn body(guard: &Guard, wrong: Option<&str>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if !guard.allows_changes() {
            p { "This console was started without a token. Everybody who reaches it may read, and nobody may change anything." }
        } @else {
            @if let Some(wrong) = wrong {
                p.bad #wrong role="alert" { (wrong) }
            }
            form.fields method="post" action="login" {
                label for="token" { "Token of the console" }
                input #token name="token" type="password" required autocomplete="current-password"
                    aria-describedby=[wrong.map(|_| "wrong")];
                label for="name" { "Your name, for the audit" }
                input #name name="name" type="text" maxlength="60" autocomplete="username";
                button type="submit" { "Sign in" }
            }
        }
    }
}
