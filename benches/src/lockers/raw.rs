//! redis-rs used directly, as most would write it: `SET NX PX`, a compare-and-delete script, one multiplexed
//! connection, and another try every millisecond.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo, RedisResult, Script, aio::MultiplexedConnection,
};

use crate::{Failure, workloads::TTL};

pub(super) const AGAIN_AFTER: Duration = Duration::from_millis(1);

pub(super) const RELEASE: &str = "\
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0";

const RENEW: &str = "\
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0";

pub(crate) struct Raw {
    connection: MultiplexedConnection,
    release: Arc<Script>,
    renew: Arc<Script>,
}

#[derive(Clone)]
pub(crate) struct Held {
    pub(super) resource: String,
    pub(super) token: String,
}

impl Held {
    /// Creates the lock that a grant will make held.
    pub(super) fn new(resource: &str) -> Self {
        Self { resource: resource.to_owned(), token: token() }
    }
}

/// Opens a multiplexed connection without delays, with a limit to the time for an answer or without.
pub(super) async fn connection(url: &str, limit: Option<Duration>) -> Result<MultiplexedConnection, Failure> {
    let info = url.into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let client = Client::open(info.set_tcp_settings(tcp))?;
    // A process whose instructions are counted connects slowly.
    let minute = Some(Duration::from_secs(60));
    let config = AsyncConnectionConfig::new().set_response_timeout(limit).set_connection_timeout(minute);
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

/// 128 random bits, in digits.
pub(super) fn token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Takes the lock if it is free.
pub(super) async fn set(connection: &mut MultiplexedConnection, held: &Held) -> RedisResult<bool> {
    let mut set = redis::cmd("SET");
    set.arg(&held.resource).arg(&held.token).arg("NX").arg("PX").arg(TTL.as_millis() as u64);
    let done: Option<String> = set.query_async(connection).await?;
    Ok(done.is_some())
}

/// How long a task waits before it first renews what it just got, so that tasks do not renew all at once.
pub(super) fn first_renewal() -> Duration {
    (TTL / 3).mul_f64(0.5 + rand::random::<f64>() / 2.0)
}

impl Raw {
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        Ok(Self {
            connection: connection(url, None).await?,
            release: Arc::new(Script::new(RELEASE)),
            renew: Arc::new(Script::new(RENEW)),
        })
    }

    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        let held = Held::new(resource);
        self.take(&held).await?;
        Ok(held)
    }

    /// Acquires a resource. If the call is dropped, a lock that it was granted nevertheless is released in the background.
    pub(crate) async fn acquire_or_reclaim(&self, resource: &str) -> Result<Held, Failure> {
        let mut asked = Asked { locker: self, held: Some(Held::new(resource)) };
        if let Some(held) = &asked.held {
            self.take(held).await?;
        }
        asked.held.take().ok_or_else(|| "the lock is gone".into())
    }

    async fn take(&self, held: &Held) -> Result<(), Failure> {
        while !set(&mut self.connection.clone(), held).await? {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        Ok(())
    }

    pub(crate) async fn release(&self, held: Held) -> Result<(), Failure> {
        let mut call = self.release.key(held.resource);
        match call.arg(held.token).invoke_async(&mut self.connection.clone()).await? {
            1 => Ok(()),
            _ => Err("the lock was not held".into()),
        }
    }

    pub(crate) async fn keep(&self, resource: &str) -> Result<(), Failure> {
        let held = self.acquire(resource).await?;
        let (mut connection, renew) = (self.connection.clone(), Arc::clone(&self.renew));
        actix_rt::spawn(async move {
            let mut pause = first_renewal();
            loop {
                tokio::time::sleep(pause).await;
                pause = TTL / 3;
                let mut call = renew.key(&held.resource);
                call.arg(&held.token).arg(TTL.as_millis() as u64);
                // A lease that is not renewed ends, and is counted as lost.
                if call.invoke_async(&mut connection).await != Ok(1) {
                    return;
                }
            }
        });
        Ok(())
    }
}

/// A lock that was asked for; released when this is dropped before it was granted.
struct Asked<'a> {
    locker: &'a Raw,
    held: Option<Held>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        let (mut connection, release) = (self.locker.connection.clone(), Arc::clone(&self.locker.release));
        let mut release = Box::pin(async move {
            // If it fails, the lock stays, which is looked for.
            let _: RedisResult<u32> =
                release.key(held.resource).arg(held.token).invoke_async(&mut connection).await;
        });
        // It goes out now: behind the dropped attempt, and before the next one for the same resource.
        if (&mut release).now_or_never().is_none() {
            actix_rt::spawn(release);
        }
    }
}
