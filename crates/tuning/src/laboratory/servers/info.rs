//! The figures that servers tell of themselves: the processor time that they have used, and the scripts that they have run.

use std::time::Duration;

use leasehold::{StoreUrl, probe::before_sending};
use redis::{Connection, RedisResult};

use super::Failure;

/// The servers of a store, and a connection to each of them.
pub(super) struct Servers(Vec<Connection>);

/// The work of servers since their start, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerWork {
    pub(super) processor: Duration,
    /// The calls of scripts: every verb of a store is one.
    pub(super) calls: u64,
}

/// Returns the addresses of the single servers that the address of a store names.
///
/// # Errors
/// When it is no address of single servers.
pub fn addresses(url: &str) -> Result<Vec<String>, Failure> {
    let inner = url.strip_prefix("quorum://[").and_then(|rest| rest.strip_suffix(']'));
    let addresses: Vec<String> = match inner {
        Some(inner) => inner.split(',').map(|url| url.trim().to_owned()).collect(),
        None => vec![url.to_owned()],
    };
    let is_server = |url: &String| ["redis://", "rediss://"].iter().any(|scheme| url.starts_with(scheme));
    if addresses.iter().all(is_server) {
        return Ok(addresses);
    }
    Err("redis://, rediss://, or quorum://[url,url,…] of these is expected here".into())
}

impl Servers {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        let connect = |url: String| {
            connect(&url).map_err(|error| {
                let server = StoreUrl::from(url);
                let error = before_sending(error);
                format!("{server} cannot be used: {error}; check its address, user and password")
            })
        };
        Ok(Self(addresses(url)?.into_iter().map(connect).collect::<Result<_, _>>()?))
    }

    /// Asks all of them.
    pub(super) fn done(&mut self) -> Result<ServerWork, Failure> {
        let mut sum = ServerWork::default();
        for connection in &mut self.0 {
            let text: String = redis::cmd("INFO").arg("cpu").query(connection)?;
            sum.processor += processor(&text).ok_or("INFO cpu tells no used_cpu_user and used_cpu_sys")?;
            let text: String = redis::cmd("INFO").arg("commandstats").query(connection)?;
            sum.calls += calls(&text);
        }
        Ok(sum)
    }
}

impl ServerWork {
    /// Returns what was done since then.
    pub(super) fn since(self, then: Self) -> Self {
        Self {
            processor: self.processor.saturating_sub(then.processor),
            calls: self.calls.saturating_sub(then.calls),
        }
    }
}

fn connect(url: &str) -> RedisResult<Connection> {
    let client = redis::Client::open(url)?;
    let connection = client.get_connection_with_timeout(Duration::from_secs(2))?;
    connection.set_read_timeout(Some(Duration::from_secs(2)))?;
    Ok(connection)
}

fn processor(info: &str) -> Option<Duration> {
    let seconds = |name: &str| -> Option<f64> {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    Some(Duration::from_secs_f64(seconds("used_cpu_user")? + seconds("used_cpu_sys")?))
}

fn calls(info: &str) -> u64 {
    let script = |line: &str| {
        let stats = line.strip_prefix("cmdstat_evalsha:calls=")?;
        stats.split(',').next()?.parse().ok()
    };
    // A server that has run none does not name them.
    info.lines().find_map(script).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_and_calls_are_read_from_info() {
        let info =
            "# CPU\r\nused_cpu_sys:1.250000\r\nused_cpu_user:0.500000\r\nused_cpu_sys_children:9.0\r\n";
        assert_eq!(processor(info), Some(Duration::from_millis(1_750)));
        assert_eq!(processor("# CPU"), None);
        let stats =
            "# Commandstats\r\ncmdstat_get:calls=4,usec=9\r\ncmdstat_evalsha:calls=71,usec=900,x=1\r\n";
        assert_eq!((calls(stats), calls("# Commandstats")), (71, 0));
    }

    #[test]
    fn a_quorum_is_its_servers_and_other_stores_are_refused() {
        let found = addresses("quorum://[redis://a:1, redis://b:2]").unwrap();
        assert_eq!(found, ["redis://a:1", "redis://b:2"]);
        for url in ["memory://", "redis+cluster://a", "quorum://[memory://]"] {
            assert!(addresses(url).unwrap_err().to_string().starts_with("redis://"), "{url}");
        }
    }
}
