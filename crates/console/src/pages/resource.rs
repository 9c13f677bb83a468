//! One resource: its holders, its waiters, its timeline, and what may be done.

use maud::{Markup, html};

use super::{
    forms,
    parts::{given, known, metadata, span, table},
    timeline,
};
use crate::{
    model::{ChangeView, ResourceAnswer},
    view::{HolderView, WaiterView},
};

pub(super) fn body(answer: &ResourceAnswer, may_change: bool) -> Markup {
    let ResourceAnswer { view, timeline, changes } = answer;
    html! {
        h1 { span.label { "Resource " } span.name { (view.resource) } }
        div #live {
            section aria-labelledby="holders" {
                h2 #holders { "Holders" }
                @if view.holders.is_empty() {
                    p.empty { "Nobody holds it." }
                } @else {
                    (table("Holders, those that end first", HOLDERS, &html! { @for holder in &view.holders { (held(holder)) } }))
                    (beyond(view.holders.len(), view.total))
                }
            }
            section aria-labelledby="waiters" {
                h2 #waiters { "Waiters" }
                @if view.waiting.is_none() {
                    p.empty { "This store keeps no queues (the plain layout): nobody knows who waits." }
                } @else if view.waiting == Some(0) {
                    p.empty { "Nobody waits." }
                } @else {
                    (table("Waiters, in the order of the queue", WAITERS, &html! { @for waiter in &view.waiters { (waits(waiter)) } }))
                    (beyond(view.waiters.len(), view.waiting.unwrap_or_default()))
                }
            }
            (timeline::section(timeline))
            (self::changes(changes))
        }
        @if may_change { (forms::of_resource(&view.resource)) }
    }
}

const HOLDERS: &[&str] = &["Token", "Mode", "Owner", "Fence", "Held for", "Time left", "Says of itself"];
const WAITERS: &[&str] = &["Place", "Token", "Mode", "Owner", "Waits for", "Says of itself"];

fn held(holder: &HolderView) -> Markup {
    let fence = holder.fence.map(|fence| fence.to_string());
    html! {
        tr {
            th scope="row" { code { (holder.who.token) } }
            td { (holder.who.mode.to_string()) @if !holder.is_holding() { " " span.unknown { "(over; keeps it closed)" } } }
            td { (given(holder.who.owner.as_deref())) }
            td.number { (given(fence.as_deref())) }
            td.number { (known(holder.age)) }
            td.number { (span(holder.left)) }
            td { (metadata(&holder.who.metadata)) }
        }
    }
}

fn waits(waiter: &WaiterView) -> Markup {
    html! {
        tr {
            th.number scope="row" { (waiter.position) }
            td { code { (waiter.who.token) } }
            td { (waiter.who.mode.to_string()) }
            td { (given(waiter.who.owner.as_deref())) }
            td.number { (known(waiter.waited)) }
            td { (metadata(&waiter.who.metadata)) }
        }
    }
}

fn beyond(shown: usize, all: u64) -> Markup {
    html! {
        @if all > shown as u64 { p.note { (shown) " of " (all) " are shown." } }
    }
}

fn changes(changes: &[ChangeView]) -> Markup {
    let line = |change: &ChangeView| {
        html! {
            tr {
                th scope="row" { (change.what) }
                td { (change.who) }
                td.number { (span(change.ago)) " ago" }
                td { (change.outcome.as_deref().unwrap_or("goes on")) }
            }
        }
    };
    html! {
        @if !changes.is_empty() {
            section aria-labelledby="changes" {
                h2 #changes { "Changes from this console" }
                (table("Changes, the latest first", &["What", "Who", "When", "Outcome"], &html! {
                    @for change in changes { (line(change)) }
                }))
            }
        }
    }
}
