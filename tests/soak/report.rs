//! The report of a soak: a page for a person, a picture, and the samples as tables.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path, time::Duration};

use super::{
    ledger::Ledger,
    net::{Delay, Network},
    picture,
    stage::{Stage, Suffered, locked},
};

/// How many violations the report shows in full.
const SHOWN: usize = 50;

/// What a report is about.
pub(super) struct Facts<'a> {
    pub(super) seed: u64,
    pub(super) time: Duration,
    pub(super) began: u64,
    pub(super) network: &'a Result<Network, String>,
    pub(super) stages: &'a [Stage],
    pub(super) is_over: bool,
}

impl Facts<'_> {
    /// Everything that broke a promise, with the topology.
    pub(super) fn violations(&self) -> Vec<String> {
        let of_one = |stage: &Stage| {
            let ledger = locked(&stage.ledger);
            ledger.violations.iter().map(|what| format!("{}: {what}", stage.name)).collect::<Vec<_>>()
        };
        self.stages.iter().flat_map(of_one).collect()
    }

    /// Notes processes whose memory or files have grown.
    pub(super) fn note_growth(&self) {
        for stage in self.stages {
            for (process, samples) in locked(&stage.samples).iter().enumerate() {
                let grown = samples.growth().map(|grown| format!("process {process} of callers {grown}"));
                locked(&stage.ledger).violations.extend(grown);
            }
        }
    }

    /// Writes the report, the picture and the tables into a folder.
    pub(super) fn write(&self, folder: &Path) {
        let files = [
            ("report.md", self.page()),
            ("load.svg", picture::of(self)),
            ("samples.csv", self.samples()),
            ("faults.csv", self.faults_in_rows()),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a report that can be written");
        }
    }

    /// The seconds of which there are samples.
    pub(super) fn seconds(&self) -> usize {
        self.stages.iter().map(|stage| locked(&stage.samples)[0].0.len()).max().unwrap_or_default()
    }

    fn page(&self) -> String {
        let violations = self.violations();
        let verdict = match (self.is_over, violations.len()) {
            (false, count) => format!("It goes on; {count} violations so far."),
            (true, 0) => "**Every promise was kept.**".to_owned(),
            (true, count) => format!("**{count} violations.**"),
        };
        let network = match self.network {
            Ok(Network { delay: Delay::Netem }) => "a namespace; delay by `netem`, loss by `nft`".to_owned(),
            Ok(Network { delay: Delay::Narrow }) => {
                "a namespace; delay by a narrow link (`htb`, for this kernel has no `netem`), loss by `nft`"
                    .to_owned()
            }
            Err(error) => format!("none of its own, so no delay and no loss: {error}"),
        };
        let mut page = format!(
            "# Soak\n\n{verdict} {} of {}; seed {}; {} processors. Network: {network}.\n\n\
             ![Load, faults, losses, memory and open files over time](load.svg)\n\n",
            in_words(Duration::from_secs(self.seconds() as u64)),
            in_words(self.time),
            self.seed,
            std::thread::available_parallelism().map_or(0, usize::from),
        );
        let _ = write!(page, "{}.\n\n", self.coverage());
        page += &self.topologies();
        page += &self.faults();
        page += &self.processes();
        page += "## Violations\n\n";
        if violations.is_empty() {
            page += "None.\n";
        }
        for violation in violations.iter().take(SHOWN) {
            let _ = writeln!(page, "* {violation}");
        }
        page
    }

    fn topologies(&self) -> String {
        let mut text = "## Topologies\n\n| | ".to_owned();
        let ledgers: Vec<_> = self.stages.iter().map(|stage| locked(&stage.ledger)).collect();
        text += &self.stages.iter().map(|stage| stage.name).collect::<Vec<_>>().join(" | ");
        text += " |\n|---";
        text += &"|---".repeat(ledgers.len());
        text += "|\n";
        let mut row = |name: &str, cell: &dyn Fn(&Ledger) -> String| {
            let cells: Vec<_> = ledgers.iter().map(|ledger| cell(ledger)).collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        };
        let seconds = self.seconds().max(1) as u64;
        row("leases granted", &|it| it.totals.grants.to_string());
        row("a second", &|it| (it.totals.grants / seconds).to_string());
        row("by mode", &|it| counts(&it.totals.modes));
        row("re-entries", &|it| it.totals.reentered.to_string());
        row("leases lost", &|it| counts(&it.totals.lost));
        row("requests refused in time", &|it| it.totals.refused.to_string());
        row("requests given up by their callers", &|it| it.totals.cancelled.to_string());
        row("requests failed", &|it| counts(&it.totals.errors));
        row("given back when revoked, and taken", &|it| {
            format!("{}, {}", it.totals.revoked.0, it.totals.revoked.1)
        });
        row("ticks of the schedule, and its runners", &|it| {
            format!("{}, {}", it.ticks.runs, it.ticks.runners)
        });
        row("terms of the singleton", &|it| it.leaders.terms.to_string());
        row("terms of the owners of partitions", &|it| {
            it.owners.iter().map(|(owners, _)| owners.terms).sum::<u64>().to_string()
        });
        row("histories accepted by an external checker", &|it| it.totals.accepted.to_string());
        row("losses told up to 0.1 s late, which no stall shows", &|it| it.totals.a_little_late.to_string());
        row("losses that a release found", &|it| it.totals.found_lost.to_string());
        row("losses of leases to be renewed", &|it| counts(&it.totals.losses));
        row("resources, and pairs of their leases compared", &|it| {
            format!("{}, {}", it.granted.len(), it.totals.pairs)
        });
        row("faults long enough to ask for grants beside them", &|it| it.totals.progress.to_string());
        row("ticks missing outside of faults", &|it| it.totals.missing_ticks.to_string());
        row("conflicts that limits.md documents", &|it| counts(&it.totals.documented));
        row("violations", &|it| it.violations.len().to_string());
        text + "\n"
    }

    fn faults(&self) -> String {
        let mut text = "## Faults\n\n*Lasted* is from the fault until it was healed; *again* from then until every resource was granted, the \
                        schedule had ticked, and the singleton and every partition had worked. *Lost* are the leases that were lost in both times, without those \
                        that a `Revoke` took.\n\n\
                        | topology | fault | times | lasted, longest | again, median | again, longest | lost | lost at once, most |\n\
                        |---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for stage in self.stages {
            let mut kinds: BTreeMap<_, Vec<Suffered>> = BTreeMap::new();
            for suffered in locked(&stage.suffered).iter() {
                kinds.entry(suffered.fault).or_default().push(suffered.clone());
            }
            for (fault, all) in kinds {
                let lasted = all.iter().map(|it| it.until - it.from).max().unwrap_or_default();
                let mut again: Vec<_> = all.iter().map(|it| it.again).collect();
                again.sort_unstable();
                let lost: Vec<_> = all.iter().map(|it| it.lost).collect();
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {} | {} | {} | {} |",
                    stage.name,
                    fault.name(),
                    all.len(),
                    in_seconds(lasted),
                    in_seconds(again[again.len() / 2]),
                    in_seconds(again[again.len() - 1]),
                    lost.iter().sum::<u64>(),
                    lost.iter().max().copied().unwrap_or_default(),
                );
            }
        }
        text + "\n"
    }

    fn processes(&self) -> String {
        let (whole, reached) = (self.time.as_secs() as usize, self.seconds());
        let moments = if whole == 3_600 { [300, 1_800, 3_600] } else { [whole / 6, whole / 2, whole] };
        let mut text = "## Memory and open files of the processes of callers\n\n| process |".to_owned();
        for moment in moments {
            let _ = write!(text, " at {} |", in_words(Duration::from_secs(moment as u64)));
        }
        text += "\n|---|---|---|---|\n";
        for stage in self.stages {
            for (process, samples) in locked(&stage.samples).iter().enumerate() {
                let _ = write!(text, "| {} {process} |", stage.name);
                for moment in moments {
                    let sample = samples.around(moment);
                    let words = format!("{:.1} MiB, {}", sample.memory as f64 / 1_024.0, sample.files);
                    let words = if moment > reached + 60 { "not yet".to_owned() } else { words };
                    let _ = write!(text, " {words} |");
                }
                text += "\n";
            }
        }
        text + "\n"
    }
}

/// How far a soak is, in one line.
pub(super) fn progress(second: u64, stages: &[Stage]) -> String {
    let mut text = format!("{second:>5} s");
    let (mut faults, mut lost, mut violations, mut remembered) = (0, 0, 0, 0);
    for stage in stages {
        let ledger = locked(&stage.ledger);
        let last = ledger.seconds.iter().rev().skip(2).take(10);
        let grants = last.map(|second| second.grants).sum::<u32>() / 10;
        let _ = write!(text, " · {} {grants}/s {}", stage.name, locked(&stage.now));
        faults += locked(&stage.suffered).len();
        lost += ledger.totals.lost();
        violations += ledger.violations.len();
        remembered += ledger.remembered();
    }
    let _ = write!(text, " · {faults} faults, {lost} lost, {violations} violations, {remembered} remembered");
    text
}

fn in_words(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

fn in_seconds(micros: u64) -> String {
    format!("{:.1} s", micros as f64 / 1e6)
}

/// Counts with their names, the largest first.
pub(super) fn counts<K: AsRef<str>>(counts: &BTreeMap<K, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().map(|(name, count)| (*count, name.as_ref())).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let words: Vec<_> = counts.iter().map(|(count, name)| format!("{count} {name}")).collect();
    if words.is_empty() { "0".to_owned() } else { words.join(", ") }
}
