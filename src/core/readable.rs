//! Text for people: durations, numbers, and errors also where programs print them with `{:?}`.

use std::{error::Error, fmt, time::Duration};

const UNITS: [(&str, u128); 7] = [
    ("d", 24 * 3_600 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Formats the exact duration, in units that `config.toml` accepts: `1d`, `1h 30m`, `250ms`.
pub fn exact(span: Duration) -> impl fmt::Display {
    let mut left = span.as_nanos();
    let mut parts = Vec::new();
    for (unit, nanos) in UNITS {
        if left >= nanos {
            parts.push(format!("{}{unit}", left / nanos));
            left %= nanos;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// Formats the duration as precisely as a reader needs: `30s` and not `29.999s`, `1.2s`, `340ms`.
pub fn rough(span: Duration) -> impl fmt::Display {
    const SECOND: u128 = 1_000_000_000;
    let nanos = span.as_nanos();
    let unit = match nanos {
        0..1_000 => 1,
        1_000..1_000_000 => 1_000,
        1_000_000..999_500_000 => 1_000_000,
        999_500_000..9_950_000_000 => {
            let tenths = (nanos + SECOND / 20) / (SECOND / 10);
            return format!("{}s", tenths as f64 / 10.0);
        }
        _ => SECOND,
    };
    let rounded = u64::try_from((nanos + unit / 2) / unit * unit).unwrap_or(u64::MAX);
    exact(Duration::from_nanos(rounded)).to_string()
}

/// Returns a number with what is counted, which is named by its singular.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns the first so many characters of a text, with a mark if there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns an error in one line, with each of its sources that it does not mention itself.
pub fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = error.source();
    }
    line
}

/// Writes the name of the type, and in brackets the error in one line.
pub(crate) fn readable(f: &mut fmt::Formatter<'_>, name: &str, error: &dyn Error) -> fmt::Result {
    write!(f, "{name}({})", one_line(error))
}

/// Implements `Debug` for error types, as [`readable`] text.
macro_rules! readable_debug {
    ($($error:ident),+ $(,)?) => {$(
        /// Writes the output that `main` shows for a returned error: the name, and the text of
        /// [`Display`](std::fmt::Display) with those of its sources.
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::core::readable(f, stringify!($error), self)
            }
        }
    )+};
}
pub(crate) use readable_debug;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl fmt::Display for Failed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|source| source as _)
        }
    }

    #[test]
    fn one_is_counted_in_the_singular() {
        assert_eq!([0, 1, 2].map(|it| counted(it, "attempt")), ["0 attempts", "1 attempt", "2 attempts"]);
    }

    #[test]
    fn a_source_is_told_once() {
        let refused = || Some(Box::new(Failed("refused", None)));
        assert_eq!(one_line(&Failed("127.0.0.1:1: refused", refused())), "127.0.0.1:1: refused");
        assert_eq!(one_line(&Failed("127.0.0.1:1", refused())), "127.0.0.1:1: refused");
    }

    #[test]
    fn durations_read_as_people_write_them() {
        let micros = Duration::from_micros;
        for (span, exactly, roughly) in [
            (Duration::ZERO, "0s", "0s"),
            (Duration::from_nanos(7), "7ns", "7ns"),
            (micros(999), "999us", "999us"),
            (micros(50_000), "50ms", "50ms"),
            (micros(340_400), "340ms 400us", "340ms"),
            (micros(999_700), "999ms 700us", "1s"),
            (micros(1_240_000), "1s 240ms", "1.2s"),
            (micros(1_960_000), "1s 960ms", "2s"),
            (micros(9_960_000), "9s 960ms", "10s"),
            (micros(29_999_000), "29s 999ms", "30s"),
            (micros(90_000_000), "1m 30s", "1m 30s"),
            (Duration::from_secs(86_400), "1d", "1d"),
            (Duration::from_secs(90_001), "1d 1h 1s", "1d 1h 1s"),
            (Duration::from_secs(604_800), "7d", "7d"),
        ] {
            assert_eq!((exact(span).to_string(), rough(span).to_string()), (exactly.into(), roughly.into()));
        }
        assert_eq!(exact(Duration::MAX).to_string(), "213503982334601d 7h 15s 999ms 999us 999ns");
    }
}
