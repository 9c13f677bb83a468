//! Goals and limits: what a recommendation is for, and what it must not do for it.

use std::{fmt, str::FromStr, time::Duration};

use toml::Value;

use super::figures::Figures;
use crate::{
    core::{InvalidValue, exact},
    request::keys::duration,
};

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

/// A limit that a setting has to keep, such as `p99 wait <= 200ms`.
///
/// ```
/// use leasehold::tuning::Limit;
///
/// let limit: Limit = "success >= 95%".parse()?;
/// assert_eq!(limit.to_string(), "success >= 95 %");
/// let error = "p99 wait >= 200ms".parse::<Limit>().unwrap_err().to_string();
/// assert_eq!(error, "invalid limit: p99 wait >= 200ms (allowed: p99 wait <= a time, such as 200ms)");
/// # Ok::<(), leasehold::InvalidValue>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    figure: Figure,
    bound: f64,
}

/// A figure that may be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    P50,
    P99,
    Success,
    Commands,
    ServerTime,
    Wasted,
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

impl Figure {
    const ALL: [(&'static str, Self); 6] = [
        ("p50 wait", Self::P50),
        ("p99 wait", Self::P99),
        ("success", Self::Success),
        ("commands", Self::Commands),
        ("server time", Self::ServerTime),
        ("wasted", Self::Wasted),
    ];

    fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    /// Returns the only relation that makes sense for it, and what stands behind that.
    const fn allowed(self) -> (&'static str, &'static str) {
        match self {
            Self::P50 | Self::P99 => ("<=", "a time, such as 200ms"),
            Self::ServerTime => ("<=", "a time, such as 150us"),
            Self::Success => (">=", "a share, such as 95%"),
            Self::Wasted => ("<=", "a share, such as 20%"),
            Self::Commands => ("<=", "a number, such as 2.5"),
        }
    }

    const fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::P50 => figures.p50_wait,
            Self::P99 => figures.p99_wait,
            Self::Success => figures.success,
            Self::Commands => figures.commands,
            Self::ServerTime => figures.server_time,
            Self::Wasted => figures.wasted,
        }
    }

    /// Reads a bound: times in microseconds, shares from 0 to 1.
    fn bound(self, text: &str) -> Option<f64> {
        let bound = match self {
            Self::P50 | Self::P99 | Self::ServerTime => {
                duration(Value::String(text.to_owned())).ok()?.as_secs_f64() * 1e6
            }
            Self::Success | Self::Wasted => match text.strip_suffix('%') {
                Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
                None => text.parse().ok()?,
            },
            Self::Commands => text.parse().ok()?,
        };
        let most = if matches!(self, Self::Success | Self::Wasted) { 1.0 } else { f64::MAX };
        (0.0..=most).contains(&bound).then_some(bound)
    }
}

impl Limit {
    /// Returns the limit that at least this share of the requests gets its lease, in whole percent.
    pub(super) fn success(share: f64) -> Self {
        Self { figure: Figure::Success, bound: (share * 100.0).floor() / 100.0 }
    }

    pub(super) fn is_of_success(&self) -> bool {
        self.figure == Figure::Success
    }

    /// Returns by which share of the bound this setting is beyond it, at most ten times; 0 if it keeps the limit. A setting that
    /// grants nothing keeps none.
    fn violation(&self, figures: &Figures) -> f64 {
        const MOST: f64 = 10.0;
        let found = self.figure.of(figures);
        let beyond = match self.figure {
            Figure::Success => self.bound - found,
            _ if figures.success == 0.0 => return MOST,
            _ => found - self.bound,
        };
        if beyond <= 0.0 { 0.0 } else { (beyond / self.bound.max(f64::MIN_POSITIVE)).min(MOST) }
    }
}

impl FromStr for Limit {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((name, figure)) = Figure::ALL.into_iter().find(|(name, _)| words.starts_with(name)) else {
            let names = Figure::ALL.map(|(name, figure)| format!("{name} {}", figure.allowed().0)).join(", ");
            return Err(InvalidValue::new("limit", text, format!("{names}, and a bound")));
        };
        let (relation, what) = figure.allowed();
        let bound = words[name.len()..].trim_start().strip_prefix(relation);
        match bound.and_then(|bound| figure.bound(bound.trim())) {
            Some(bound) => Ok(Self { figure, bound }),
            None => Err(InvalidValue::new("limit", text, format!("{name} {relation} {what}"))),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, relation) = (self.figure.name(), self.figure.allowed().0);
        match self.figure {
            Figure::Commands => write!(f, "{name} {relation} {}", self.bound),
            Figure::Success | Figure::Wasted => {
                // What was read as a percentage is shown as one, without the errors of a double.
                write!(f, "{name} {relation} {} %", (self.bound * 1e8).round() / 1e6)
            }
            _ => {
                let nanos = (self.bound * 1e3).round() as u64;
                write!(f, "{name} {relation} {}", exact(Duration::from_nanos(nanos)))
            }
        }
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

    /// Returns true if nobody would notice that this setting was taken instead of the other one. It keeps the limits as well; the
    /// goal is missed by a hundredth at most, or by half of a percentage point of success; and the second figure by a tenth.
    pub(super) fn is_as_good(&self, this: &[Figures], other: &[Figures]) -> bool {
        let violation = |each| self.rank(each).violation;
        let (this_mean, other_mean) = (Figures::mean(this), Figures::mean(other));
        let most = match self.goal {
            Goal::Success => self.cost(&other_mean) + 0.005,
            Goal::Latency | Goal::ServerLoad => self.cost(&other_mean) * 1.01,
        };
        violation(this) <= violation(other)
            && self.cost(&this_mean) <= most
            && self.second(&this_mean) <= self.second(&other_mean) * 1.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(success: f64, p99_wait: f64) -> Figures {
        Figures { success, p99_wait, server_time: 100.0, ..Figures::default() }
    }

    #[test]
    fn limits_are_read_and_shown() {
        for (text, shown) in [
            ("p99 wait <= 200ms", "p99 wait <= 200ms"),
            ("  p50   wait<=1s 500ms", "p50 wait <= 1s 500ms"),
            ("success >= 99.5%", "success >= 99.5 %"),
            ("success >= 0.29", "success >= 29 %"),
            ("commands <= 2.5", "commands <= 2.5"),
            ("server time <= 150us", "server time <= 150us"),
            ("wasted<=7 %", "wasted <= 7 %"),
        ] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn a_wrong_limit_is_refused_with_what_is_allowed() {
        for (text, allowed) in [
            ("", "p50 wait <=, p99 wait <=, success >=, commands <=, server time <=, wasted <=, and a bound"),
            ("p90 wait <= 1s", "and a bound"),
            ("p99 wait < 1s", "p99 wait <= a time"),
            ("p99 wait <= 200", "p99 wait <= a time"),
            ("success <= 95%", "success >= a share"),
            ("success >= 101%", "success >= a share"),
            ("success >= -1", "success >= a share"),
            ("commands <= few", "commands <= a number"),
            ("commands <= NaN", "commands <= a number"),
            ("commands <= inf", "commands <= a number"),
            ("wasted", "wasted <= a share"),
        ] {
            let error = text.parse::<Limit>().unwrap_err();
            assert_eq!((error.field.as_ref(), error.value.as_str()), ("limit", text));
            assert!(error.to_string().contains(allowed), "{error}");
        }
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
        let (best, near, worse) = (figures(0.99, 100.0), figures(0.986, 100.9), figures(0.98, 102.0));
        for goal in [Goal::Success, Goal::Latency] {
            assert!(aim(goal).is_as_good(&[near], &[best]) && !aim(goal).is_as_good(&[worse], &[best]));
            assert!(aim(goal).is_as_good(&[best], &[worse]));
        }
        let dear = Figures { server_time: 200.0, ..best };
        assert!(!aim(Goal::Latency).is_as_good(&[dear], &[best]), "it costs twice as much for nothing");
        let nothing = Figures::default();
        assert!(aim(Goal::ServerLoad).rank(&[best]) < aim(Goal::ServerLoad).rank(&[nothing]));
    }
}
