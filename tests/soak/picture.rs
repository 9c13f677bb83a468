//! The picture of a soak: load, faults, losses, memory and open files on one axis of time, readable on light and dark ground.

use std::fmt::Write;

use super::{fault::Fault, report::Facts, stage::locked};

const WIDTH: f64 = 1_100.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;
/// The height of a panel, and what is left above it.
const PANEL: f64 = 120.0;
const GAP: f64 = 34.0;
const LANE: f64 = 16.0;
/// Into how many parts the time is cut.
const PARTS: usize = 240;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.faint { fill: #57606a; font-size: 11px } .grid { stroke: #d0d7de } polyline { fill: none; stroke-width: 1.3 }
.t0 { stroke: #0969da; fill: #0969da } .t1 { stroke: #1a7f37; fill: #1a7f37 } .t2 { stroke: #bf8700; fill: #bf8700 }
.t3 { stroke: #8250df; fill: #8250df } polyline.t0, polyline.t1, polyline.t2, polyline.t3 { fill: none }
rect { stroke: none } .killed { fill: #cf222e } .frozen { fill: #54aeff } .moved { fill: #6e7781 } .clock { fill: #bf8700 }
.net { fill: #8250df } .burst { fill: #2da44e } .client { fill: #e85aad } .again { opacity: 0.3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #8d96a0 } .grid { stroke: #30363d }
  .t0 { stroke: #4493f8; fill: #4493f8 } .t1 { stroke: #3fb950; fill: #3fb950 } .t2 { stroke: #d29922; fill: #d29922 }
  .t3 { stroke: #ab7df8; fill: #ab7df8 }
}";

/// One of each color of faults.
const LEGEND: [(Fault, &str); 7] = [
    (Fault::Killed, "killed"),
    (Fault::Frozen, "frozen"),
    (Fault::FailedOver, "failed over"),
    (Fault::Clock, "clock"),
    (Fault::Slow, "network"),
    (Fault::Burst, "burst"),
    (Fault::ClientFrozen, "client frozen"),
];

/// The picture as the text of an SVG file.
pub(super) fn of(facts: &Facts<'_>) -> String {
    let seconds = facts.seconds().max(1);
    let mut picture = Picture { body: String::new(), y: TOP, seconds };
    let (mut grants, mut losses, mut memory, mut files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (class, stage) in facts.stages.iter().enumerate() {
        let ledger = locked(&stage.ledger);
        let of = |value: fn(&super::totals::Second) -> u32| {
            let values = ledger.seconds.iter().map(|second| f64::from(value(second)));
            (class, stage.name, values.collect::<Vec<_>>())
        };
        grants.push(of(|second| second.grants));
        losses.push(of(|second| second.losses));
        for samples in locked(&stage.samples).iter() {
            let all = || samples.0.iter();
            memory.push((class, stage.name, all().map(|it| it.memory as f64 / 1_024.0).collect()));
            files.push((class, stage.name, all().map(|it| it.files as f64).collect()));
        }
    }
    picture.legend(facts);
    picture.panel("leases granted a second", &grants);
    picture.faults(facts);
    picture.panel("leases lost a second", &losses);
    picture.panel("memory of each process, MiB", &memory);
    picture.panel("open files of each process", &files);
    let height = picture.y + 10.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"load, faults, losses, memory and open files of a soak\">\n<style>\n{STYLE}\n</style>\n{}</svg>\n",
        picture.body
    )
}

/// A line of values, one a second, with the number and the name of its topology.
type Line = (usize, &'static str, Vec<f64>);

struct Picture {
    body: String,
    y: f64,
    seconds: usize,
}

impl Picture {
    fn add(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{line}");
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (second / self.seconds as f64).clamp(0.0, 1.0)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        self.add(&format!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    fn bar(&mut self, class: &str, [x, y, width, height]: [f64; 4], title: &str) {
        self.add(&format!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{title}</title></rect>"#
        ));
    }

    fn legend(&mut self, facts: &Facts<'_>) {
        for (class, stage) in facts.stages.iter().enumerate() {
            let x = LEFT + 150.0 * class as f64;
            self.bar(&format!("t{class}"), [x, 8.0, 12.0, 12.0], stage.name);
            self.text("", x + 18.0, 18.0, "start", stage.name);
        }
        for (place, (fault, name)) in LEGEND.into_iter().enumerate() {
            let x = LEFT + 110.0 * place as f64;
            self.bar(fault.color(), [x, 30.0, 12.0, 12.0], name);
            self.text("faint", x + 18.0, 40.0, "start", name);
        }
    }

    /// The marks of time below a panel.
    fn axis(&mut self, top: f64, bottom: f64) {
        for part in 0..=6 {
            let second = self.seconds as f64 * f64::from(part) / 6.0;
            let x = self.x(second);
            self.add(&format!(
                r#"<line class="grid" x1="{x:.1}" y1="{top:.1}" x2="{x:.1}" y2="{bottom:.1}"/>"#
            ));
            let words = if self.seconds >= 600 {
                format!("{:.0} min", second / 60.0)
            } else {
                format!("{second:.0} s")
            };
            self.text("faint", x, bottom + 12.0, "middle", &words);
        }
    }

    fn panel(&mut self, name: &str, lines: &[Line]) {
        self.y += GAP;
        let (top, bottom) = (self.y, self.y + PANEL);
        let parts: Vec<_> = lines.iter().map(|(.., values)| self.parts(values)).collect();
        let most = parts.iter().flatten().copied().fold(1.0, f64::max);
        self.text("", LEFT, top - 6.0, "start", name);
        self.axis(top, bottom);
        self.text("faint", LEFT - 8.0, top + 8.0, "end", &format!("{most:.0}"));
        self.text("faint", LEFT - 8.0, bottom, "end", "0");
        for ((class, name, _), values) in lines.iter().zip(parts) {
            let width = self.seconds as f64 / values.len().max(1) as f64;
            let mut points = String::new();
            for (part, value) in values.iter().enumerate() {
                let (x, y) = (self.x((part as f64 + 0.5) * width), bottom - PANEL * value / most);
                let _ = write!(points, "{x:.1},{y:.1} ");
            }
            self.add(&format!(
                r#"<polyline class="t{class}" points="{}"><title>{name}</title></polyline>"#,
                points.trim_end()
            ));
        }
        self.y = bottom + 10.0;
    }

    /// The means of the parts of the time.
    fn parts(&self, values: &[f64]) -> Vec<f64> {
        let count = PARTS.min(self.seconds);
        let part = |number: usize| {
            let (from, until) = (number * self.seconds / count, (number + 1) * self.seconds / count);
            let values = values.get(from..until.min(values.len())).unwrap_or_default();
            values.iter().sum::<f64>() / (until - from).max(1) as f64
        };
        (0..count).map(part).collect()
    }

    fn faults(&mut self, facts: &Facts<'_>) {
        self.y += GAP;
        let top = self.y;
        self.text("", LEFT, top - 6.0, "start", "faults, and until everything was granted again (pale)");
        let bottom = top + LANE * facts.stages.len() as f64;
        self.axis(top, bottom);
        for (lane, stage) in facts.stages.iter().enumerate() {
            let y = top + LANE * lane as f64;
            self.text("faint", LEFT - 8.0, y + 12.0, "end", stage.name);
            for it in locked(&stage.suffered).iter() {
                let at = |micros: u64| micros.saturating_sub(facts.began) as f64 / 1e6;
                let [from, until, again] =
                    [it.from, it.until, it.until + it.again].map(|end| self.x(at(end)));
                let title = format!(
                    "{} at {:.0} s: {:.1} s, again after {:.1} s, {} lost. {}",
                    it.fault.name(),
                    at(it.from),
                    (it.until - it.from) as f64 / 1e6,
                    it.again as f64 / 1e6,
                    it.lost,
                    it.words
                );
                let (color, height) = (it.fault.color(), LANE - 3.0);
                self.bar(&format!("{color} again"), [until, y + 1.0, again - until, height], &title);
                self.bar(color, [from, y + 1.0, (until - from).max(1.5), height], &title);
            }
        }
        self.y = bottom + 10.0;
    }
}
