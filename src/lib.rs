//! A distributed lock manager that actix applications embed as actors, on Redis.
//!
//! ```
//! use std::time::Duration;
//! use leasehold::{Acquire, Config, Shutdown, WithLock};
//!
//! #[actix::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let locks = Config::load()?.start()?; // Addr<LockManager>: clone it into every handler
//!     let request = Acquire::new("orders/42").wait(Duration::from_secs(2));
//!     let done = locks
//!         .with_lock(request, async |lease| {
//!             format!("the work, with fence {:?}", lease.fence()) // stopped if the lease is lost: the outcome is then unknown
//!         })
//!         .await?; // released
//!     println!("{}", done.value);
//!     locks.send(Shutdown { drain: Duration::ZERO }).await?; // the last line of main: what is still held is released
//!     Ok(())
//! }
//! ```
//!
//! Without configuration, locks live in the memory of the process, and the log says so. For a server set
//! `LEASEHOLD_STORE_URL=redis://127.0.0.1:6379`. Starting needs an actix system, or [`start_anywhere`], and no server: while
//! Redis is down, requests are answered with an error that says so.
//!
//! # What there is
//!
//! | You want | How |
//! |---|---|
//! | to work under a lock, in one statement | [`WithLock::with_lock`] |
//! | the same on a thread that blocks: diesel, `web::block`, `SyncArbiter` | [`WithLock::with_lock_blocking`], [`BlockingLocks`] |
//! | a program without actix: axum, tonic, plain tokio | [`start_anywhere`] |
//! | code that must not run without its lock | [`assert_held`] |
//! | a lease to hold on to, and to watch | [`Acquire`], which is answered with a [`Lease`] |
//! | many readers, one writer | [`ReadLock`], [`WriteLock`] |
//! | at most so many at a time; the same owner again | `permits` and `owner` of [`Acquire`] |
//! | several resources, all or none | [`AcquireAll`] |
//! | a lock back from whoever holds it | [`Revoke`] |
//! | a lease that goes on in another process, or after a restart | [`Lease::into_ticket`], [`Adopt`] |
//! | to know who holds what | [`Inspect`], [`List`], [`Leases`], [`Stats`] |
//! | as many workers at a time as an operator says | [`SetCapacity`], [`Lease::slot`] |
//! | one actor in the whole fleet, or to be told who leads | [`election`] |
//! | one actor for each share of the keys, in the whole fleet | [`partitions`] |
//! | ticks, each at most once in the fleet | [`schedule`] |
//! | writes that an overtaken holder cannot make | [`fenced`] |
//! | locks of handlers and scopes, errors as responses, a health check | `web`, with the feature `actix-web` |
//! | to know what is wrong with a deployment | the package `leasehold-doctor` |
//! | a store of your own | [`store`] |
//! | a page for the browser: who holds, who waits | the package `leasehold-console` |
//! | settings that adapt to the load, and to predict how they behave | the package `leasehold-tuning` |
//! | tests without a server, in virtual time | [`mod@env`], and the package `leasehold-testing` |
//!
//! # Promises
//! Two conflicting leases of one resource are never valid at the same time, as long as the store keeps what it acknowledged
//! and clocks run at about the same rate. You learn that a lease is lost before anybody else can get it. An answer is
//! certainly yes, certainly no, or unknown ([`Certainty`]). Nothing stays blocked for longer than one TTL after its holder
//! died. The file `README.md` has all promises, and `docs/limits.md` what no lock on Redis can promise.
//!
//! # More to read
//! The package has these files, which are no part of these pages: `docs/recipes.md`, `docs/configuration.md`,
//! `docs/operations.md`, `docs/observability.md`, `docs/limits.md`, `docs/wire-format.md`, and the programs in `examples`.
//!
//! # Layout
//! `core` makes the decisions, from the time and the random numbers that it is given; `runtime` supplies both, and has tools
//! around actix. [`store`] defines where locks live and what every store guarantees. `lease` is what a caller holds, `request`
//! what a caller asks, and `manager` the actor between them and the store. `listeners` count what happens. `fenced` is
//! what only a holder can write, `leading` what an elected process does. `config` is `config.toml` as a value.
//! `docs/architecture.md` has the whole picture.
#![doc(test(attr(deny(warnings))))]
#![forbid(unsafe_code)]

#[macro_use]
mod planted;

mod config;
mod core;
pub mod fenced;
mod leading;
mod lease;
mod listeners;
mod manager;
mod request;
mod runtime;
pub mod store;
#[cfg(feature = "actix-web")]
pub mod web;

pub use self::{
    config::{Config, ConfigError, StoreConfig, StoreUrl, TunerSettings},
    core::{
        Backoff, Fence, InvalidValue, Jitter, LeaseStatus, LossReason, Mode, Owner, ResourceName, Token,
        TokenPrefix,
    },
    leading::{election, partitions, schedule},
    lease::{
        Lease, LeaseChange, LeaseEvent, LeaseLostError, LeaseSet, LeaseTicket, NotHeldError, Release,
        ReleaseError, ReleaseSetError, Released, Renew, RenewError, RevokeRequested, assert_held,
    },
    listeners::statistics::{Distribution, Statistics, Summary},
    manager::{
        LockManager, LockManagerBuilder,
        anywhere::{ManagerThread, start_anywhere},
        blocking::BlockingLocks,
        with_lock::{Done, WithLock, WithLockError},
    },
    request::{
        Acquire, AcquireAll, AcquireError, Adopt, AdoptError, Drained, Inspect, InspectError, IsHeld,
        LeaseSettings, Leases, LimitSettings, List, OwnLease, OwnLeases, OwnWaiter, ReadLock, Ready, Request,
        Revoke, RevokeError, Revoked, SHORTEST_TTL, SetCapacity, SetTuning, Settings, Shutdown, StartError,
        Stats, SupervisionSettings, Tuning, WaitSettings, WriteLock,
    },
    runtime::env,
    store::{
        error::{Certainty, NodeFailure, StoreError},
        inspection::{Durability, Holder, HolderState, Inspection, Listing, Waiter},
        memory::MemoryStore,
        quorum::{QuorumOptions, QuorumStore},
        redis::{Credentials, CredentialsProvider, Layout, RedisOptions, RedisStore},
    },
};

/// The cargo features that this build of the library has, in the order of their names.
pub const FEATURES: &[&str] = &[
    #[cfg(feature = "actix-web")]
    "actix-web",
    #[cfg(feature = "cron")]
    "cron",
    #[cfg(feature = "metrics")]
    "metrics",
    #[cfg(feature = "opentelemetry")]
    "opentelemetry",
    #[cfg(feature = "spans")]
    "spans",
    #[cfg(feature = "tls")]
    "tls",
];

/// The text of values, as errors, logs and configurations write and read it.
pub mod text {
    pub use crate::{
        core::{counted, exact, in_range, one_line, rough},
        request::settings::{duration, given_duration},
    };
}

/// The requests of a manager, one by one, for whoever records them.
pub mod trace {
    pub use crate::listeners::trace::{BeginTrace, EndTrace, TraceSink, Traced};
}

/// What only the other packages of this project use: the rules of a quorum and what its nodes tell, the shares of members, and
/// what a manager tells a tuner. It may change without notice.
#[doc(hidden)]
pub mod rules {
    pub use crate::{
        core::{
            AHEAD_AT_MOST, Incarnation, NotYet, Recovered, Report, Tally, Verdict, abstains_for,
            drift_allowance, granted_fence, guard_band, is_known, lessons, majority, validity_left,
            without_addresses,
        },
        leading::partitions::shares::shares,
        request::tuning::{AskLoad, Queue, Sample, Sampled},
        store::node::{AcquiredFrom, HandOff},
    };
}

/// The way to the servers of a deployment, for the doctor. It may change without notice.
#[doc(hidden)]
pub mod probe {
    pub use crate::store::redis::probe::{
        Exchange, MasterTerm, NamedServers, NodeAddress, Nodes, Opinion, SLOTS, Server, SlotRange, address,
        age, before_sending, is_append_only, named, number, opinion, questions, ranges, recovered,
        recovered_key, slot, syncs_always, table,
    };
}
