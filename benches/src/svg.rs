//! A bar chart of throughput in shares of raw's, on a logarithmic scale, readable on light and dark ground.

use std::fmt::Write;

use crate::{lockers::Kind, summary::Summary};

const BAR: f64 = 14.0;
const GAP: f64 = 16.0;
const TOP: f64 = 56.0;
/// Where bars begin, how long the longest may be, and what is left for its figure.
const LEFT: f64 = 150.0;
const LENGTH: f64 = 480.0;
const RIGHT: f64 = 60.0;

/// The lines of the scale; the first is where bars begin, and the last where they end.
const SCALE: [f64; 7] = [0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0];

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.faint { fill: #57606a; font-size: 11px } .grid { stroke: #d0d7de } .one { stroke: #57606a }
.leasehold { fill: #0969da } .rslock { fill: #bf8700 } .redisson { fill: #8250df } .raw { fill: #6e7781 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #8d96a0 } .grid { stroke: #30363d } .one { stroke: #8d96a0 }
  .leasehold { fill: #4493f8 } .rslock { fill: #d29922 } .redisson { fill: #ab7df8 }
}";

/// The chart as the text of an SVG file. Renewed leases have no throughput and are left out.
pub(crate) fn chart(summaries: &[Summary]) -> String {
    let mut y = TOP;
    let mut bars = String::new();
    for summary in summaries.iter().filter(|summary| !summary.renewed) {
        let rows: Vec<_> = summary
            .lockers
            .iter()
            .filter(|row| row.locker != Kind::Raw)
            .filter_map(|row| Some((row.locker.name(), summary.ratio_to_raw(row)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let middle = y + BAR * rows.len() as f64 / 2.0 + 4.0;
        line(
            &mut bars,
            &format!(r#"<text x="{}" y="{middle}" text-anchor="end">{}</text>"#, LEFT - 10.0, summary.name),
        );
        for (locker, ratio) in rows {
            bar(&mut bars, y, locker, ratio);
            y += BAR;
        }
        y += GAP;
    }
    let (width, height) = (LEFT + LENGTH + RIGHT, y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"throughput in shares of raw\">\n<style>\n{STYLE}\n</style>\n\
         {}{}{bars}</svg>\n",
        legend(),
        grid(height),
    )
}

fn bar(bars: &mut String, y: f64, locker: &str, ratio: f64) {
    let end = position(ratio);
    let (width, height, text) = (end - LEFT, BAR - 2.0, y + BAR - 4.0);
    line(
        bars,
        &format!(
            r#"<rect class="{locker}" x="{LEFT}" y="{y}" width="{width:.1}" height="{height}"><title>{locker}: {ratio:.2} × raw</title></rect>"#
        ),
    );
    line(bars, &format!(r#"<text class="faint" x="{:.1}" y="{text}">{ratio:.2}</text>"#, end + 4.0));
}

fn legend() -> String {
    let mut text = String::new();
    line(&mut text, r#"<text x="10" y="18">turns a second, × raw redis-rs</text>"#);
    let lockers = Kind::ALL.into_iter().filter(|locker| *locker != Kind::Raw);
    for (place, locker) in lockers.enumerate() {
        let (x, name) = (260.0 + 110.0 * place as f64, locker.name());
        line(&mut text, &format!(r#"<rect class="{name}" x="{x}" y="8" width="12" height="12"/>"#));
        line(&mut text, &format!(r#"<text x="{}" y="18">{name}</text>"#, x + 18.0));
    }
    text
}

fn grid(height: f64) -> String {
    let mut text = String::new();
    for mark in SCALE {
        let (x, class) = (position(mark), if mark == 1.0 { "one" } else { "grid" });
        line(
            &mut text,
            &format!(
                r#"<line class="{class}" x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{}"/>"#,
                TOP - 8.0,
                height - GAP / 2.0
            ),
        );
        line(
            &mut text,
            &format!(
                r#"<text class="faint" x="{x:.1}" y="{}" text-anchor="middle">{mark}</text>"#,
                TOP - 12.0
            ),
        );
    }
    text
}

/// Where a ratio ends; what lies outside of the scale ends at its edge.
fn position(ratio: f64) -> f64 {
    let (least, most) = (SCALE[0], SCALE[SCALE.len() - 1]);
    LEFT + LENGTH * (ratio.clamp(least, most) / least).ln() / (most / least).ln()
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_logarithmic_and_has_edges() {
        assert_eq!(position(1.0), LEFT + LENGTH / 2.0);
        assert_eq!([position(0.0), position(1e6)], [LEFT, LEFT + LENGTH]);
    }
}
