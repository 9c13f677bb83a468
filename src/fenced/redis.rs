//! Fenced writes to keys of Redis: set, unless a larger fence has been here.

use ::redis::{RedisError, Script, ToRedisArgs, aio::ConnectionLike};

use super::{FencedWriteError, StaleFence};
use crate::core::Fence;

/// Sets a key, unless a larger fence has set it before. Read it with a plain `GET`.
///
/// The largest fence stands in a key beside it, [`fence_key`], which never expires: were it forgotten, an overtaken holder
/// could write again. Let no eviction policy remove it. All writers have to write in this way.
///
/// In a cluster both keys are in one slot, unless the key has a `}` and no hash tag: the server refuses that with
/// `CROSSSLOT`.
///
/// ```no_run
/// # use leasehold::{Lease, fenced};
/// # async fn save(client: redis::Client, lease: Lease) -> Result<(), Box<dyn std::error::Error>> {
/// let mut connection = client.get_multiplexed_async_connection().await?;
/// let fence = lease.fence().ok_or("this store gives no fences")?;
/// fenced::redis::set(&mut connection, "report", "42 orders", fence).await?;
/// # Ok(())
/// # }
/// # let _ = save;
/// ```
///
/// # Errors
/// [`FencedWriteError::Stale`], with the larger fence: nothing was written. [`FencedWriteError::Failed`]: unknown, and the
/// call may be repeated.
///
/// # Cancel safety
/// The key may be set or not, as with any command that is dropped. It may be repeated.
pub async fn set(
    connection: &mut impl ConnectionLike,
    key: &str,
    value: impl ToRedisArgs,
    fence: Fence,
) -> Result<(), FencedWriteError<RedisError>> {
    let script = Script::new(include_str!("redis/set.lua"));
    let mut call = script.prepare_invoke();
    call.key(key).key(fence_key(key)).arg(value).arg(fence.get());
    match call.invoke_async::<Option<u64>>(connection).await {
        Ok(None) => Ok(()),
        Ok(Some(known)) => Err(StaleFence::new(fence, Some(Fence::new(known))).into()),
        Err(error) => Err(FencedWriteError::Failed(error)),
    }
}

/// Returns the key of the largest fence that has set this key. It has the same hash tag.
///
/// ```
/// use leasehold::fenced::redis::fence_key;
///
/// assert_eq!(fence_key("report"), "leasehold:fence:{report}");
/// assert_eq!(fence_key("reports:{7}"), "leasehold:fence:reports:{7}");
/// ```
pub fn fence_key(key: &str) -> String {
    // The tag is what stands between the first `{` and the next `}`, unless that is nothing.
    let after = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    match after {
        Some((tag, _)) if !tag.is_empty() => format!("leasehold:fence:{key}"),
        _ => format!("leasehold:fence:{{{key}}}"),
    }
}
