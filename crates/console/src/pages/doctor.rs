//! The page of the doctor: what an examination found.

use maud::{Markup, html};

use super::parts::span;
use crate::examine::DiagnosisView;

/// Returns the page of the doctor.
pub(super) fn body(is_there: bool, latest: Option<&DiagnosisView>) -> Markup {
    html! {
        h1 { "Doctor" }
        @if is_there {
            p { "An examination asks every server of the deployment, and takes, hands over and releases a lock. It takes seconds." }
            form.buttons method="post" action="doctor" { button type="submit" { "Examine now" } }
        } @else {
            p.empty { "This console was not told which configuration to examine." }
        }
        div #live { @if let Some(view) = latest { (findings(view)) } }
    }
}

fn findings(view: &DiagnosisView) -> Markup {
    html! {
        section aria-labelledby="findings" {
            h2 #findings { "Findings of " (span(view.ago)) " ago" }
            p { (view.diagnosis.deployment) ": " (view.diagnosis.servers.len()) " servers looked at." }
            @if view.diagnosis.findings.is_empty() { p.empty { "Nothing found." } }
            @for finding in &view.diagnosis.findings {
                article class=(format!("finding {}", finding.severity.as_str())) {
                    h3 { span.mode { (finding.severity.as_str()) } " " (finding.check) }
                    p.note { (finding.server.as_deref().unwrap_or("the deployment")) }
                    p { (finding.found) }
                    p { "→ " (finding.advice) }
                }
            }
        }
    }
}
