//! The timeline of a resource as a picture: who held it, who waited, and when nobody looked.

use std::time::Duration;

use maud::{Markup, html};

use super::parts::{given, span, table};
use crate::model::{SpanView, TimelineView, WaitView};

/// The largest number of rows for holders, and for waiters.
const ROWS: usize = 8;
/// The height of a row and of a bar in it, and the room above them.
const ROW: usize = 22;
const BAR: usize = 18;
const TOP: usize = 20;
/// The shortest time that the picture is about, and the longest.
const SHORTEST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// The number of labels on the axis, less one.
const TICKS: u32 = 4;

/// Returns the section of a resource's page.
pub(super) fn section(view: &TimelineView) -> Markup {
    let Some(first) = view.looked.first() else {
        return html! {
            section aria-labelledby="timeline" {
                h2 #timeline { "Timeline" }
                p.empty { "The console has not looked at this resource until now. From now on it does, once a second, for a while." }
            }
        };
    };
    html! {
        section aria-labelledby="timeline" {
            h2 #timeline { "Timeline" }
            p.note {
                "As seen by this console, once a second, first " (span(first.from_ago)) " ago. "
                "What began and ended between two looks is not in it, and nothing is known of the hatched times."
            }
            (picture(view))
            p.legend aria-hidden="true" {
                span.key.hold {} " holds " span.key.wait {} " waits " span.key.gap {} " nobody looked"
            }
            details { summary { "The same as a table" } (as_table(view)) }
        }
    }
}

/// A bar of the picture.
struct Bar<'a> {
    class: &'static str,
    who: &'a str,
    span: SpanView,
    goes_on: bool,
}

impl<'a> Bar<'a> {
    fn of(class: &'static str, WaitView { who, span, goes_on, .. }: &'a WaitView) -> Self {
        Self { class, who, span: *span, goes_on: *goes_on }
    }
}

/// Puts each bar in the first row that is free for it. Returns the rows, and the number of bars that found none.
fn rows<'a, 'b>(bars: &'b [Bar<'a>]) -> (Vec<Vec<&'b Bar<'a>>>, usize) {
    let (mut rows, mut without) = (Vec::<Vec<&Bar>>::new(), 0);
    // The latest first: they are what somebody looks for.
    for bar in bars.iter().rev() {
        let is_free =
            |row: &Vec<&Bar>| row.last().is_none_or(|last| last.span.from_ago <= bar.span.until_ago);
        match rows.iter().position(is_free) {
            Some(at) => rows[at].push(bar),
            None if rows.len() < ROWS => rows.push(vec![bar]),
            None => without += 1,
        }
    }
    (rows, without)
}

fn picture(view: &TimelineView) -> Markup {
    let holds: Vec<_> = view.holds.iter().map(|hold| Bar::of("hold", &hold.stay)).collect();
    let waits: Vec<_> = view.waits.iter().map(|wait| Bar::of("wait", wait)).collect();
    let ((held, more_holds), (waited, more_waits)) = (rows(&holds), rows(&waits));
    let spans = view.looked.iter().chain(holds.iter().chain(&waits).map(|bar| &bar.span));
    let length = spans.map(|span| span.from_ago).max().unwrap_or_default().clamp(SHORTEST, LONGEST);
    let gaps = gaps(view, length);
    let height = TOP + ROW * (held.len() + waited.len()).max(1) + ROW;
    let label = format!(
        "Timeline of the last {}: {} holds and {} waits were seen",
        span(length),
        holds.len(),
        waits.len()
    );
    html! {
        div.scroll tabindex="0" role="region" aria-label="Timeline" {
            svg.timeline role="img" aria-label=(label) width="100%" height=(height) {
                defs {
                    pattern #hatch width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                        rect.hatch width="2" height="6" {}
                    }
                }
                @for gap in &gaps {
                    rect x=(place(gap.from_ago, length)) y=(TOP) width=(width(gap, length))
                        height=(height - TOP - ROW) fill="url(#hatch)" { title { "nobody looked" } }
                }
                (axis(length, height))
                @for (at, row) in held.iter().chain(&waited).enumerate() {
                    @for bar in row { (drawn(bar, TOP + ROW * at, length)) }
                }
            }
        }
        @if more_holds + more_waits > 0 {
            p.note { (more_holds) " holds and " (more_waits) " waits are in the table alone." }
        }
    }
}

/// Returns the spans within the picture in which nobody looked.
fn gaps(view: &TimelineView, length: Duration) -> Vec<SpanView> {
    let ends = view.looked.iter().map(|looked| looked.until_ago);
    let begins = view.looked.iter().map(|looked| looked.from_ago);
    // Before the first look, between each two, and behind the last one if no other followed.
    let now = (!view.goes_on).then_some(Duration::ZERO);
    let between = [length].into_iter().chain(ends).zip(begins.chain(now));
    let gaps = between.map(|(from_ago, until_ago)| SpanView { from_ago, until_ago });
    gaps.filter(|gap| gap.from_ago > gap.until_ago).collect()
}

fn drawn(bar: &Bar<'_>, y: usize, length: Duration) -> Markup {
    let Bar { class, who, span: seen, goes_on } = bar;
    let verb = if *class == "hold" { "held" } else { "waited" };
    let until =
        if *goes_on { "until now".to_owned() } else { format!("last seen {} ago", span(seen.until_ago)) };
    let x = place(seen.from_ago, length);
    html! {
        g class=(class) {
            title { (who) " " (verb) " from " (span(seen.from_ago)) " ago, " (until) }
            rect x=(x) y=(y) width=(width(seen, length)) height=(BAR) rx="2" {}
            // A svg of its own cuts the text off where the bar ends.
            svg x=(x) y=(y) width=(width(seen, length)) height=(BAR) { text x="4" y="13" { (who) } }
        }
    }
}

fn axis(length: Duration, height: usize) -> Markup {
    html! {
        g.axis {
            @for at in 0..=TICKS {
                @let ago = length * (TICKS - at) / TICKS;
                @let anchor = match at { 0 => "start", TICKS => "end", _ => "middle" };
                line x1=(place(ago, length)) x2=(place(ago, length)) y1=(TOP) y2=(height - ROW) {}
                text x=(place(ago, length)) y="13" text-anchor=(anchor) {
                    @if at == TICKS { "now" } @else { (span(ago)) " ago" }
                }
            }
        }
    }
}

/// Returns the place of a moment on the axis.
fn place(ago: Duration, length: Duration) -> String {
    let ago = ago.min(length);
    format!("{:.2}%", 100.0 * (length - ago).div_duration_f64(length))
}

fn width(seen: &SpanView, length: Duration) -> String {
    let span = seen.from_ago.min(length).saturating_sub(seen.until_ago);
    // What was seen once is seen in the picture too.
    format!("{:.2}%", (100.0 * span.div_duration_f64(length)).max(0.3))
}

fn as_table(view: &TimelineView) -> Markup {
    let line = |what: &str, fence: Option<u64>, stay: &WaitView| {
        let fence = fence.map(|fence| fence.to_string());
        html! {
            tr {
                th scope="row" { (stay.who) }
                td { (what) }
                td { (stay.mode.as_str()) }
                td { code { (stay.token) } }
                td.number { (given(fence.as_deref())) }
                td.number { (span(stay.span.from_ago)) " ago" }
                td.number { @if stay.goes_on { "goes on" } @else { (span(stay.span.until_ago)) " ago" } }
            }
        }
    };
    let columns = &["Who", "What", "Mode", "Token", "Fence", "From", "Last seen"];
    table(
        "Holds and waits that were seen, the latest first",
        columns,
        &html! {
            @for hold in view.holds.iter().rev() { (line("held", hold.fence, &hold.stay)) }
            @for wait in view.waits.iter().rev() { (line("waited", None, wait)) }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn seen(from: u64, until: u64) -> SpanView {
        SpanView { from_ago: s(from), until_ago: s(until) }
    }

    fn bar(from: u64, until: u64) -> Bar<'static> {
        Bar { class: "hold", who: "w", span: seen(from, until), goes_on: false }
    }

    #[test]
    fn bars_that_overlap_have_rows_of_their_own() {
        let bars = [bar(9, 6), bar(7, 3), bar(5, 2), bar(2, 0)];
        let (rows, without) = rows(&bars);
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|bar| bar.span.from_ago.as_secs()).collect()).collect();
        assert_eq!((rows, without), (vec![vec![2, 5, 9], vec![7]], 0));
        let many: Vec<_> = (0..ROWS + 3).map(|_| bar(5, 1)).collect();
        assert_eq!(super::rows(&many).1, 3);
    }

    #[test]
    fn the_time_before_the_first_look_between_two_and_behind_the_last_is_a_gap() {
        let looked = vec![seen(20, 15), seen(5, 0)];
        let view = TimelineView { looked, goes_on: true, ..TimelineView::default() };
        let gaps = |view: &TimelineView| -> Vec<_> {
            gaps(view, s(30)).iter().map(|gap| (gap.from_ago.as_secs(), gap.until_ago.as_secs())).collect()
        };
        assert_eq!(gaps(&view), [(30, 20), (15, 5)]);
        let looked = vec![seen(20, 15)];
        let view = TimelineView { looked, ..TimelineView::default() };
        assert_eq!(gaps(&view), [(30, 20), (15, 0)]);
    }

    #[test]
    fn a_moment_before_the_picture_is_at_its_beginning() {
        assert_eq!(
            (place(s(90), s(30)), place(s(15), s(30)), place(s(0), s(30))),
            ("0.00%".into(), "50.00%".into(), "100.00%".into())
        );
        assert_eq!(width(&seen(90, 15), s(30)), "50.00%");
    }
}
