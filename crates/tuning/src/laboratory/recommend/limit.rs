//! Limits: what a recommendation must not do for its goal.

use std::{fmt, str::FromStr, time::Duration};

use leasehold::{
    InvalidValue,
    text::{duration, exact},
};
use toml::Value;

use super::figures::Figures;
use crate::laboratory::units::micros;

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
    figure: &'static LimitFigure,
    bound: f64,
}

/// A figure that may be limited.
#[derive(Debug)]
struct LimitFigure {
    name: &'static str,
    /// The only relation that makes sense for it.
    relation: &'static str,
    bound: Bound,
    example: &'static str,
    of: fn(&Figures) -> f64,
}

/// The kinds of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// A time, in microseconds.
    Time,
    /// A share, from 0 to 1.
    Share,
    Number,
}

const SUCCESS: LimitFigure =
    LimitFigure { name: "success", relation: ">=", bound: Bound::Share, example: "95%", of: |it| it.success };

#[rustfmt::skip]
static FIGURES: [LimitFigure; 6] = [
    LimitFigure { name: "p50 wait", relation: "<=", bound: Bound::Time, example: "200ms", of: |it| it.p50_wait },
    LimitFigure { name: "p99 wait", relation: "<=", bound: Bound::Time, example: "200ms", of: |it| it.p99_wait },
    SUCCESS,
    LimitFigure { name: "commands", relation: "<=", bound: Bound::Number, example: "2.5", of: |it| it.commands },
    LimitFigure { name: "server time", relation: "<=", bound: Bound::Time, example: "150us", of: |it| it.server_time },
    LimitFigure { name: "wasted", relation: "<=", bound: Bound::Share, example: "20%", of: |it| it.wasted },
];

impl PartialEq for LimitFigure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Bound {
    fn read(self, text: &str) -> Option<f64> {
        let (bound, most) = match (self, text.strip_suffix('%')) {
            (Self::Time, _) => (micros(duration(Value::String(text.to_owned())).ok()?), f64::MAX),
            (Self::Share, Some(percent)) => (percent.trim_end().parse::<f64>().ok()? / 100.0, 1.0),
            (Self::Share, None) => (text.parse().ok()?, 1.0),
            (Self::Number, _) => (text.parse().ok()?, f64::MAX),
        };
        (0.0..=most).contains(&bound).then_some(bound)
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Share => "a share",
            Self::Number => "a number",
        }
    }
}

impl Limit {
    /// Returns the limit that at least this share of the requests gets its lease, in whole percent.
    pub(super) fn success(share: f64) -> Self {
        Self { figure: &SUCCESS, bound: (share * 100.0).floor() / 100.0 }
    }

    /// Returns the limit that is sought: that of a time with a margin.
    pub(super) fn with_margin(self) -> Self {
        const MARGIN: f64 = 0.95;
        let margin = if self.figure.bound == Bound::Time { MARGIN } else { 1.0 };
        Self { bound: self.bound * margin, ..self }
    }

    pub(super) fn is_of_success(&self) -> bool {
        *self.figure == SUCCESS
    }

    /// Returns by which share of the bound this setting is beyond it, at most ten times; 0 if it keeps the limit. A setting that
    /// grants nothing keeps none.
    pub(super) fn violation(&self, figures: &Figures) -> f64 {
        const MOST: f64 = 10.0;
        let found = (self.figure.of)(figures);
        let beyond = match self.is_of_success() {
            true => self.bound - found,
            false if figures.success == 0.0 => return MOST,
            false => found - self.bound,
        };
        if beyond <= 0.0 { 0.0 } else { (beyond / self.bound.max(f64::MIN_POSITIVE)).min(MOST) }
    }
}

impl FromStr for Limit {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wrong = |allowed: String| InvalidValue::new("limit", text, allowed);
        let Some(figure) = FIGURES.iter().find(|it| words.starts_with(it.name)) else {
            let names: Vec<_> = FIGURES.iter().map(|it| format!("{} {}", it.name, it.relation)).collect();
            return Err(wrong(format!("{}, and a bound", names.join(", "))));
        };
        let LimitFigure { name, relation, bound, example, .. } = figure;
        let given = words[name.len()..].trim_start().strip_prefix(relation);
        match given.and_then(|given| bound.read(given.trim())) {
            Some(bound) => Ok(Self { figure, bound }),
            None => Err(wrong(format!("{name} {relation} {}, such as {example}", bound.kind()))),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitFigure { name, relation, bound, .. } = self.figure;
        write!(f, "{name} {relation} ")?;
        match bound {
            Bound::Number => write!(f, "{}", self.bound),
            // What was read as a percentage is shown as one, without the errors of a double.
            Bound::Share => write!(f, "{} %", (self.bound * 1e8).round() / 1e6),
            Bound::Time => write!(f, "{}", exact(Duration::from_nanos((self.bound * 1e3).round() as u64))),
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
