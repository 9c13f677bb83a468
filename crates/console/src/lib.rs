//! The console: pages for the browser, an API in JSON and a stream of events about the locks of a store.
//!
//! # Layout
//! [`view`] and [`observe`] are pure, and the command line stands on them too: a resource with its holders and waiters as JSON and
//! as words, and the events between two looks at it. `observer` is the actor that looks at the store once a second, with a
//! history of bounded size. `model` has the other bodies of the API as plain values, and `read` fills them; `recent` keeps the
//! walks of many pages few. `pages` shows them as HTML, `api` as JSON with its description, and `events` tells that something has
//! changed. `admission` is the way in, `guard` says who may read and change, `changes` makes changes and writes the audit, and
//! `made` has the latest of them. `shared` is what the workers of a server share. **Invariant:** nothing is changed without a `Change`, which only the guard
//! makes.
#![doc(test(attr(deny(warnings))))]

mod admission;
mod api;
mod builder;
mod changes;
mod console;
mod described;
mod events;
mod examine;
mod failure;
mod guard;
mod made;
mod model;
pub mod observe;
mod observer;
mod pages;
mod read;
mod recent;
mod shared;
pub mod view;

use actix::Addr;
use leasehold::LockManager;

pub use self::{
    builder::ConsoleBuilder,
    console::{Console, Contention},
};

/// Returns the builder of a console for the store of this manager. docs/console.md has what it shows, and how it is kept.
///
/// ```no_run
/// use actix_web::{App, HttpServer, web::scope};
/// use leasehold::{Config, web::serve};
/// use leasehold_console::console;
///
/// #[actix_web::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let locks = Config::load()?.start()?;
///     // Once, and outside of the closure: all workers share it.
///     let console = console(locks.clone()).start()?;
///     let server = HttpServer::new(move || App::new().service(scope("/locks").service(console.clone())));
///     serve(server.bind("127.0.0.1:8080")?, locks).await?;
///     Ok(())
/// }
/// ```
pub fn console(locks: Addr<LockManager>) -> ConsoleBuilder {
    ConsoleBuilder::new(locks)
}
