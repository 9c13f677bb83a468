//! A schedule, as it is shown: the fields of the JSON, the table, and lines.

use std::{
    fmt::Write,
    time::{Duration, SystemTime},
};

use leasehold::{ResourceName, schedule::Status};
use leasehold_console::view::{HolderView, ResourceView, RunView, stamp};
use serde::Serialize;

use crate::print::{Column, OfKind, Row, Table, Tone, of_kind, span};

/// A schedule.
#[derive(Serialize)]
pub(super) struct Schedule {
    kind: &'static str,
    pub(super) schedule: String,
    paused: bool,
    /// The time at which a run was asked for that has not begun yet.
    asked_at: Option<String>,
    last_tick: String,
    runs: u64,
    last_run: Option<OfKind<RunView>>,
    /// The holder that runs it; `None` if no process does.
    runner: Option<HolderView>,
    /// The number of processes that stand behind it.
    standing_by: Option<u64>,
    #[serde(skip)]
    since_last_tick: Duration,
}

const COLUMNS: &[Column] = &[
    Column::Text("SCHEDULE"),
    Column::Text("STATE"),
    Column::Text("RUNS ON"),
    Column::Number("PID"),
    Column::Number("STANDBY"),
    Column::Number("RUNS"),
    Column::Number("LAST TICK"),
    Column::Text("LAST RUN"),
];

const RUN_COLUMNS: &[Column] = &[
    Column::Number("RUN"),
    Column::Text("SCHEDULED FOR"),
    Column::Text("STARTED AT"),
    Column::Number("TOOK"),
    Column::Text("OUTCOME"),
    Column::Number("FENCE"),
    Column::Text("MESSAGE"),
];

impl Schedule {
    pub(super) fn of(name: &ResourceName, status: Status, view: &ResourceView) -> Self {
        let Status { now, paused, asked, last, runs, history, .. } = status;
        Self {
            kind: "schedule",
            schedule: name.to_string(),
            paused,
            asked_at: asked.map(stamp),
            last_tick: stamp(last),
            runs,
            last_run: history.first().map(|run| of_kind("run", run.into())),
            runner: view.leader().cloned(),
            standing_by: view.waiting,
            since_last_tick: since(last, now),
        }
    }

    /// Returns the state in a word.
    fn state(&self) -> (&'static str, Tone) {
        match (self.paused, &self.runner) {
            (true, _) => ("paused", Tone::Notable),
            (false, None) => ("runs nowhere", Tone::Bad),
            (false, Some(_)) => ("runs", Tone::Plain),
        }
    }

    /// Returns all of it, line by line.
    pub(super) fn lines(&self) -> Vec<String> {
        let (state, _) = self.state();
        let mut lines = vec![format!("{}: {state}, {} runs", self.schedule, self.runs)];
        match &self.runner {
            Some(runner) => lines.push(format!("runner      {}", runner.who)),
            None => lines.push("runner      none: no process that has started it holds its lease".to_owned()),
        }
        let standing_by = self.standing_by.map_or_else(|| "not known".to_owned(), |it| it.to_string());
        lines.push(format!("standing by {standing_by}"));
        lines.push(format!("last tick   {}, {} ago", self.last_tick, span(self.since_last_tick)));
        if let Some(OfKind { value: run, .. }) = &self.last_run {
            lines.push(format!("last run    {} at {}: {}", run.number, run.started_at, ended(run)));
        }
        if let Some(asked) = &self.asked_at {
            lines.push(format!("asked for   a run, at {asked}; it has not begun"));
        }
        lines
    }
}

/// Returns the schedules as a table.
pub(super) fn table(schedules: &[Schedule]) -> Table {
    let mut table = Table::new(COLUMNS);
    for schedule in schedules {
        let (state, tone) = schedule.state();
        let runner = schedule.runner.as_ref().map(|runner| &runner.who);
        let row = Row::default()
            .cell(&schedule.schedule)
            .toned(state, tone)
            .known(runner.and_then(|runner| runner.host.as_ref()))
            .known(runner.and_then(|runner| runner.pid))
            .known(schedule.standing_by)
            .cell(schedule.runs)
            .cell(format!("{} ago", span(schedule.since_last_tick)));
        let row = match &schedule.last_run {
            Some(OfKind { value: run, .. }) => row.toned(ended(run), tone_of(run)),
            None => row.cell("-"),
        };
        table.add(row);
    }
    table
}

/// Returns the end of a run in words.
fn ended(run: &RunView) -> String {
    match (run.outcome, run.took) {
        (Some(outcome), Some(took)) => format!("{outcome} in {}", span(took)),
        _ => "goes on, or its process died".to_owned(),
    }
}

fn tone_of(run: &RunView) -> Tone {
    match run.outcome {
        Some("done") => Tone::Plain,
        Some("failed" | "panicked" | "timed_out") => Tone::Bad,
        _ => Tone::Notable,
    }
}

/// Returns runs as a table.
pub(super) fn runs(runs: &[RunView]) -> Table {
    let mut table = Table::new(RUN_COLUMNS);
    for run in runs {
        let mut scheduled_for = run.scheduled_for.clone();
        if run.asked {
            scheduled_for += " (asked for)";
        }
        if run.attempt > 1 {
            let _ = write!(scheduled_for, " (attempt {})", run.attempt);
        }
        let row = Row::default()
            .cell(run.number)
            .cell(scheduled_for)
            .cell(&run.started_at)
            .known(run.took.map(span))
            .toned(run.outcome.unwrap_or("no end yet"), tone_of(run))
            .known(run.fence)
            .known(run.message.as_ref());
        table.add(row);
    }
    table
}

/// Returns the time between two; zero if the second one is the earlier.
fn since(earlier: SystemTime, later: SystemTime) -> Duration {
    later.duration_since(earlier).unwrap_or_default()
}
