//! Parts that several pages have: links, spans of time, metadata.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use leasehold::text::rough;
use maud::{Markup, html};

use crate::view::shown;

/// The longest text of somebody else that is shown, in characters.
const LONGEST: usize = 200;

/// Returns the link to a resource. Names are printable ASCII, as the console shows them.
pub(super) fn link(name: &str) -> String {
    format!("resource?name={}", in_query(name))
}

/// Returns a text as a query has it.
pub(super) fn in_query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        // Writing to a string does not fail.
        let _ = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.write_char(char::from(byte))
            }
            _ => write!(out, "%{byte:02X}"),
        };
    }
    out
}

/// Returns the name of a resource as a link to it.
pub(super) fn resource(name: &str) -> Markup {
    html! { a.name href=(link(name)) { (name) } }
}

/// Formats a span.
pub(super) fn span(span: Duration) -> String {
    rough(span).to_string()
}

/// Formats a span that may be unknown.
pub(super) fn known(known: Option<Duration>) -> Markup {
    html! {
        @match known {
            Some(known) => (span(known)),
            None => span.unknown { "unknown" },
        }
    }
}

/// Formats a number that the store may not know.
pub(super) fn counted(count: Option<u64>) -> Markup {
    html! {
        @match count {
            Some(count) => (count),
            None => span.unknown { "unknown" },
        }
    }
}

/// Formats a text of somebody else that may not be there.
pub(super) fn given(text: Option<&str>) -> Markup {
    html! {
        @match text {
            Some(text) => (shown(text, LONGEST)),
            None => span.unknown aria-label="none" { "–" },
        }
    }
}

/// Returns what somebody tells of itself. It is not true for sure.
pub(super) fn metadata(metadata: &BTreeMap<String, String>) -> Markup {
    html! {
        @if metadata.is_empty() {
            (given(None))
        } @else {
            ul.metadata {
                @for (key, value) in metadata {
                    li { span.key { (shown(key, LONGEST)) } " " span.value { (shown(value, LONGEST)) } }
                }
            }
        }
    }
}

/// Returns a table that can be moved sideways, by the keyboard too, where it does not fit.
pub(super) fn table(caption: &str, columns: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { (rows) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_link_is_one_value_of_the_query() {
        assert_eq!(link("orders/42"), "resource?name=orders/42");
        assert_eq!(link("a&b=c#d%20+e\"<"), "resource?name=a%26b%3Dc%23d%2520%2Be%22%3C");
    }
}
