//! Readable `Debug` output for errors, for programs that print them with `{:?}`.

use std::{error::Error, fmt};

/// Returns a number with what is counted, which is named by its singular.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns the first so many characters of a text, with a mark if there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns an error in one line, with each of its sources that it does not mention itself.
pub fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = error.source();
    }
    line
}

/// Writes the name of the type, and in brackets the error in one line.
pub(crate) fn readable(f: &mut fmt::Formatter<'_>, name: &str, error: &dyn Error) -> fmt::Result {
    write!(f, "{name}({})", one_line(error))
}

/// Implements `Debug` for error types, as [`readable`] text.
macro_rules! readable_debug {
    ($($error:ident),+ $(,)?) => {$(
        /// Writes the output that `main` shows for a returned error: the name, and the text of
        /// [`Display`](std::fmt::Display) with those of its sources.
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::core::readable(f, stringify!($error), self)
            }
        }
    )+};
}
pub(crate) use readable_debug;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl fmt::Display for Failed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|source| source as _)
        }
    }

    #[test]
    fn one_is_counted_in_the_singular() {
        assert_eq!([0, 1, 2].map(|it| counted(it, "attempt")), ["0 attempts", "1 attempt", "2 attempts"]);
    }

    #[test]
    fn a_source_is_told_once() {
        let refused = || Some(Box::new(Failed("refused", None)));
        assert_eq!(one_line(&Failed("127.0.0.1:1: refused", refused())), "127.0.0.1:1: refused");
        assert_eq!(one_line(&Failed("127.0.0.1:1", refused())), "127.0.0.1:1: refused");
    }
}
