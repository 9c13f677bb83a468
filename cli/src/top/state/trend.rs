//! Figures over time: the ages of present waiters, grants, and the work of the server. Each has a bound.

use std::{collections::VecDeque, time::Duration};

use leasehold::store::ServerLoad;
use leasehold_console::view::ResourceView;

/// The time that a chart shows at most.
const SHOWN: Duration = Duration::from_secs(300);
/// The most points of a chart: one a second, and more if samples come faster.
const POINTS: usize = 1_200;
/// The time over which a rate is taken.
const RATE_OVER: Duration = Duration::from_secs(10);

/// The ages of all waiters that one sample has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ages {
    pub(crate) at: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Ages {
    /// Returns the ages in these looks; `None` if nobody waits, or if the store does not know for how long.
    fn of<'a>(looks: impl Iterator<Item = &'a ResourceView>, at: Duration) -> Option<Self> {
        let waiters = looks.flat_map(|look| &look.waiters);
        let mut ages: Vec<_> = waiters.filter_map(|waiter| waiter.waited).collect();
        ages.sort_unstable();
        let last = ages.len().checked_sub(1)?;
        // The nearest rank: an age that somebody has, and not one between two.
        let rank = |percent: usize| ages[((ages.len() * percent).div_ceil(100) - 1).min(last)];
        Some(Self { at, p50: rank(50), p99: rank(99) })
    }
}

/// The figures over time.
#[derive(Debug, Default)]
pub(crate) struct Trend {
    ages: VecDeque<Ages>,
    grants: VecDeque<(Duration, u64)>,
    began: Option<Duration>,
    /// The loads of the servers when they were last asked.
    loads: Option<(Duration, Vec<ServerLoad>)>,
    server: Option<f64>,
}

impl Trend {
    /// Takes the ages of the waiters in a sample.
    pub(crate) fn measure<'a>(&mut self, looks: impl Iterator<Item = &'a ResourceView>, now: Duration) {
        self.ages.extend(Ages::of(looks, now));
        while self.ages.len() > POINTS || self.ages.front().is_some_and(|first| first.at + SHOWN < now) {
            self.ages.pop_front();
        }
    }

    /// Takes the grants that a sample has shown.
    pub(crate) fn granted(&mut self, grants: u64, now: Duration) {
        self.began.get_or_insert(now);
        self.grants.push_back((now, grants));
        while self.grants.front().is_some_and(|(at, _)| *at + RATE_OVER <= now) {
            self.grants.pop_front();
        }
    }

    /// Takes the loads of the servers, of which the busiest is shown. One that was started anew counts from there.
    pub(crate) fn worked(&mut self, loads: Vec<ServerLoad>, now: Duration) {
        if let Some((then, before)) = &self.loads {
            self.server = ServerLoad::busiest(before, &loads, now.saturating_sub(*then));
        }
        self.loads = Some((now, loads));
    }

    pub(crate) fn ages(&self) -> &VecDeque<Ages> {
        &self.ages
    }

    /// Returns the share of one core that the server needed between the last two samples.
    pub(crate) const fn server(&self) -> Option<f64> {
        self.server
    }

    /// Returns the grants a second that were seen lately. `None` after the first sample, which shows none.
    pub(crate) fn grants_a_second(&self, now: Duration) -> Option<f64> {
        let over = now.saturating_sub(self.began?).min(RATE_OVER);
        let grants: u64 = self.grants.iter().map(|(_, grants)| grants).sum();
        (!over.is_zero()).then(|| grants as f64 / over.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use leasehold::store::ServerLoad;
    use leasehold::{Mode, Token};
    use leasehold_console::view::{WaiterView, Who};

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn waited(ages: impl IntoIterator<Item = Option<Duration>>) -> ResourceView {
        let who = Who::new(Mode::Exclusive, Token::from_bits(1).prefix(), None, &BTreeMap::new());
        let wait = |(waited, position)| WaiterView { position, who: who.clone(), waited };
        ResourceView { waiters: ages.into_iter().zip(1..).map(wait).collect(), ..ResourceView::default() }
    }

    #[test]
    fn percentiles_are_ages_that_somebody_has() {
        let looks = [waited((1..=50).map(|age| Some(s(age)))), waited((51..=100).map(|age| Some(s(age))))];
        assert_eq!(Ages::of(looks.iter(), s(7)), Some(Ages { at: s(7), p50: s(50), p99: s(99) }));
        assert_eq!(
            Ages::of([waited([Some(s(3))])].iter(), s(7)),
            Some(Ages { at: s(7), p50: s(3), p99: s(3) })
        );
    }

    #[test]
    fn without_a_known_age_there_is_no_point() {
        assert_eq!(Ages::of([waited([]), waited([None])].iter(), s(7)), None);
    }

    #[test]
    fn a_chart_and_a_rate_forget() {
        let mut trend = Trend::default();
        for second in 0..5_000 {
            trend.measure([waited([Some(s(1))])].iter(), s(second));
            trend.granted(2, s(second));
        }
        assert_eq!(trend.ages().len(), 301);
        assert_eq!(trend.grants_a_second(s(4_999)), Some(2.0));
        assert_eq!(Trend::default().grants_a_second(s(1)), None);
    }

    fn load(busy: u64) -> Vec<ServerLoad> {
        vec![ServerLoad::new("server", Duration::from_millis(busy))]
    }

    #[test]
    fn a_server_that_starts_anew_has_no_rate_until_the_next_sample() {
        let mut trend = Trend::default();
        trend.worked(load(500), s(1));
        trend.worked(load(600), s(3));
        assert_eq!(trend.server(), Some(0.05));
        trend.worked(load(1), s(4));
        assert_eq!(trend.server(), None);
    }
}
