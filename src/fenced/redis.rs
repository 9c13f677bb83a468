//! Fenced writes to keys of Redis: set, unless a larger fence has been here.

use ::redis::{RedisError, Script, ScriptInvocation, ToSingleRedisArg, aio::ConnectionLike};

use super::{FencedWriteError, StaleFenceError};
use crate::{core::Fence, store::redis::net::cluster::slot};

type KeyResult = Result<(), FencedWriteError<RedisError>>;

/// Enters with a fence: from now on every smaller one is refused. Enter before you read what you are going to [`set`], or an
/// overtaken holder can write between the two.
///
/// # Errors
/// As for [`set`].
///
/// # Cancel safety
/// As for [`set`].
pub async fn enter(connection: &mut impl ConnectionLike, key: &str, fence: Fence) -> KeyResult {
    let script = Script::new(include_str!("redis/enter.lua"));
    invoke(script.key(fence_key(key)).arg(fence.get()), connection, fence).await
}

/// Sets a key, unless a larger fence has been here before. Read it with a plain `GET`.
///
/// The largest fence stands in a key beside it, [`fence_key`], which never expires: were it forgotten, an overtaken holder
/// could write again. Let no eviction policy remove it; a server without persistence forgets it when it restarts, and a
/// replica that takes over may not have it yet. All writers have to write in this way. As with `SET`, a time to live
/// that the key had is gone. There is no fenced deletion: set an empty value.
///
/// In a cluster both keys are in one slot.
///
/// ```no_run
/// # use leasehold::{Lease, fenced};
/// # async fn save(client: redis::Client, lease: Lease) -> Result<(), Box<dyn std::error::Error>> {
/// let mut connection = client.get_multiplexed_async_connection().await?;
/// let fence = lease.fence().ok_or("this store gives no fences")?;
/// fenced::redis::enter(&mut connection, "report", fence).await?;
/// // … read, and compute …
/// fenced::redis::set(&mut connection, "report", "42 orders", fence).await?;
/// # Ok(())
/// # }
/// # let _ = save;
/// ```
///
/// # Errors
/// [`FencedWriteError::Stale`], with the larger fence: nothing was written. [`FencedWriteError::Failed`]: the outcome is
/// unknown, unless the server has answered with an error. A fence key that holds no number is such an error, and lets nobody write.
///
/// # Cancel safety
/// The key may be set or not, as with any command that is dropped.
pub async fn set(
    connection: &mut impl ConnectionLike,
    key: &str,
    value: impl ToSingleRedisArg,
    fence: Fence,
) -> KeyResult {
    let script = Script::new(concat!(include_str!("redis/enter.lua"), include_str!("redis/set.lua")));
    let mut call = script.prepare_invoke();
    call.key(fence_key(key)).key(key).arg(fence.get()).arg(value);
    invoke(&call, connection, fence).await
}

async fn invoke(
    call: &ScriptInvocation<'_>,
    connection: &mut impl ConnectionLike,
    fence: Fence,
) -> KeyResult {
    match call.invoke_async::<Option<u64>>(connection).await {
        Ok(None) => Ok(()),
        Ok(Some(known)) => Err(StaleFenceError::new(fence, Some(Fence::new(known))).into()),
        Err(error) => Err(FencedWriteError::Failed(error)),
    }
}

/// Returns the key of the largest fence that has been at this key. In a cluster it is in the same slot.
///
/// ```
/// use leasehold::fenced::redis::fence_key;
///
/// assert_eq!(fence_key("report"), "leasehold.fence:{report}");
/// assert_eq!(fence_key("reports:{7}"), "leasehold.fence:tag:reports:{7}");
/// // The slot is that of the whole key, which cannot be a hash tag. That of `{20658}` is the same.
/// assert_eq!(fence_key("a}b"), "leasehold.fence:slot:{20658}:a}b");
/// ```
pub fn fence_key(key: &str) -> String {
    // The tag is what stands between the first `{` and the next `}`, unless that is nothing.
    let after = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    match after {
        Some((tag, _)) if !tag.is_empty() => format!("leasehold.fence:tag:{key}"),
        None if !key.is_empty() && !key.contains('}') => format!("leasehold.fence:{{{key}}}"),
        _ => format!("leasehold.fence:slot:{{{}}}:{key}", slot::tag(slot::of_key(key.as_bytes()))),
    }
}
