//! A recommendation as text: the fragment, tables, and a picture.

use leasehold_tuning::{Goal, Prediction, Recommendation};

use super::{
    super::figures::{aligned, time},
    picture::{chart, mark},
};

/// Returns everything that is to be known about a recommendation.
pub(super) fn text(workload: &str, goal: Goal, found: &Recommendation) -> String {
    let mut parts = vec![headline(workload, goal, found), settings(found)];
    parts.push(table("setting", &[std::slice::from_ref(&found.best), &found.compared].concat()));
    if !found.sensitivity.is_empty() {
        parts.push(table("the recommended one, with", &found.sensitivity));
    }
    if found.front.len() > 1 {
        let title =
            "what cannot be had together: success from below, p99 wait from the left, R the recommended one";
        parts.push(format!("{title}\n{}", chart(found)));
        parts.push(front(found));
    }
    parts.join("\n")
}

fn headline(workload: &str, goal: Goal, found: &Recommendation) -> String {
    let limits = match &found.limits[..] {
        [] => "without limits".to_owned(),
        limits => format!("with {}", limits.join(" and ")),
    };
    let first = format!("{workload}, for {goal}, {limits}; {} simulations\n", found.simulations);
    warnings(found).fold(first, |text, warning| text + warning + "\n")
}

/// Returns what keeps a recommendation from being one.
fn warnings(found: &Recommendation) -> impl Iterator<Item = &'static str> {
    let stopped = "the search was stopped: this is the best so far, with changes that may not matter";
    let misses = "no setting was found that keeps these limits; this one comes nearest";
    let stopped = (!found.is_complete).then_some(stopped);
    stopped.into_iter().chain((!found.is_within_limits).then_some(misses))
}

/// Returns the setting as a file, which says itself what it is worth.
pub(super) fn fragment(found: &Recommendation) -> String {
    let text = warnings(found).map(|warning| format!("# {warning}\n")).collect::<String>();
    let line = |limit: &String| format!("# limit: {limit}\n");
    let limits = found.limits.iter().filter(|_| !found.is_within_limits).map(line);
    text + &limits.collect::<String>() + &settings(found)
}

/// Returns the setting as a fragment of a configuration, with what is to be known about its keys.
fn settings(found: &Recommendation) -> String {
    let config = found.best.config.trim_end();
    if config.is_empty() {
        return "# the default: nothing that was tried is better by more than chance\n".to_owned();
    }
    // Nobody dies in a simulation, which is what these are for.
    let is_for_deaths = |key: &&str| config.lines().any(|line| line.starts_with(&format!("{key} =")));
    let notes = ["ttl", "renewal_interval", "grant_window"].into_iter().filter(is_for_deaths);
    let note = |key| {
        format!(
            "# {key}: also how long a process that dies blocks others, which the simulation does not know\n"
        )
    };
    format!("{}{config}\n", notes.map(note).collect::<String>())
}

/// Returns the table of the front. Its settings are long, and stand behind the figures.
fn front(found: &Recommendation) -> String {
    let row = |(place, it): (usize, &Prediction)| {
        let mut row = row(it);
        row[0] = mark(place).to_string();
        row
    };
    let rows: Vec<_> = std::iter::once(heads("")).chain(found.front.iter().enumerate().map(row)).collect();
    let names = std::iter::once("setting").chain(found.front.iter().map(|it| it.name.as_str()));
    let table = aligned(&rows);
    table.lines().zip(names).map(|(line, name)| format!("{line}  {name}\n")).collect()
}

/// Returns a table of predictions, one in each row.
fn table(title: &str, predictions: &[Prediction]) -> String {
    let mut rows = vec![heads(title)];
    rows.extend(predictions.iter().map(row));
    aligned(&rows)
}

fn heads(title: &str) -> Vec<String> {
    let figures = ["success", "p50 wait", "p99 wait", "in vain", "commands", "server time", "wasted"];
    let limits = ["limits kept", "holds 50 % longer"];
    [title].into_iter().chain(figures).chain(limits).map(str::to_owned).collect()
}

fn row(prediction: &Prediction) -> Vec<String> {
    let Prediction { name, figures, seeds, within_limits, .. } = prediction;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let longer_holds = match (prediction.longer_holds_within_limits, prediction.longer_holds_seeds) {
        (_, 0) => "-".to_owned(),
        (within, seeds) => format!("{within} of {seeds}"),
    };
    vec![
        name.clone(),
        percent(figures.success),
        time(figures.p50_wait),
        time(figures.p99_wait),
        time(figures.wait_in_vain),
        format!("{:.2}", figures.commands),
        time(figures.server_time),
        percent(figures.wasted),
        format!("{within_limits} of {seeds}"),
        longer_holds,
    ]
}
