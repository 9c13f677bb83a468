//! The timeline of a resource as a picture: who held it, who waited, and when nobody looked.

use maud::{Markup, html};

use super::parts::{given, span, table};
use crate::model::{SpanView, TimelineView};

/// The largest number of rows for holders, and for waiters.
const ROWS: usize = 8;
/// The height of a row and of a bar in it, and the room above them.
const ROW: usize = 22;
const BAR: usize = 18;
const TOP: usize = 20;
/// The shortest time that the picture is about, and the longest.
const SHORTEST: u64 = 30_000;
const LONGEST: u64 = 15 * 60_000;
/// The number of labels on the axis, less one.
const TICKS: u64 = 4;

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
                "As seen by this console, once a second, first " (span(first.from_ms_ago)) " ago. "
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

fn bars(view: &TimelineView) -> (Vec<Bar<'_>>, Vec<Bar<'_>>) {
    let holds = view.holds.iter().map(|hold| Bar {
        class: "hold",
        who: &hold.who,
        span: hold.span,
        goes_on: hold.goes_on,
    });
    let waits = view.waits.iter().map(|wait| Bar {
        class: "wait",
        who: &wait.who,
        span: wait.span,
        goes_on: wait.goes_on,
    });
    (holds.collect(), waits.collect())
}

/// Puts each bar in the first row that is free for it. Returns the rows, and the number of bars that found none.
fn rows<'a, 'b>(bars: &'b [Bar<'a>]) -> (Vec<Vec<&'b Bar<'a>>>, usize) {
    let (mut rows, mut without) = (Vec::<Vec<&Bar>>::new(), 0);
    // The latest first: they are what somebody looks for.
    for bar in bars.iter().rev() {
        let is_free =
            |row: &Vec<&Bar>| row.last().is_none_or(|last| last.span.from_ms_ago <= bar.span.until_ms_ago);
        match rows.iter().position(is_free) {
            Some(at) => rows[at].push(bar),
            None if rows.len() < ROWS => rows.push(vec![bar]),
            None => without += 1,
        }
    }
    (rows, without)
}

fn picture(view: &TimelineView) -> Markup {
    let (holds, waits) = bars(view);
    let ((held, more_holds), (waited, more_waits)) = (rows(&holds), rows(&waits));
    let spans = view.looked.iter().chain(holds.iter().chain(&waits).map(|bar| &bar.span));
    let length = spans.map(|span| span.from_ms_ago).max().unwrap_or_default().clamp(SHORTEST, LONGEST);
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
                    rect x=(place(gap.from_ms_ago, length)) y=(TOP) width=(width(gap, length))
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
fn gaps(view: &TimelineView, length: u64) -> Vec<SpanView> {
    let ends = view.looked.iter().map(|looked| looked.until_ms_ago);
    let begins = view.looked.iter().map(|looked| looked.from_ms_ago);
    // Before the first look, between each two, and behind the last one if no other followed.
    let now = (!view.goes_on).then_some(0);
    let between = [length].into_iter().chain(ends).zip(begins.chain(now));
    let gaps = between.map(|(from_ms_ago, until_ms_ago)| SpanView { from_ms_ago, until_ms_ago });
    gaps.filter(|gap| gap.from_ms_ago > gap.until_ms_ago).collect()
}

fn drawn(bar: &Bar<'_>, y: usize, length: u64) -> Markup {
    let Bar { class, who, span: seen, goes_on } = bar;
    let verb = if *class == "hold" { "held" } else { "waited" };
    let until =
        if *goes_on { "until now".to_owned() } else { format!("last seen {} ago", span(seen.until_ms_ago)) };
    let x = place(seen.from_ms_ago, length);
    html! {
        g class=(class) {
            title { (who) " " (verb) " from " (span(seen.from_ms_ago)) " ago, " (until) }
            rect x=(x) y=(y) width=(width(seen, length)) height=(BAR) rx="2" {}
            // A svg of its own cuts the text off where the bar ends.
            svg x=(x) y=(y) width=(width(seen, length)) height=(BAR) { text x="4" y="13" { (who) } }
        }
    }
}

fn axis(length: u64, height: usize) -> Markup {
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
fn place(ago: u64, length: u64) -> String {
    let ago = ago.min(length);
    format!("{:.2}%", 100.0 * (length - ago) as f64 / length as f64)
}

fn width(seen: &SpanView, length: u64) -> String {
    let span = seen.from_ms_ago.min(length).saturating_sub(seen.until_ms_ago);
    // What was seen once is seen in the picture too.
    format!("{:.2}%", (100.0 * span as f64 / length as f64).max(0.3))
}

fn as_table(view: &TimelineView) -> Markup {
    let line = |what: &str,
                who: &str,
                token: &str,
                mode: &str,
                fence: Option<u64>,
                seen: &SpanView,
                goes_on: bool| {
        let fence = fence.map(|fence| fence.to_string());
        html! {
            tr {
                th scope="row" { (who) }
                td { (what) }
                td { (mode) }
                td { code { (token) } }
                td.number { (given(fence.as_deref())) }
                td.number { (span(seen.from_ms_ago)) " ago" }
                td.number { @if goes_on { "goes on" } @else { (span(seen.until_ms_ago)) " ago" } }
            }
        }
    };
    let columns = &["Who", "What", "Mode", "Token", "Fence", "From", "Last seen"];
    table(
        "Holds and waits that were seen, the latest first",
        columns,
        &html! {
            @for it in view.holds.iter().rev() { (line("held", &it.who, &it.token, it.mode, it.fence, &it.span, it.goes_on)) }
            @for it in view.waits.iter().rev() { (line("waited", &it.who, &it.token, it.mode, None, &it.span, it.goes_on)) }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(from_ms_ago: u64, until_ms_ago: u64) -> Bar<'static> {
        Bar { class: "hold", who: "w", span: SpanView { from_ms_ago, until_ms_ago }, goes_on: false }
    }

    #[test]
    fn bars_that_overlap_have_rows_of_their_own() {
        let bars = [bar(9, 6), bar(7, 3), bar(5, 2), bar(2, 0)];
        let (rows, without) = rows(&bars);
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|bar| bar.span.from_ms_ago).collect()).collect();
        assert_eq!((rows, without), (vec![vec![2, 5, 9], vec![7]], 0));
        let many: Vec<_> = (0..ROWS + 3).map(|_| bar(5, 1)).collect();
        assert_eq!(super::rows(&many).1, 3);
    }

    #[test]
    fn the_time_before_the_first_look_between_two_and_behind_the_last_is_a_gap() {
        let looked = vec![
            SpanView { from_ms_ago: 20_000, until_ms_ago: 15_000 },
            SpanView { from_ms_ago: 5_000, until_ms_ago: 0 },
        ];
        let view = TimelineView { looked, goes_on: true, ..TimelineView::default() };
        let gaps = |view: &TimelineView| -> Vec<_> {
            gaps(view, 30_000).iter().map(|gap| (gap.from_ms_ago, gap.until_ms_ago)).collect()
        };
        assert_eq!(gaps(&view), [(30_000, 20_000), (15_000, 5_000)]);
        let looked = vec![SpanView { from_ms_ago: 20_000, until_ms_ago: 15_000 }];
        let view = TimelineView { looked, ..TimelineView::default() };
        assert_eq!(gaps(&view), [(30_000, 20_000), (15_000, 0)]);
    }

    #[test]
    fn a_moment_before_the_picture_is_at_its_beginning() {
        assert_eq!(
            (place(90_000, 30_000), place(15_000, 30_000), place(0, 30_000)),
            ("0.00%".into(), "50.00%".into(), "100.00%".into())
        );
        assert_eq!(width(&SpanView { from_ms_ago: 90_000, until_ms_ago: 15_000 }, 30_000), "50.00%");
    }
}
