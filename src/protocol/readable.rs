//! Readable `Debug` output for errors, for programs that print them with `{:?}`.

use std::{error::Error, fmt};

/// Writes the name of the type, and in brackets the messages of the error and its sources, none of them twice.
pub(crate) fn readable(f: &mut fmt::Formatter<'_>, name: &str, error: &dyn Error) -> fmt::Result {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    write!(f, "{name}({text})")
}

/// Implements `Debug` for error types, as [`readable`] text.
macro_rules! readable_debug {
    ($($error:ident),+ $(,)?) => {$(
        /// Writes the output that `main` shows for a returned error: the name, and the text of
        /// [`Display`](std::fmt::Display) with those of its sources.
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::protocol::readable(f, stringify!($error), self)
            }
        }
    )+};
}
pub(crate) use readable_debug;
