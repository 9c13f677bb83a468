//! What a soak has looked at, in one line, and its samples and faults as tables.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    judge::UNEXPLAINED,
    report::{Facts, counts},
    stage::locked,
};

impl Facts<'_> {
    /// How much was checked, and what was excused by which cause.
    pub(super) fn coverage(&self) -> String {
        let (mut resources, mut grants, mut pairs, mut excused) = (0, 0, 0, BTreeMap::new());
        for stage in self.stages {
            let ledger = locked(&stage.ledger);
            let totals = &ledger.totals;
            resources += ledger.granted.len();
            grants += totals.grants;
            pairs += totals.pairs;
            let unseen = (&"told late and no stall shows why", &totals.a_little_late);
            for (why, count) in totals.documented.iter().chain(&totals.losses).chain([unseen]) {
                *excused.entry(*why).or_default() += count;
            }
        }
        excused.retain(|why, count| *why != UNEXPLAINED && *count > 0);
        let excused = counts(&excused);
        format!(
            "{grants} grants of {resources} resources checked, {pairs} pairs of leases compared; excused: {excused}"
        )
    }

    pub(super) fn samples(&self) -> String {
        let mut text = "second".to_owned();
        for stage in self.stages {
            let name = stage.name;
            let _ = write!(text, ",{name}: grants,{name}: losses");
            for process in 0..locked(&stage.samples).len() {
                let _ = write!(text, ",{name} {process}: KiB,{name} {process}: files");
            }
        }
        for second in 0..self.seconds() {
            let _ = write!(text, "\n{second}");
            for stage in self.stages {
                let it = locked(&stage.ledger).seconds.get(second).copied().unwrap_or_default();
                let _ = write!(text, ",{},{}", it.grants, it.losses);
                for samples in locked(&stage.samples).iter() {
                    let sample = samples.0.get(second).copied().unwrap_or_default();
                    let _ = write!(text, ",{},{}", sample.memory, sample.files);
                }
            }
        }
        text + "\n"
    }

    pub(super) fn faults_in_rows(&self) -> String {
        let mut text = "topology,fault,from,until,again,lost,words\n".to_owned();
        for stage in self.stages {
            for it in locked(&stage.suffered).iter() {
                let [from, until] = [it.from, it.until].map(|at| at.saturating_sub(self.began) as f64 / 1e6);
                let (name, fault, again) = (stage.name, it.fault.name(), it.again as f64 / 1e6);
                let _ =
                    writeln!(text, "{name},{fault},{from:.3},{until:.3},{again:.3},{},{}", it.lost, it.words);
            }
        }
        text
    }
}
