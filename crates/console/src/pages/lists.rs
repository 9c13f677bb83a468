//! The other views: managers, elections, schedules, tuning.

use std::time::Duration;

use leasehold::Summary;
use maud::{Markup, html};

use super::{
    forms,
    parts::{counted, given, known, metadata, resource, span, table},
};
use crate::{
    model::{
        ElectionView, ManagersView, OwnLeaseView, ProcessView, ScheduleView, SchedulesView, SettingsView,
        TunerView, TuningView,
    },
    read::Also,
    view::shown,
};

pub(super) fn managers(view: &ManagersView) -> Markup {
    let ManagersView { statistics, held, held_in_all, waiting_in_all, processes } = view;
    let counters = [
        ("Requests", statistics.requests),
        ("Granted", statistics.granted),
        ("Refused", statistics.refused),
        ("Timed out", statistics.timed_out),
        ("Cancelled", statistics.cancelled),
        ("Failed", statistics.failed.values().sum()),
        ("Pending", statistics.pending),
        ("Lost", statistics.lost.values().sum()),
        ("Renewals", statistics.renewals),
        ("Missed renewals", statistics.missed_renewals),
        ("Near misses", statistics.near_misses),
        ("Restarts", statistics.manager_restarts),
    ];
    let lease = |lease: &OwnLeaseView| {
        html! {
            tr {
                th scope="row" { (resource(&lease.resource)) }
                td { code { (lease.token) } }
                td { (lease.mode.to_string()) }
                td.number { (span(lease.held_for)) }
                td.number { (span(lease.valid_for)) }
            }
        }
    };
    let process = |process: &ProcessView| {
        html! {
            tr {
                th scope="row" { (given(process.host.as_deref())) }
                td.number { (given(process.pid.as_deref())) }
                td.number { (process.holds) }
                td.number { (process.waits) }
            }
        }
    };
    html! {
        h1 { "Managers" }
        div #live {
            section aria-labelledby="own" {
                h2 #own { "The manager of this process" }
                dl.figures { @for (what, count) in counters { div { dt { (what) } dd { (count) } } } }
                p { (held_in_all) " leases are held here, " (waiting_in_all) " requests wait." }
                @if !held.is_empty() {
                    (table("Leases of this process, longest held first",
                        &["Resource", "Token", "Mode", "Held for", "Valid for"],
                        &html! { @for it in held { (lease(it)) } }))
                }
            }
            section aria-labelledby="others" {
                h2 #others { "Processes that hold and wait" }
                p.note {
                    "As they say of themselves, among the first holders and waiters of the resources that the console looks at: "
                    "those that somebody waits for. Others are not known here."
                }
                @if processes.is_empty() { p.empty { "None." } } @else {
                    (table("Processes", &["Host", "Process", "Holds", "Waits"],
                        &html! { @for it in processes { (process(it)) } }))
                }
            }
        }
    }
}

/// Returns the form by which one more name is shown.
pub(super) fn one_more(action: &str, what: &str, also: &Also) -> Markup {
    html! {
        form.search role="search" method="get" action=(action) {
            label for="name" { (what) }
            input #name name="name" type="search" value=(also.name) maxlength="1536" spellcheck="false";
            button type="submit" { "Show" }
        }
    }
}

pub(super) fn elections(views: &[ElectionView], also: &Also) -> Markup {
    let line = |view: &ElectionView| {
        let leader = view.leader.as_ref();
        let fence = leader.and_then(|leader| leader.fence).map(|fence| fence.to_string());
        html! {
            tr {
                th scope="row" { (resource(&view.resource)) }
                td {
                    @match (leader, &view.trouble) {
                        (Some(leader), _) => (metadata(&leader.who.metadata)),
                        (None, Some(trouble)) => span.bad { (trouble) },
                        (None, None) => "nobody leads",
                    }
                }
                td.number { (given(fence.as_deref())) }
                td.number { @if let Some(leader) = leader { (known(leader.age)) } @else { (given(None)) } }
                td.number { (counted(view.waiting)) }
                td { @if let Some(next) = view.candidates.first() { (next.who.in_short()) } @else { (given(None)) } }
            }
        }
    };
    html! {
        h1 { "Elections" }
        p.note { "Those that the application has named, and those with candidates that wait. Others can be looked up." }
        (one_more("elections", "Look up an election", also))
        div #live {
            @if views.is_empty() { p.empty { "None is known." } } @else {
                (table("Elections", &["Election", "Leader", "Fence", "Leads for", "Candidates that wait", "Next"],
                    &html! { @for view in views { (line(view)) } }))
            }
        }
    }
}

pub(super) fn schedules(views: &SchedulesView, also: &Also, may_change: bool) -> Markup {
    html! {
        h1 { "Schedules" }
        (one_more("schedules", "Look up a schedule", also))
        div #live {
            @match &views.unlisted {
                Some(reason) => p.bad { "There may be others than are shown here: " (reason) "." },
                None => {
                    @if views.schedules.is_empty() && views.unknown.is_empty() { p.empty { "The store knows none." } }
                },
            }
            @for it in &views.unknown { p.bad { (it.schedule) ": " (it.trouble) } }
            @for view in &views.schedules { (schedule(view, may_change)) }
        }
    }
}

fn schedule(view: &ScheduleView, may_change: bool) -> Markup {
    let ago = |span: Option<Duration>| html! { (known(span)) @if span.is_some() { " ago" } };
    html! {
        section aria-label=(view.schedule) {
            h2 { (resource(&view.schedule)) @if view.paused { " " span.mode { "paused" } } }
            p {
                (view.runs) " runs; last tick " (ago(view.last_tick_ago()))
                @if view.asked_at.is_some() { "; a run was asked for" }
            }
            @if may_change { (forms::of_schedule(&view.schedule, view.paused)) }
            @if !view.history.is_empty() {
                (table("Runs, the latest first", &["Run", "Started", "Took", "Outcome"], &html! {
                    @for run in &view.history {
                        tr {
                            th scope="row" {
                                (run.number)
                                @if run.asked { " (asked for)" }
                                @if run.attempt > 1 { " (attempt " (run.attempt) ")" }
                            }
                            td.number { (ago(view.since(run))) }
                            td.number { @if let Some(took) = run.took { (span(took)) } @else { (given(None)) } }
                            td {
                                (run.outcome.map_or_else(|| "goes on, or its process ended".to_owned(), |it| it.replace('_', " ")))
                                @if let Some(message) = &run.message { ": " (shown(message, 200)) }
                            }
                        }
                    }
                }))
            }
        }
    }
}

pub(super) fn tuning(view: &TuningView) -> Markup {
    let TuningView { settings, last_minute, last_hour, tuner } = view;
    html! {
        h1 { "Tuning" }
        div #live {
            section aria-labelledby="settings" {
                h2 #settings { "Settings of this manager" }
                (settings_of(settings))
            }
            section aria-labelledby="load" {
                h2 #load { "Load of this manager" }
                (table("Load", &["Window", "Requests", "Granted", "Success", "Lost", "Waits p50", "Waits p99", "Holds p50", "Holds p99"],
                    &html! { (load("last minute", last_minute)) (load("last hour", last_hour)) }))
            }
            section aria-labelledby="tuner" {
                h2 #tuner { "What the tuner did" }
                @if tuner.is_empty() {
                    p.empty { "Nothing so far, or no tuner tells this console." }
                } @else {
                    (table("Changes of the tuner, the latest first", &["When", "Rule", "Reason", "To"],
                        &html! { @for it in tuner { (tuned(it)) } }))
                }
            }
        }
    }
}

fn settings_of(settings: &SettingsView) -> Markup {
    html! {
        dl.figures {
            div { dt { "Pauses" } dd { (settings.backoff) } }
            div { dt { "Wait" } dd { (span(settings.wait)) } }
            div { dt { "Waiters for one resource" } dd { (settings.max_waiters) } }
        }
    }
}

fn load(window: &str, summary: &Summary) -> Markup {
    html! {
        tr {
            th scope="row" { (window) }
            td.number { (summary.requests) }
            td.number { (summary.granted) }
            td.number { (format!("{:.1} %", 100.0 * summary.success_rate())) }
            td.number { (summary.lost) }
            @for value in [summary.waited.p50, summary.waited.p99, summary.held_for.p50, summary.held_for.p99] {
                td.number { (span(Duration::from_micros(value))) }
            }
        }
    }
}

fn tuned(event: &TunerView) -> Markup {
    html! {
        tr {
            th scope="row" { (span(event.ago)) " ago" }
            td { (event.rule) @if event.dry_run { " (dry run)" } }
            td { (event.reason) }
            td { (settings_of(&event.to)) }
        }
    }
}
