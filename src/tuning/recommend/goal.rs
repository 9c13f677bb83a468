//! Goals: what a recommendation is for, and which of two settings is better.

use std::{fmt, str::FromStr};

use super::{figures::Figures, limit::Limit};
use crate::core::InvalidValue;

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

    /// Returns the place of a setting that had these figures with each seed. A limit has to be kept with all of them.
    pub(super) fn rank(&self, each: &[Figures]) -> Rank {
        let violation = each.iter().map(|figures| self.violation(figures)).fold(0.0, f64::max);
        let mean = Figures::mean(each);
        let cost = match self.goal {
            Goal::Success => (self.cost(&mean) * 1e3).round(),
            Goal::Latency | Goal::ServerLoad => (self.cost(&mean).ln() * 1e2).round(),
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

    /// Returns the figure that decides between settings that reach the goal alike.
    const fn second(&self, figures: &Figures) -> f64 {
        match self.goal {
            Goal::Success | Goal::ServerLoad => figures.p99_wait,
            Goal::Latency => figures.server_time,
        }
    }

    /// Returns true if no run would show that this setting was taken instead of the best one: it keeps the limits as well, and misses
    /// the goal by a twentieth at most, or by half of a percentage point of success. Predictions are not nearer than that.
    pub(super) fn is_as_good(&self, this: &[Figures], best: &[Figures]) -> bool {
        let (cost, least) = (self.cost(&Figures::mean(this)), self.cost(&Figures::mean(best)));
        let most = match self.goal {
            Goal::Success => least + 0.005,
            Goal::Latency | Goal::ServerLoad => least * 1.05,
        };
        self.rank(this).violation <= self.rank(best).violation && cost <= most
    }

    /// Returns true if this setting is worse than another one in the second figure, by more than a tenth.
    pub(super) fn is_dearer(&self, this: &[Figures], other: &[Figures]) -> bool {
        self.second(&Figures::mean(this)) > self.second(&Figures::mean(other)) * 1.1
    }
}

impl Rank {
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

    #[test]
    fn goals_are_read_and_shown() {
        assert!("speed".parse::<Goal>().unwrap_err().to_string().contains("success, latency, server-load"));
        for goal in [Goal::Success, Goal::Latency, Goal::ServerLoad] {
            assert_eq!(goal.to_string().parse::<Goal>(), Ok(goal));
        }
    }

    #[test]
    fn a_limit_comes_before_the_goal_and_has_to_be_kept_with_each_seed() {
        let limits = vec!["p99 wait <= 200us".parse().unwrap()];
        let aim = Aim { goal: Goal::Success, limits };
        let (near, far) = (figures(0.99, 210.0), figures(0.99, 400.0));
        let keeps = figures(0.5, 190.0);
        assert!(aim.rank(&[keeps; 2]) < aim.rank(&[near; 2]) && aim.rank(&[near]) < aim.rank(&[far]));
        assert!(aim.rank(&[keeps, near]).violation > 0, "its mean keeps the limit, and one seed does not");
        assert!(aim.rank(&[figures(0.6, 190.0)]) < aim.rank(&[keeps]));
        assert!(!aim.is_met(&figures(0.0, 0.0)), "nobody has waited, because nobody was served");
    }

    #[test]
    fn a_difference_that_no_run_would_show_is_none() {
        let aim = |goal| Aim { goal, limits: Vec::new() };
        let (best, near, worse) = (figures(0.99, 100.0), figures(0.986, 104.0), figures(0.98, 106.0));
        for goal in [Goal::Success, Goal::Latency] {
            assert!(aim(goal).is_as_good(&[near], &[best]) && !aim(goal).is_as_good(&[worse], &[best]));
            assert!(aim(goal).is_as_good(&[best], &[worse]));
        }
        let dear = Figures { server_time: 115.0, ..best };
        assert!(
            aim(Goal::Latency).is_dearer(&[dear], &[best]) && !aim(Goal::Latency).is_dearer(&[near], &[best])
        );
        let nothing = Figures::default();
        assert!(aim(Goal::ServerLoad).rank(&[best]) < aim(Goal::ServerLoad).rank(&[nothing]));
    }
}
