//! The list of resources: those that somebody waits for, or all that are not free, page by page.

use maud::{Markup, html};

use super::parts::{counted, given, in_query, known, resource, span, table};
use crate::{
    model::{Page, Row},
    read::Filter,
};

pub(super) fn body(page: &Page, filter: &Filter) -> Markup {
    html! {
        h1 { @if filter.all { "Resources that are not free" } @else { "Contended resources" } }
        (search(filter))
        div #live {
            @if page.resources.is_empty() {
                p.empty { (nothing(page, filter)) }
            } @else {
                (table("Resources", COLUMNS, &html! { @for row in &page.resources { (line(row)) } }))
            }
            @if !page.complete && page.next.is_none() && !page.resources.is_empty() {
                p.bad { "There may be more: " (UNFINISHED) }
            }
            (pager(page, filter))
        }
    }
}

const UNFINISHED: &str =
    "the walk over the names ended before it came to all of them. A longer beginning makes it shorter.";

/// Says why there is nothing to show: that there is nothing, or that it is not known.
fn nothing(page: &Page, filter: &Filter) -> String {
    let said = match (filter.all, filter.prefix.is_empty() && filter.after.is_empty()) {
        _ if !page.complete => return format!("None was found, but {UNFINISHED}"),
        (false, _) if page.console.without_queues => {
            "This store keeps no queues (the plain layout): nobody knows who waits."
        }
        (false, true) => "Nobody waits for anything.",
        (false, false) => "Nobody waits for any of these.",
        (true, true) => "All are free.",
        (true, false) => "All of these are free.",
    };
    said.to_owned()
}

const COLUMNS: &[&str] =
    &["Resource", "Waiting", "Longest wait", "Holders", "First to end", "Held for", "Time left"];

fn line(row: &Row) -> Markup {
    let holder = row.holders.first();
    let who = holder.map(|holder| holder.who.in_short());
    html! {
        tr {
            th scope="row" { (resource(&row.resource)) }
            td.number { (counted(row.waiting)) }
            // Nobody's wait is no unknown wait.
            td.number { @if row.waiting == Some(0) { (given(None)) } @else { (known(row.longest_wait)) } }
            td.number { (counted(row.total)) }
            td {
                @match &row.trouble {
                    Some(trouble) => span.bad { (trouble) },
                    None => { (given(who.as_deref())) @if let Some(holder) = holder { " " span.mode { (holder.who.mode.to_string()) } } },
                }
            }
            td.number { @if let Some(holder) = holder { (known(holder.age)) } @else { (given(None)) } }
            td.number { @if let Some(holder) = holder { (span(holder.left)) } @else { (given(None)) } }
        }
    }
}

fn search(filter: &Filter) -> Markup {
    html! {
        form.search role="search" method="get" action="./" {
            label for="prefix" { "Names that begin with" }
            input #prefix name="prefix" type="search" value=(filter.prefix) maxlength="1536" spellcheck="false";
            label for="all" { "Which" }
            select #all name="all" {
                option value="false" selected[!filter.all] { "those that somebody waits for" }
                option value="true" selected[filter.all] { "all that are not free" }
            }
            button type="submit" { "Show" }
        }
    }
}

fn pager(page: &Page, filter: &Filter) -> Markup {
    let query = |after: &str| {
        let limit = filter.limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
        format!("./?prefix={}&all={}&after={}{limit}", in_query(&filter.prefix), filter.all, in_query(after))
    };
    html! {
        p.note { "In the order of names. The walk looked at up to " (page.walked) " keys." }
        nav.pager aria-label="Pages" {
            @if !filter.after.is_empty() { a href=(query("")) { "First page" } " " }
            @if let Some(next) = &page.next { a href=(query(next)) { "Next page" } }
        }
    }
}
