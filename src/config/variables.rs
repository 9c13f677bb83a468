//! The meaning of environment variables named `LEASEHOLD_…`: a setting, nearly one, or somebody else's.
//!
//! Others use that prefix too: Kubernetes gives every container `LEASEHOLD_PORT`, `LEASEHOLD_SERVICE_HOST` and more as soon
//! as a service is named leasehold.

use std::{ffi::OsStr, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};
use strsim::damerau_levenshtein;

use crate::{
    config::{Config, StoreConfig, TunerSettings},
    request::{LeaseSettings, LimitSettings, SupervisionSettings, WaitSettings, settings::BackoffKeys},
};

pub(super) const PREFIX: &str = "LEASEHOLD_";

/// The variable that names the configuration file.
pub(super) const FILE: &str = "LEASEHOLD_CONFIG";

/// Returns the name of a file in an error, with the way to another one.
pub(super) fn another_file(path: &Path) -> String {
    format!("{} ({FILE} can name another file)", path.display())
}

/// The maximum number of letters that may be wrong, missing, superfluous or swapped in a name that was meant for a setting.
const SLIPS: usize = 2;

/// Variables that had another name before. Passing over them would change what was set without a word.
const RENAMED: [(&str, &str); 1] = [("LEASEHOLD_WAIT_PATIENCE", "LEASEHOLD_WAIT_TICKET_TTL")];

/// Names that say "the address of the store" and mean nothing here.
const NEAR_STORE: [&str; 3] = ["LEASEHOLD_STORE", "LEASEHOLD_URL", "LEASEHOLD_REDIS_URL"];

/// Returns true if a variable that names no setting seems to be meant for the address of the store. Kubernetes gives
/// addresses too, of the scheme `tcp`.
pub(super) fn is_near_store(name: &str, value: &OsStr) -> bool {
    let schemes = ["redis://", "rediss://", "redis+", "rediss+", "unix://", "quorum://"];
    let address = value.to_string_lossy();
    NEAR_STORE.contains(&&*name.to_uppercase()) || schemes.iter().any(|scheme| address.starts_with(scheme))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// This key of this section.
    Setting(&'static str, &'static str),
    /// A misspelling of this variable.
    Misspelt(String),
    /// Nothing that concerns this library.
    Foreign,
}

/// Returns the meaning of a variable whose name begins with [`PREFIX`], and is not [`FILE`].
pub(super) fn meaning(name: &str) -> Meaning {
    let settings = settings();
    if let Some((_, section, key)) = settings.iter().find(|(known, ..)| known == name) {
        return Meaning::Setting(section, key);
    }
    let upper = name.to_uppercase();
    if let Some((_, now)) = RENAMED.iter().find(|(before, _)| *before == upper) {
        return Meaning::Misspelt((*now).to_owned());
    }
    let known = settings.into_iter().map(|(known, ..)| known).chain([FILE.to_owned()]);
    let nearest = known.map(|known| (damerau_levenshtein(&upper, &known), known)).min();
    match nearest {
        Some((slips, known)) if slips <= SLIPS => Meaning::Misspelt(known),
        _ => Meaning::Foreign,
    }
}

/// Returns every setting: the name of its variable, its section and its key.
fn settings() -> Vec<(String, &'static str, &'static str)> {
    let sections = keys_of::<Config>().iter().flat_map(|section| {
        let keys = match *section {
            "store" => keys_of::<StoreConfig>(),
            "lease" => keys_of::<LeaseSettings>(),
            "wait" => keys_of::<WaitSettings>(),
            "backoff" => keys_of::<BackoffKeys>(),
            "limits" => keys_of::<LimitSettings>(),
            "supervision" => keys_of::<SupervisionSettings>(),
            "tuner" => keys_of::<TunerSettings>(),
            _ => &[],
        };
        keys.iter().map(move |key| (*section, *key))
    });
    let named = |(section, key)| (format!("{PREFIX}{section}_{key}").to_uppercase(), section, key);
    sections.map(named).collect()
}

/// Returns the names of a struct's fields, as they are read.
fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys = Keys(&[]);
    // It records the names and then always returns an error.
    let _ = T::deserialize(&mut keys);
    keys.0
}

/// A source of values that only records which ones are asked for.
struct Keys(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut Keys {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0 = fields;
        Err(Error::custom("there are no values"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_embedded_file_has_a_variable() {
        let keys = |line: &str| {
            let name = line.trim_start_matches("# ").split_once(" = ")?.0;
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then(|| name.to_owned())
        };
        let mut in_file: Vec<String> = Config::DEFAULT_TOML.lines().filter_map(keys).collect();
        let mut known: Vec<String> = settings().into_iter().map(|(_, _, key)| key.to_owned()).collect();
        in_file.sort();
        known.sort();
        assert_eq!(known, in_file);
    }

    #[test]
    fn a_renamed_variable_is_told_its_name_of_today() {
        for (before, now) in RENAMED {
            assert_eq!(meaning(before), Meaning::Misspelt(now.to_owned()));
            assert!(matches!(meaning(now), Meaning::Setting(..)), "{now}");
        }
    }

    #[test]
    fn what_kubernetes_and_docker_set_for_a_service_is_foreign() {
        let services =
            settings().into_iter().map(|(_, section, _)| format!("{PREFIX}{section}").to_uppercase());
        for service in services.chain(["LEASEHOLD".to_owned()]) {
            let protocol = ["TCP", "UDP", "SCTP"].map(|protocol| format!("PORT_6379_{protocol}"));
            let port = protocol
                .iter()
                .flat_map(|port| ["", "_PROTO", "_PORT", "_ADDR"].map(|end| format!("{port}{end}")));
            let usual =
                ["PORT", "HOST", "NAME", "ENV_PATH", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_REDIS"];
            for word in usual.map(str::to_owned).into_iter().chain(port) {
                let name = format!("{service}_{word}");
                assert_eq!(meaning(&name), Meaning::Foreign, "{name}");
            }
        }
    }
}
