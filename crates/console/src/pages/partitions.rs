//! The view of partitions: the fleets, and who owns what in one of them.

use maud::{Markup, html};

use super::{
    lists::one_more,
    parts::{counted, given, in_query, known, table},
};
use crate::{
    model::{FleetView, MemberView, PartitionView, PartitionsView, SharesView},
    read::Also,
    view::shown,
};

pub(super) fn body(view: &PartitionsView, also: &Also) -> Markup {
    html! {
        h1 { "Partitions" }
        (one_more("partitions", "Look up a fleet", also))
        div #live {
            @if let Some(reason) = &view.unlisted { p.bad { "There may be other fleets than are shown here: " (reason) "." } }
            @if view.fleets.is_empty() { p.empty { "The store knows no fleet." } } @else {
                (table("Fleets", &["Fleet", "Partitions", "Processes"], &html! { @for it in &view.fleets { (fleet(it)) } }))
            }
            @match &view.shown {
                Some(shares) => (one(shares)),
                None if also.name.is_empty() => p.note { "Choose a fleet for its members and the owner of each partition." },
                None => p.empty { "No member of " (shown(&also.name, 200)) " is known." },
            }
        }
    }
}

fn fleet(view: &FleetView) -> Markup {
    html! {
        tr {
            th scope="row" { a.name href=(format!("partitions?name={}", in_query(&view.fleet))) { (view.fleet) } }
            @match &view.trouble {
                Some(trouble) => td colspan="2" { span.bad { (trouble) } },
                None => { td.number { (counted(view.partitions)) } td.number { (view.members) } },
            }
        }
    }
}

fn one(shares: &SharesView) -> Markup {
    let SharesView { fleet, members, unowned, partitions } = shares;
    let owned = || members.iter().map(|member| member.partitions);
    let member = |it: &MemberView| {
        html! {
            tr {
                th scope="row" { (shown(&it.member, 200)) }
                td { (given(it.endpoint.as_deref())) }
                td.number { (it.partitions) }
            }
        }
    };
    let partition = |it: &PartitionView| {
        html! {
            tr {
                th.number scope="row" { (it.partition) }
                td {
                    @match &it.owner { Some(owner) => (shown(owner, 200)), None => span.bad { "nobody" } }
                }
                td.number { (given(it.fence.map(|fence| fence.to_string()).as_deref())) }
                td.number { @if it.owner.is_some() { (known(it.owned_for)) } @else { (given(None)) } }
            }
        }
    };
    html! {
        section aria-labelledby="fleet" {
            h2 #fleet { (fleet) }
            dl.figures {
                div { dt { "Partitions" } dd { (partitions.len()) } }
                div { dt { "Members" } dd { (members.len()) } }
                div { dt { "Fewest and most of a member" } dd { (owned().min().unwrap_or(0)) " and " (owned().max().unwrap_or(0)) } }
                div { dt { "Owned by nobody" } dd { @if *unowned > 0 { span.bad { (unowned) } } @else { "0" } } }
            }
            (table("Members", &["Member", "Endpoint", "Partitions"], &html! { @for it in members { (member(it)) } }))
            (table("Owners of partitions", &["Partition", "Owner", "Fence", "Owned for"],
                &html! { @for it in partitions { (partition(it)) } }))
        }
    }
}
