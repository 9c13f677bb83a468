//! The meaning of environment variables named `LEASEHOLD_…`: a setting, nearly one, or somebody else's.
//!
//! Others use that prefix too: Kubernetes gives every container `LEASEHOLD_PORT`, `LEASEHOLD_SERVICE_HOST` and more as soon
//! as a service is named leasehold.

use std::{ffi::OsStr, path::Path};

use strsim::damerau_levenshtein;
use toml::Table;

pub(super) const PREFIX: &str = "LEASEHOLD_";

/// The variable that names the configuration file.
pub(super) const FILE: &str = "LEASEHOLD_CONFIG";

/// Returns the name of a file in an error, with the way to another one.
pub(super) fn another_file(path: &Path) -> String {
    format!("{} ({FILE} can name another file)", crate::core::without_addresses(&path.display().to_string()))
}

/// The maximum number of letters that may be wrong, missing, superfluous or swapped in a name that was meant for a setting.
const SLIPS: usize = 2;

/// Variables that had another name before. Passing over them would change what was set without a word.
const RENAMED: [(&str, &str); 1] = [("LEASEHOLD_WAIT_PATIENCE", "LEASEHOLD_WAIT_TICKET_TTL")];

/// Returns true if a variable that names no setting seems to be meant for the address of the store. Kubernetes gives
/// addresses too, of the scheme `tcp`.
pub(super) fn is_near_store(name: &str, value: &OsStr) -> bool {
    let names = ["LEASEHOLD_STORE", "LEASEHOLD_URL", "LEASEHOLD_REDIS_URL"];
    let schemes = ["redis://", "rediss://", "redis+", "rediss+", "unix://", "quorum://"];
    let address = value.to_string_lossy();
    names.contains(&&*name.to_uppercase()) || schemes.iter().any(|scheme| address.starts_with(scheme))
}

/// Settings without a default, which the embedded file has in comments.
const WITHOUT_DEFAULT: [(&str, &str); 4] = [
    ("lease", "renewal_interval"),
    ("backoff", "preset"),
    ("backoff", "attempts"),
    ("store", "response_timeout"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// This key of this section.
    Setting(&'a str, &'a str),
    /// A misspelling of this variable.
    Misspelt(String),
    /// Nothing that concerns this library.
    Foreign,
}

/// Returns the meaning of a variable whose name begins with [`PREFIX`], and is not [`FILE`]. The sections have every setting
/// with a default.
pub(super) fn meaning<'a>(name: &str, sections: &'a Table) -> Meaning<'a> {
    let settings = settings(sections);
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
fn settings(sections: &Table) -> Vec<(String, &str, &str)> {
    let with_default = sections.iter().flat_map(|(section, body)| {
        let keys = body.as_table().into_iter().flat_map(Table::keys);
        keys.map(move |key| (section.as_str(), key.as_str()))
    });
    let named = |(section, key)| (format!("{PREFIX}{section}_{key}").to_uppercase(), section, key);
    with_default.chain(WITHOUT_DEFAULT).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn defaults() -> Table {
        Config::DEFAULT_TOML.parse().unwrap()
    }

    #[test]
    fn every_setting_that_is_read_is_in_the_embedded_file_and_has_a_variable() {
        let mut section = "";
        let key = |line: &'static str| {
            section = line.strip_prefix('[').map_or(section, |line| line.trim_end_matches(']'));
            let name = line.trim_start_matches("# ").split_once(" = ")?.0;
            let is_key = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            is_key.then(|| format!("{section}.{name}"))
        };
        let mut in_file: Vec<String> = Config::DEFAULT_TOML.lines().filter_map(key).collect();
        let defaults = defaults();
        // The error about a key that there is not lists those that there are.
        let mut read: Vec<String> = Vec::new();
        for section in defaults.keys() {
            let error = Config::from_toml(&format!("{section}.unknown = 1")).unwrap_err().to_string();
            read.extend(error.split('`').skip(3).step_by(2).map(|key| format!("{section}.{key}")));
        }
        let mut known: Vec<String> =
            settings(&defaults).into_iter().map(|(_, section, key)| format!("{section}.{key}")).collect();
        for keys in [&mut in_file, &mut read, &mut known] {
            keys.sort();
        }
        assert_eq!(known, in_file);
        assert_eq!(known, read);
    }

    #[test]
    fn a_renamed_variable_is_told_its_name_of_today() {
        for (before, now) in RENAMED {
            assert_eq!(meaning(before, &defaults()), Meaning::Misspelt(now.to_owned()));
            assert!(matches!(meaning(now, &defaults()), Meaning::Setting(..)), "{now}");
        }
    }

    #[test]
    fn what_kubernetes_and_docker_set_for_a_service_is_foreign() {
        let defaults = defaults();
        let services = defaults.keys().map(|section| format!("{PREFIX}{section}").to_uppercase());
        for service in services.chain(["LEASEHOLD".to_owned()]) {
            let ports = ["TCP", "UDP", "SCTP"].into_iter().flat_map(|protocol| {
                ["", "_PROTO", "_PORT", "_ADDR"].map(|end| format!("PORT_6379_{protocol}{end}"))
            });
            let usual =
                ["PORT", "HOST", "NAME", "ENV_PATH", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_REDIS"];
            for word in usual.map(str::to_owned).into_iter().chain(ports) {
                let name = format!("{service}_{word}");
                assert_eq!(meaning(&name, &defaults), Meaning::Foreign, "{name}");
            }
        }
    }
}
