//! Limits: what a recommendation must not do for its goal.

use std::{fmt, str::FromStr, time::Duration};

use leasehold::{
    InvalidValue,
    text::{duration, exact},
};
use toml::Value;

use super::figures::Figures;

/// A limit that a setting has to keep, such as `p99 wait <= 200ms`.
///
/// ```
/// use leasehold_tuning::Limit;
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

    /// Returns the limit that is sought: that of a time with a margin.
    pub(super) const fn with_margin(self) -> Self {
        const MARGIN: f64 = 0.95;
        match self.figure {
            Figure::P50 | Figure::P99 | Figure::ServerTime => Self { bound: self.bound * MARGIN, ..self },
            Figure::Success | Figure::Commands | Figure::Wasted => self,
        }
    }

    pub(super) fn is_of_success(&self) -> bool {
        self.figure == Figure::Success
    }

    /// Returns by which share of the bound this setting is beyond it, at most ten times; 0 if it keeps the limit. A setting that
    /// grants nothing keeps none.
    pub(super) fn violation(&self, figures: &Figures) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
