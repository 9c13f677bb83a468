//! A recommendation as text: the fragment, tables, and a picture.

use leasehold::tuning::{Goal, Prediction, Recommendation};

use super::{
    super::figures::{aligned, time},
    picture::{chart, mark},
};

/// Returns everything that is to be known about a recommendation.
pub(super) fn text(workload: &str, goal: Goal, found: &Recommendation) -> String {
    let mut parts = vec![headline(workload, goal, found), fragment(found)];
    parts.push(table("setting", &[std::slice::from_ref(&found.best), &found.compared].concat()));
    if !found.sensitivity.is_empty() {
        parts.push(table("the recommended one, with", &found.sensitivity));
    }
    if found.front.len() > 1 {
        let title =
            "what cannot be had together: success from below, p99 wait from the left, R the recommended one";
        let marked: Vec<Prediction> = found.front.iter().enumerate().map(marked).collect();
        parts.push(format!("{title}\n{}", chart(found)));
        parts.push(table("on the front", &marked));
    }
    parts.join("\n")
}

fn headline(workload: &str, goal: Goal, found: &Recommendation) -> String {
    let limits = match &found.limits[..] {
        [] => "without limits".to_owned(),
        limits => format!("with {}", limits.join(" and ")),
    };
    let mut lines = vec![format!("{workload}, for {goal}, {limits}; {} simulations", found.simulations)];
    if !found.is_complete {
        lines.push(
            "the search was stopped: this is the best so far, with changes that may not matter".to_owned(),
        );
    }
    if !found.is_within_limits {
        lines.push("no setting was found that keeps these limits; this one comes nearest".to_owned());
    }
    lines.join("\n") + "\n"
}

fn fragment(found: &Recommendation) -> String {
    match found.best.config.trim_end() {
        "" => "# the default: nothing that was tried is better by more than chance\n".to_owned(),
        config => format!("{config}\n"),
    }
}

fn marked((place, prediction): (usize, &Prediction)) -> Prediction {
    let mut marked = prediction.clone();
    marked.name = format!("{} {}", mark(place), prediction.name);
    marked
}

/// Returns a table of predictions, one in each row.
fn table(title: &str, predictions: &[Prediction]) -> String {
    let heads =
        ["success", "p50 wait", "p99 wait", "in vain", "commands", "server time", "wasted", "limits kept"];
    let mut rows = vec![[title].into_iter().chain(heads).map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(predictions.iter().map(row));
    aligned(&rows)
}

fn row(prediction: &Prediction) -> Vec<String> {
    let Prediction { name, figures, seeds, within_limits, .. } = prediction;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
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
    ]
}
