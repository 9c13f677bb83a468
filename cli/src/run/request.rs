//! The request of `leasehold run`: what its options ask of the lock manager, and what the command is told of the lease.

use std::{env, ffi::OsString, path::Path, str::FromStr, time::Duration};

use leasehold::{Acquire, Config, InvalidValue, Lease, ReadLock};

use super::{Options, exit::End, voice::shown};

/// The longest time between TERM and KILL if none is given.
const USUAL_GRACE: Duration = Duration::from_secs(10);

/// The time to wait for a lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    AtMost(Duration),
    Forever,
}

/// A part of a resource: so many of its permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permits {
    count: u32,
    of: u32,
}

/// Reads a duration with its unit.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 500ms, 30s or 5m"))
}

/// Reads the time to wait.
pub(crate) fn wait(text: &str) -> Result<Wait, String> {
    match text {
        "forever" => Ok(Wait::Forever),
        text => time(text).map(Wait::AtMost),
    }
}

impl FromStr for Permits {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/').map(|(count, of)| (count.parse(), of.parse())) {
            Some((Ok(count), Ok(of))) => Ok(Self { count, of }),
            _ => Err("write it as 1/3, for one of three"),
        }
    }
}

/// Refuses a store that is nobody's but this process's: a lock there would exclude nobody.
pub(super) fn excludes_others(config: &Config) -> Result<(), End> {
    if config.store.url.reveal().starts_with("memory:") {
        let allowed = "a store that other processes reach, such as redis://localhost; give --store, \
                       LEASEHOLD_STORE_URL, or a file by --config or LEASEHOLD_CONFIG";
        return Err(End::config(&InvalidValue::new("store.url", &config.store.url, allowed)));
    }
    Ok(())
}

impl Options {
    /// Returns the request. Its values are checked by the lock manager.
    pub(super) fn request(&self, config: &Config) -> Acquire {
        let name = self.name.0.as_bytes();
        let mut request = match self.permits {
            Some(Permits { count, of }) => Acquire::new(name).permits(count, of),
            None if self.shared => ReadLock::new(name).into(),
            None => Acquire::new(name),
        };
        request = match self.wait {
            _ if self.tries || self.no_overlap => request.wait(Duration::ZERO),
            Some(Wait::AtMost(wait)) => request.wait(wait),
            Some(Wait::Forever) => request.wait_forever(),
            None => request,
        };
        if let Some(owner) = &self.owner {
            request = request.owner(owner);
        }
        if let Some(hold) = self.min_hold {
            request = request.min_hold(hold);
        }
        request.ttl(self.ttl(config)).purpose(self.purpose())
    }

    /// Returns the TTL of the lease.
    pub(super) fn ttl(&self, config: &Config) -> Duration {
        self.ttl.unwrap_or(config.lease.ttl)
    }

    /// Returns the purpose that others are told. Arguments are left out: one may be a password.
    fn purpose(&self) -> String {
        let named =
            || Path::new(&self.command[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.purpose.clone().unwrap_or_else(named)
    }

    /// Returns the time for an answer that suits the TTL of the lease, which may be shorter than the one of the configuration.
    pub(super) fn response_timeout(&self, config: &Config) -> Duration {
        let mut suited = config.clone();
        suited.lease.ttl = self.ttl(config);
        suited.lease.renewal_interval = Some(self.renewal_interval(config));
        // A TTL that is too short is refused by its own name.
        suited.response_timeout().max(Duration::from_millis(1))
    }

    /// Returns the interval between renewals: in the proportion that is configured.
    fn renewal_interval(&self, config: &Config) -> Duration {
        let share = config.lease.renewal_interval().as_secs_f64() / config.lease.ttl.as_secs_f64();
        self.ttl(config).mul_f64(share)
    }

    /// Returns the time between TERM and KILL. There has to be room for it between a renewal that is missed and the end of
    /// the lease, and as much again for the repetition of that renewal.
    pub(super) fn grace(&self, config: &Config) -> Result<Duration, End> {
        let ttl = self.ttl(config);
        let most = ttl.saturating_sub(self.renewal_interval(config)) / 2;
        match self.grace {
            None => Ok(USUAL_GRACE.min(most)),
            Some(grace) if grace <= most => Ok(grace),
            Some(grace) => {
                let allowed = format!(
                    "0s to {}, half of what a renewal leaves of the ttl of {}; for more, give a longer --ttl",
                    shown(most),
                    shown(ttl)
                );
                Err(End::usage(&InvalidValue::new("grace", shown(grace), allowed)))
            }
        }
    }

    /// Returns the name as all commands show it. It has no line feed, which would begin another state for the service manager.
    pub(super) fn shown_name(&self) -> String {
        self.name.0.to_string()
    }

    /// Returns the variables that tell the command about its lock, behind those that it does not inherit. `None`: the variable
    /// is not there.
    pub(super) fn environment(&self, lease: &Lease) -> Vec<(OsString, Option<OsString>)> {
        let ours = env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| self.clean_env && name.as_encoded_bytes().starts_with(b"LEASEHOLD_"));
        let told = [
            ("LEASEHOLD_FENCE", lease.fence().map(|fence| fence.to_string().into())),
            ("LEASEHOLD_TOKEN_PREFIX", Some(lease.token().prefix().to_string().into())),
            ("LEASEHOLD_RESOURCE", Some(self.shown_name().into())),
        ];
        ours.map(|name| (name, None)).chain(told.map(|(name, value)| (name.into(), value))).collect()
    }
}
