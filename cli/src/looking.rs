//! The lock manager of a command that looks: it takes no lock, renews nothing, and opens no connection for notifications.

use std::{future::pending, io, os::fd::AsFd, sync::Arc, thread};

use actix::{Addr, MailboxError};
use futures_util::{StreamExt, TryStreamExt, stream};
use leasehold::{
    Inspect, InspectError, List, Listing, LockManager, LockManagerBuilder, ReleaseError, ResourceName,
    RevokeError, StoreError,
};
use leasehold_console::view::ResourceView;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::{
    Failure, outcome, print,
    settings::{self, Source},
};

/// The number of resources that are asked about at once.
const AT_ONCE: usize = 64;

/// The largest number of holders, and of waiters, of a resource that a store tells.
pub(crate) const TOLD_AT_MOST: usize = 400;

/// The address of the lock manager of a command.
pub(crate) type Locks = Addr<LockManager>;

/// Runs work with a lock manager of the configured store.
///
/// # Errors
/// That of the work, and of a configuration that is wrong. A store in memory is refused: it belongs to another process.
pub(crate) fn with<T>(
    source: &Source,
    work: impl AsyncFnOnce(Locks) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_manager(source, LockManagerBuilder::without_notifications, work)
}

/// Does the same with a lock manager that is set up like this.
pub(crate) fn with_manager<T>(
    source: &Source,
    set_up: impl FnOnce(LockManagerBuilder) -> LockManagerBuilder,
    work: impl AsyncFnOnce(Locks) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = source.config()?;
    if config.store.url.reveal().starts_with("memory:") {
        let told = format!(
            "store.url is memory:// (configured by: {}), whose locks are in the process that takes them; name the server with \
             --store URL, with the variable LEASEHOLD_STORE_URL or in a file: --config, LEASEHOLD_CONFIG, \
             ~/.config/leasehold/config.toml or /etc/leasehold/config.toml",
            settings::in_words(&config)
        );
        return Err(told.into());
    }
    actix::System::new().block_on(async {
        let manager = LockManager::builder(config.open_store()?).settings(config.settings());
        // In this thread: there is nothing to renew that this could hold up.
        work(set_up(manager).start_here()?).await
    })
}

/// Asks who holds a resource and who waits for it: at most `limit` of each.
pub(crate) async fn inspect(
    locks: &Locks,
    resource: &ResourceName,
    limit: usize,
) -> Result<ResourceView, Failure> {
    let answer = locks.send(Inspect::new(resource.as_bytes()).limit(limit)).await;
    let found = answer.map_err(gone)?.map_err(query)?;
    Ok(ResourceView::of(resource, &found))
}

/// Asks about each of these, in their order. A record that is foreign or newer is an error of its own.
pub(crate) async fn inspect_each(
    locks: &Locks,
    resources: Vec<ResourceName>,
    limit: usize,
) -> Result<Vec<(ResourceName, Result<ResourceView, Failure>)>, Failure> {
    let ask = async |resource: ResourceName| match inspect(locks, &resource, limit).await {
        Err(failure) if !is_unreadable(&failure) => Err(failure),
        answer => Ok((resource, answer)),
    };
    stream::iter(resources).map(ask).buffered(AT_ONCE).try_collect().await
}

/// A resource whose record cannot be read, as a line of JSON.
#[derive(Serialize)]
pub(crate) struct Unreadable {
    kind: &'static str,
    pub(crate) resource: String,
    trouble: String,
}

impl Unreadable {
    fn new(name: &ResourceName, failure: &Failure) -> Self {
        Self { kind: "unreadable", resource: name.to_string(), trouble: outcome::line(failure) }
    }

    /// Tells it on the standard error.
    pub(crate) fn tell(&self) {
        print::note(&format!("{}: {}", self.resource, self.trouble));
    }
}

/// Asks about each of these, in their order. Those whose record is foreign or newer are told, and returned besides.
pub(crate) async fn inspect_readable(
    locks: &Locks,
    resources: Vec<ResourceName>,
) -> Result<(Vec<ResourceView>, Vec<Unreadable>), Failure> {
    let (mut seen, mut unreadable) = (Vec::new(), Vec::new());
    for (name, answer) in inspect_each(locks, resources, 1).await? {
        match unless_unreadable(&name, answer)? {
            Ok(view) => seen.push(view),
            Err(foreign) => unreadable.push(foreign),
        }
    }
    Ok((seen, unreadable))
}

/// Returns the answer, or that the record is foreign or newer, which it tells.
pub(crate) fn unless_unreadable<T>(
    name: &ResourceName,
    answer: Result<T, Failure>,
) -> Result<Result<T, Unreadable>, Failure> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(failure) if is_unreadable(&failure) => {
            let unreadable = Unreadable::new(name, &failure);
            unreadable.tell();
            Ok(Err(unreadable))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns true if the record is foreign or newer.
fn is_unreadable(failure: &Failure) -> bool {
    matches!(failure.downcast_ref(), Some(StoreError::Corrupt { .. }))
}

/// Asks for a page of names.
pub(crate) async fn list(locks: &Locks, list: List) -> Result<Listing, Failure> {
    locks.send(list).await.map_err(gone)?.map_err(query)
}

/// Returns the error of a question that the lock manager did not answer. What it asked for may have been done.
pub(crate) fn gone(error: MailboxError) -> Failure {
    let doing = "the lock manager gave no answer".to_owned();
    StoreError::ReplyLost { doing, source: Some(Arc::new(error)) }.into()
}

/// Returns the error itself, without the kind of question that it is the answer to.
pub(crate) fn query(error: InspectError) -> Failure {
    match error {
        InspectError::Invalid(invalid) => invalid.into(),
        InspectError::Store(error) => error.into(),
        error => error.into(),
    }
}

/// As for a question.
pub(crate) fn revoke(error: RevokeError) -> Failure {
    match error {
        RevokeError::Invalid(invalid) => invalid.into(),
        RevokeError::Store(error) => error.into(),
        error => error.into(),
    }
}

/// As for a question.
pub(crate) fn release(error: ReleaseError) -> Failure {
    match error {
        ReleaseError::Store(error) => error.into(),
        error => error.into(),
    }
}

/// Completes when nobody reads the output any more. Never where that is not told: of a file, for instance.
pub(crate) async fn unread() {
    let (tell, told) = oneshot::channel();
    // It lasts as long as this process. If the system refuses it nobody is told, as of a file.
    let _ = thread::Builder::new().spawn(move || {
        let output = io::stdout();
        // Nothing but the end of the output is asked for.
        let ended = || poll(&mut [PollFd::new(output.as_fd(), PollFlags::empty())], PollTimeout::NONE);
        loop {
            match ended() {
                Err(Errno::EINTR) => {}
                Err(_) => return,
                Ok(_) => {
                    // It fails if whoever asked has gone.
                    let _ = tell.send(());
                    return;
                }
            }
        }
    });
    if told.await.is_err() {
        pending().await
    }
}

/// Completes when the command is told to end, by Ctrl-C or SIGTERM.
pub(crate) async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Then the signals end the process as they end any other.
        return pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
