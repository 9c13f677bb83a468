//! The distributions of waits as a picture, readable on light and dark ground.

use std::fmt::Write;

use leasehold_tuning::Report;

use super::figures::time;
use leasehold_console::view::printable;

pub(super) const LEFT: f64 = 60.0;
pub(super) const TOP: f64 = 30.0;
const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 260.0;
pub(super) const LINE: f64 = 18.0;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f } .faint { fill: #57606a; font-size: 11px }
.grid { stroke: #d0d7de } path { fill: none; stroke-width: 2 } .c0 { stroke: #0969da } .c1 { stroke: #bf8700 }
.t0, .d0 { fill: #0969da } .t1, .d1 { fill: #bf8700 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #8d96a0 } .grid { stroke: #30363d }
  .c0 { stroke: #4493f8 } .c1 { stroke: #d29922 } .t0, .d0 { fill: #4493f8 } .t1, .d1 { fill: #d29922 }
}";

/// Returns the text of an SVG file: for each wait on a logarithmic scale the share of all requests that were granted within
/// it. A curve ends at the success rate.
pub(crate) fn picture(reports: &[&Report]) -> String {
    let scale = Scale::of(reports.iter().flat_map(|report| &report.waited.percentiles).copied());
    let mut inner = String::new();
    scale.grid(&mut inner, (0.0, 1.0));
    for (number, report) in reports.iter().enumerate() {
        curve(&mut inner, &scale, number, report);
    }
    document("share of all requests that were granted within a wait", reports.len(), &inner)
}

/// Returns the text of an SVG file with this title, and so many lines below the picture.
pub(super) fn document(title: &str, lines: usize, inner: &str) -> String {
    let (width, height) = (LEFT + WIDTH + 20.0, TOP + HEIGHT + 40.0 + LINE * lines as f64);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE}\n</style>\n\
         <text x=\"{LEFT}\" y=\"16\">{title}</text>\n{inner}</svg>\n"
    )
}

/// The powers of ten between which waits lie.
pub(super) struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// Returns the scale of these waits, in microseconds.
    pub(super) fn of(waits: impl Iterator<Item = f64>) -> Self {
        let waits = waits.map(|wait| wait.max(1.0));
        let (least, most) = waits.fold((f64::MAX, 1.0), |(least, most), it| (it.min(least), it.max(most)));
        Self { from: least.min(most).log10().floor(), to: most.log10().ceil().max(1.0) }
    }

    /// Returns the first wait of the scale.
    pub(super) fn first(&self) -> f64 {
        10.0_f64.powf(self.from)
    }

    /// Returns the last wait of the scale.
    pub(super) fn last(&self) -> f64 {
        10.0_f64.powf(self.to)
    }

    /// Returns the place of a wait on the scale, 0 to 1.
    pub(super) fn share(&self, micros: f64) -> f64 {
        let span = (self.to - self.from).max(1.0);
        ((micros.max(1.0).log10() - self.from) / span).clamp(0.0, 1.0)
    }

    pub(super) fn x(&self, micros: f64) -> f64 {
        LEFT + WIDTH * self.share(micros)
    }

    /// Draws the lines of the scale, and those of these shares from the lower edge to the upper one.
    pub(super) fn grid(&self, text: &mut String, (low, high): (f64, f64)) {
        for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let (y, right) = (y(part), LEFT + WIDTH);
            line(text, &format!(r#"<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1}" y2="{y:.1}"/>"#));
            let (x, y, percent) = (LEFT - 8.0, y + 4.0, (low + (high - low) * part) * 100.0);
            let percent = (percent * 10.0).round() / 10.0;
            line(
                text,
                &format!(r#"<text class="faint" x="{x}" y="{y:.1}" text-anchor="end">{percent} %</text>"#),
            );
        }
        let mut power = self.from;
        while power <= self.to {
            let micros = 10.0_f64.powf(power);
            let (x, top, bottom) = (self.x(micros), TOP, TOP + HEIGHT);
            line(text, &format!(r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{top}" y2="{bottom}"/>"#));
            let (y, label) = (bottom + 16.0, time(micros));
            line(
                text,
                &format!(r#"<text class="faint" x="{x:.1}" y="{y}" text-anchor="middle">{label}</text>"#),
            );
            power += 1.0;
        }
    }
}

fn y(share: f64) -> f64 {
    TOP + HEIGHT * (1.0 - share)
}

fn curve(text: &mut String, scale: &Scale, number: usize, report: &Report) {
    let colour = number % 2;
    let waits = &report.waited.percentiles;
    let points = waits.iter().enumerate().map(|(percent, wait)| {
        let share = report.success_rate * percent as f64 / 100.0;
        format!("{:.1},{:.1}", scale.x(*wait), y(share))
    });
    let path = points.collect::<Vec<_>>().join(" L");
    if !path.is_empty() {
        line(text, &format!(r#"<path class="c{colour}" d="M{path}"/>"#));
    }
    let at = TOP + HEIGHT + 36.0 + LINE * number as f64;
    let (p50, p99) = (time(report.waited.p50), time(report.waited.p99));
    let (name, rate) = (escaped(&report.name), report.success_rate * 100.0);
    line(
        text,
        &format!(
            r#"<text class="t{colour}" x="{LEFT}" y="{at}">{name}: {rate:.1} % granted, p50 {p50}, p99 {p99}</text>"#
        ),
    );
}

/// Returns a name as it may stand in XML, which has no control characters, not even as references.
pub(super) fn escaped(name: &str) -> String {
    printable(name).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_placed_on_a_logarithmic_scale_and_names_are_escaped() {
        let scale = Scale { from: 2.0, to: 4.0 };
        assert_eq!([100.0, 1_000.0, 1e9].map(|it| scale.x(it)), [LEFT, LEFT + WIDTH / 2.0, LEFT + WIDTH]);
        assert_eq!(escaped("a<b & c"), "a&lt;b &amp; c");
        assert_eq!(escaped("\u{1b}[31m\u{0}\u{fffe}\n"), "\\u{1b}[31m\\0\\u{fffe}\\n");
    }
}
