//! Text of strangers, as it is shown.

use std::fmt::Write;

/// Returns a text with everything escaped that is not printed as itself: control characters, characters that turn the
/// direction of a line around, and those that take no room. It is cut after so many characters.
///
/// It is not HTML: that is escaped where it is written.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(4 * most));
    for (at, it) in text.chars().enumerate() {
        if at == most {
            out.push('…');
            break;
        }
        match it {
            '"' | '\'' => out.push(it),
            // Also a backslash is doubled, so that two texts never look the same.
            // Writing to a string does not fail.
            it => drop(write!(out, "{}", it.escape_debug())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_print_as_itself_is_escaped_and_the_rest_is_left() {
        assert_eq!(shown("web-7 \"köln\" 'ä' <b>&", 100), "web-7 \"köln\" 'ä' <b>&");
        assert_eq!(shown("a\nb\0c\u{1b}[31m", 100), "a\\nb\\0c\\u{1b}[31m");
        assert_eq!(shown("a\u{202e}b\u{200b}c\\n", 100), "a\\u{202e}b\\u{200b}c\\\\n");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("abc", 3), "abc");
    }
}
