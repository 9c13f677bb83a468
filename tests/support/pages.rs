//! The pages of the documentation, whose examples are compiled and run as doctests.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/ten-minutes.md")]
mod ten_minutes {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/recipes.md")]
mod recipes {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/election.md")]
mod election {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/schedule.md")]
mod schedule {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/observability.md")]
mod observability {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/fences.md")]
mod fences {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/console.md")]
mod console {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/revoke.md")]
mod revoke {}
