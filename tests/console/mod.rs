//! The console: what its pages and its API tell, who may change something, and what is refused. In virtual time.

mod changes;
mod description;
mod guard;
mod observer;
mod odd;
mod pages;
pub(crate) mod site;
mod stream;
