//! The front of what cannot be had together, as a picture and for a terminal: success over the longest waits.

use leasehold_tuning::{Prediction, Recommendation};

use super::super::{
    figures::time,
    svg::{HEIGHT, LEFT, LINE, Scale, TOP, document, escaped, line},
};

/// The size of the picture for a terminal, in characters.
const COLUMNS: usize = 66;
const ROWS: usize = 12;

/// Returns the letter of a setting on the front.
pub(super) fn mark(place: usize) -> char {
    ('a'..='z').nth(place).unwrap_or('*')
}

/// The range of success that is shown, from a round share up to all.
fn least_success(found: &Recommendation) -> f64 {
    let least = all(found).map(|(_, it)| it.figures.success).fold(1.0, f64::min);
    ((least * 10.0 - 1e-6).floor() / 10.0).clamp(0.0, 0.9)
}

/// Returns the settings on the front, and the recommended one at the end, so that it is drawn over the others.
fn all(found: &Recommendation) -> impl Iterator<Item = (char, &Prediction)> {
    let front = found.front.iter().enumerate().map(|(place, it)| (mark(place), it));
    front.chain([('R', &found.best)])
}

/// Returns the picture for a terminal.
pub(super) fn chart(found: &Recommendation) -> String {
    let scale = Scale::of(all(found).map(|(_, it)| it.figures.p99_wait));
    let least = least_success(found);
    let mut cells = vec![vec![' '; COLUMNS]; ROWS];
    for (mark, it) in all(found) {
        let column = (scale.share(it.figures.p99_wait) * (COLUMNS - 1) as f64).round() as usize;
        let height = ((it.figures.success - least) / (1.0 - least)).clamp(0.0, 1.0);
        cells[ROWS - 1 - (height * (ROWS - 1) as f64).round() as usize][column] = mark;
    }
    let mut text = String::new();
    for (number, row) in cells.iter().enumerate() {
        let label = match number {
            0 => "100 %".to_owned(),
            _ if number == ROWS - 1 => format!("{:.0} %", least * 100.0),
            _ => String::new(),
        };
        let row: String = row.iter().collect();
        line(&mut text, format!("{label:>6} │{row}").trim_end());
    }
    line(&mut text, &format!("       └{}", "─".repeat(COLUMNS)));
    let (from, to) = (time(scale.first()), time(scale.last()));
    let gap = COLUMNS.saturating_sub(from.chars().count());
    line(&mut text, &format!("        {from}{to:>gap$}"));
    text
}

/// Returns the text of an SVG file.
pub(super) fn svg(workload: &str, found: &Recommendation) -> String {
    let scale = Scale::of(all(found).map(|(_, it)| it.figures.p99_wait));
    let least = least_success(found);
    let mut inner = String::new();
    scale.grid(&mut inner, (least, 1.0));
    let at = |it: &Prediction| {
        let share = (it.figures.success - least) / (1.0 - least);
        (scale.x(it.figures.p99_wait), TOP + HEIGHT * (1.0 - share.clamp(0.0, 1.0)))
    };
    let mut legend = TOP + HEIGHT + 36.0;
    for (mark, it) in all(found) {
        let ((x, y), colour) = (at(it), if mark == 'R' { 1 } else { 0 });
        line(&mut inner, &format!(r#"<circle class="d{colour}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#));
        let (right, above) = (x + 6.0, y - 6.0);
        line(&mut inner, &format!(r#"<text class="t{colour}" x="{right:.1}" y="{above:.1}">{mark}</text>"#));
        let (name, rate) = (escaped(&it.name), it.figures.success * 100.0);
        let (wait, server) = (time(it.figures.p99_wait), time(it.figures.server_time));
        line(
            &mut inner,
            &format!(
                r#"<text class="t{colour}" x="{LEFT}" y="{legend}">{mark} {rate:.1} %, {wait}, server {server}: {name}</text>"#
            ),
        );
        legend += LINE;
    }
    let title = format!("{}: share of requests that are granted, over the p99 wait", escaped(workload));
    document(&title, found.front.len() + 1, &inner)
}

#[cfg(test)]
mod tests {
    use leasehold_tuning::{Goal, Search, ServerProfile, Workload, recommend};

    use super::*;

    #[test]
    fn every_setting_on_the_front_has_its_place_in_both_pictures() {
        let text = "duration = '200ms'\narrivals = { kind = 'constant', rate = 300.0 }\n\
                    hold = { kind = 'constant', time = '5ms' }\nconfig.wait.timeout = '20ms'";
        let workload = Workload::from_toml(text, &[]).unwrap();
        let mut search = Search::new(Goal::Success);
        search.simulations = 100;
        let profile = ServerProfile::default();
        let found = recommend(&workload, &profile, &search, |_| std::ops::ControlFlow::Continue(())).unwrap();
        let (chart, picture) = (chart(&found), svg("a <sale>", &found));
        assert!(found.front.len() > 2 && chart.contains('R') && chart.contains('a'), "{chart}");
        assert_eq!(chart.lines().count(), ROWS + 2);
        assert!(picture.starts_with("<svg") && picture.contains("a &lt;sale&gt;"), "{picture}");
        assert_eq!(picture.matches("<circle").count(), found.front.len() + 1);
    }
}
