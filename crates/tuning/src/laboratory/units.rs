//! Microseconds as numbers, and seconds in JSON, in fields that end in `_seconds`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

const MICROS: f64 = 1e6;

/// Returns a time in microseconds.
pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * MICROS
}

/// Returns a time in whole microseconds.
pub(super) fn whole_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Writes microseconds, in the layers that count in them.
pub(crate) mod micros {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(micros: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(micros / MICROS)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        f64::deserialize(from).map(in_micros)
    }
}

/// Writes a list of microseconds.
pub(crate) mod all_micros {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(micros: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(micros.iter().map(|micros| micros / MICROS))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let seconds = Vec::<f64>::deserialize(from)?;
        Ok(seconds.into_iter().map(in_micros).collect())
    }
}

/// Writes whole microseconds.
pub(crate) mod whole_micros {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(micros: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(*micros as f64 / MICROS)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        f64::deserialize(from).map(|seconds| in_micros(seconds) as u64)
    }
}

/// Reads microseconds again, without what a decimal number adds to them.
fn in_micros(seconds: f64) -> f64 {
    (seconds * MICROS * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Times {
        #[serde(with = "micros")]
        one: f64,
        #[serde(with = "all_micros")]
        all: Vec<f64>,
        #[serde(with = "whole_micros")]
        whole: u64,
    }

    #[test]
    fn times_are_seconds_and_read_back_exactly() {
        for micros in [0.0, 0.125, 340.0, 1_250_000.0, 86_400e6 + 1.0] {
            let times = Times { one: micros, all: vec![micros, 2.0 * micros], whole: micros as u64 };
            let text = serde_json::to_string(&times).unwrap();
            assert_eq!(serde_json::from_str::<Times>(&text).unwrap(), times, "{text}");
        }
        let times = Times { one: 1_500.0, all: vec![], whole: 2_000_000 };
        assert_eq!(serde_json::to_string(&times).unwrap(), r#"{"one":0.0015,"all":[],"whole":2.0}"#);
    }
}
