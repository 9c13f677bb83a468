//! Goals: what a recommendation is for, and which of two settings is better.

use std::{fmt, str::FromStr};

use leasehold::InvalidValue;

use super::{figures::Figures, limit::Limit};

/// The figure that a recommendation makes as good as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// The share of the requests that get their lease: as large as it can be.
    Success,
    /// The 99th percentile of the waits of granted requests: as short as it can be.
    Latency,
    /// The processor time of servers for each granted request: as short as it can be.
    ServerLoad,
}

/// The place of a setting among others: the smaller, the better. The first number is how far it is from its limits, the
/// second the goal, and the third decides between settings that reach the goal alike.
///
/// This order, limits before goals, is the one of Deb, "An efficient constraint handling method for genetic algorithms" (2000).
/// Numbers are steps, so that a difference which no run would show does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) violation: i64,
    cost: i64,
    second: i64,
}

/// A goal with its limits.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    pub(super) goal: Goal,
    pub(super) limits: Vec<Limit>,
    /// The success that has to be kept where locks are held for longer, if nobody has set any.
    pub(super) longer_holds: Option<Limit>,
}

/// The figures of a setting with each seed: of the workload as it is, and where locks are held for longer than was thought.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenFigures {
    pub(super) as_it_is: Vec<Figures>,
    pub(super) longer_holds: Vec<Figures>,
}

impl FromStr for Goal {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "success" => Ok(Self::Success),
            "latency" => Ok(Self::Latency),
            "server-load" => Ok(Self::ServerLoad),
            _ => Err(InvalidValue::new("goal", text, "success, latency, server-load")),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Latency => "latency",
            Self::ServerLoad => "server-load",
        })
    }
}

impl Aim {
    /// Returns true if all limits are kept.
    pub(super) fn is_met(&self, figures: &Figures) -> bool {
        self.violation(figures) == 0.0
    }

    fn violation(&self, figures: &Figures) -> f64 {
        self.limits.iter().map(|limit| limit.violation(figures)).sum()
    }

    /// Returns the place of a setting that had these figures. A limit has to be kept with each seed of the workload as it is, and a
    /// limit of a time with a margin, because the prediction of one is not nearer than that.
    pub(super) fn rank(&self, seen: &SeenFigures) -> Rank {
        let strict = |figures: &Figures| {
            self.limits.iter().map(|limit| limit.with_margin().violation(figures)).sum::<f64>()
        };
        let longer = |figures: &Figures| self.longer_holds.map_or(0.0, |limit| limit.violation(figures));
        let violations = seen.as_it_is.iter().map(strict).chain(seen.longer_holds.iter().map(longer));
        let violation = violations.fold(0.0, f64::max);
        let (mean, worse) = (Figures::mean(&seen.as_it_is), self.worse(seen));
        let cost = match self.goal {
            Goal::Success => (worse * 1e3).round(),
            Goal::Latency | Goal::ServerLoad => (worse.ln() * 1e2).round(),
        };
        // A number that is too large for the type becomes its largest one.
        Rank {
            violation: (violation * 1e3).ceil() as i64,
            cost: cost as i64,
            second: (self.second(&mean).ln() * 20.0).round() as i64,
        }
    }

    /// Returns the figure of the goal, of which less is better.
    fn cost(&self, figures: &Figures) -> f64 {
        match self.goal {
            Goal::Success => 1.0 - figures.success,
            _ if figures.success == 0.0 => f64::INFINITY,
            Goal::Latency => figures.p99_wait,
            Goal::ServerLoad => figures.server_time,
        }
    }

    /// Returns the figure of the goal under the load with which it is worse. What is best for one length of the holds alone is at the
    /// edge of what goes well.
    fn worse(&self, seen: &SeenFigures) -> f64 {
        let of = |each: &[Figures]| self.cost(&Figures::mean(each));
        if seen.longer_holds.is_empty() {
            return of(&seen.as_it_is);
        }
        of(&seen.as_it_is).max(of(&seen.longer_holds))
    }

    /// Returns the figure that decides between settings that reach the goal alike.
    const fn second(&self, figures: &Figures) -> f64 {
        match self.goal {
            Goal::Success | Goal::ServerLoad => figures.p99_wait,
            Goal::Latency => figures.server_time,
        }
    }

    /// Returns true if no run would show that this setting was taken instead of the best one: it keeps the limits as well, and misses
    /// the goal by a fiftieth at most, or by half of a percentage point of success. Predictions are not nearer than that, though all
    /// settings are simulated with the same requests.
    pub(super) fn is_as_good(&self, this: &SeenFigures, best: &SeenFigures) -> bool {
        let (cost, least) = (self.worse(this), self.worse(best));
        let most = match self.goal {
            Goal::Success => least + 0.005,
            Goal::Latency | Goal::ServerLoad => least * 1.02,
        };
        self.rank(this).violation <= self.rank(best).violation && cost <= most
    }

    /// Returns true if this setting is worse than another one in the second figure, by more than a tenth.
    pub(super) fn is_dearer(&self, this: &SeenFigures, other: &SeenFigures) -> bool {
        let second = |seen: &SeenFigures| self.second(&Figures::mean(&seen.as_it_is));
        second(this) > second(other) * 1.1
    }
}

impl Rank {
    /// Returns true if this is behind another one by more than chance: by two percentage points of success, or by a fifth of any
    /// other figure.
    pub(super) const fn is_far_behind(self, other: Self) -> bool {
        const FAR: i64 = 20;
        let more = self.violation - other.violation;
        more > FAR || more >= 0 && self.cost > other.cost.saturating_add(FAR)
    }

    /// Returns the place by the second figure alone.
    pub(super) const fn second(self) -> i64 {
        self.second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(success: f64, p99_wait: f64) -> Figures {
        Figures { success, p99_wait, server_time: 100.0, ..Figures::default() }
    }

    fn aim(goal: Goal, limits: Vec<Limit>) -> Aim {
        Aim { goal, limits, longer_holds: None }
    }

    /// The figures of seeds of the workload as it is.
    fn seen(each: &[Figures]) -> SeenFigures {
        SeenFigures { as_it_is: each.to_vec(), longer_holds: Vec::new() }
    }

    #[test]
    fn goals_are_read_and_shown() {
        assert!("speed".parse::<Goal>().unwrap_err().to_string().contains("success, latency, server-load"));
        for goal in [Goal::Success, Goal::Latency, Goal::ServerLoad] {
            assert_eq!(goal.to_string().parse::<Goal>(), Ok(goal));
        }
    }

    #[test]
    fn what_chance_may_have_done_is_not_far_behind() {
        let aim = |goal| aim(goal, vec!["success >= 90%".parse().unwrap()]);
        for (goal, this, is_far) in [
            (Goal::Latency, figures(0.95, 115.0), false),
            (Goal::Latency, figures(0.95, 130.0), true),
            (Goal::Latency, figures(0.89, 130.0), true),
            (Goal::Latency, figures(0.89, 100.0), false),
            (Goal::Latency, figures(0.85, 50.0), true),
            (Goal::Success, figures(0.935, 1.0), false),
            (Goal::Success, figures(0.92, 1.0), true),
        ] {
            let rank = |figures| aim(goal).rank(&seen(&[figures]));
            assert_eq!(rank(this).is_far_behind(rank(figures(0.95, 100.0))), is_far, "{goal} {this:?}");
        }
    }

    #[test]
    fn a_limit_comes_before_the_goal_and_has_to_be_kept_with_each_seed() {
        let limits = vec!["p99 wait <= 200us".parse().unwrap()];
        let aim = aim(Goal::Success, limits);
        let rank = |each: &[Figures]| aim.rank(&seen(each));
        let (near, far) = (figures(0.99, 210.0), figures(0.99, 400.0));
        let keeps = figures(0.5, 180.0);
        assert!(rank(&[keeps; 2]) < rank(&[near; 2]) && rank(&[near]) < rank(&[far]));
        assert!(rank(&[keeps, near]).violation > 0, "its mean keeps the limit, and one seed does not");
        assert!(rank(&[figures(0.6, 180.0)]) < rank(&[keeps]));
        assert!(!aim.is_met(&figures(0.0, 0.0)), "nobody has waited, because nobody was served");
    }

    #[test]
    fn a_setting_at_the_edge_of_a_limit_of_time_keeps_it_and_is_not_sought() {
        let aim = aim(Goal::Success, vec!["p99 wait <= 200us".parse().unwrap()]);
        let (edge, inside) = (figures(0.99, 199.0), figures(0.9, 189.0));
        assert!(aim.is_met(&edge) && aim.rank(&seen(&[inside])) < aim.rank(&seen(&[edge])));
    }

    #[test]
    fn a_setting_that_is_best_for_one_length_of_holds_alone_is_not_the_best() {
        let both = |as_it_is, longer_holds| SeenFigures {
            as_it_is: vec![as_it_is],
            longer_holds: vec![longer_holds],
        };
        let narrow = both(figures(0.99, 100.0), figures(0.5, 400.0));
        let broad = both(figures(0.98, 110.0), figures(0.9, 150.0));
        for goal in [Goal::Success, Goal::Latency] {
            let aim = aim(goal, Vec::new());
            assert!(aim.rank(&broad) < aim.rank(&narrow));
            assert!(aim.is_as_good(&broad, &narrow) && !aim.is_as_good(&narrow, &broad));
        }
        // What somebody has limited is limited for the workload as it is, and success for each length of its own.
        let mut aim = aim(Goal::Latency, vec!["success >= 95%".parse().unwrap()]);
        assert_eq!(aim.rank(&broad).violation, 0);
        aim.longer_holds = Some(Limit::success(0.95));
        assert!(aim.rank(&broad).violation > 0);
    }

    #[test]
    fn a_difference_that_no_run_would_show_is_none() {
        let aim = |goal| aim(goal, Vec::new());
        let alone = |figures| seen(&[figures]);
        let (best, near, worse) = (figures(0.99, 100.0), figures(0.986, 101.0), figures(0.98, 103.0));
        for goal in [Goal::Success, Goal::Latency] {
            let is_as_good = |this, best| aim(goal).is_as_good(&alone(this), &alone(best));
            assert!(is_as_good(near, best) && !is_as_good(worse, best) && is_as_good(best, worse));
        }
        let dear = Figures { server_time: 115.0, ..best };
        let is_dearer = |this| aim(Goal::Latency).is_dearer(&alone(this), &alone(best));
        assert!(is_dearer(dear) && !is_dearer(near));
        let nothing = Figures::default();
        assert!(aim(Goal::ServerLoad).rank(&alone(best)) < aim(Goal::ServerLoad).rank(&alone(nothing)));
    }
}
