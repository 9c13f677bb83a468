//! Text of strangers, as it is shown.

use std::borrow::Cow;

/// Returns the text with an escape in place of each character that a terminal obeys or that cannot be seen: control
/// characters, marks of the direction of writing, and others without a shape. It is not HTML, and the same if it is repeated.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return text.into();
    }
    let escape = |c: char| if is_printable(c) { c.to_string() } else { c.escape_debug().to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// Returns the printable text, cut after so many characters.
pub fn shown(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// Returns the same JSON, with escapes in place of what a terminal obeys. It stands in texts alone.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_printable) {
        return json.into();
    }
    let escape = |c: char| -> String {
        if is_printable(c) {
            return c.to_string();
        }
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars().map(escape).collect::<String>().into()
}

/// Returns true if a terminal shows the character as one. Which others there are, the standard library knows for `Debug`; it
/// escapes quotes and the backslash besides, which are harmless.
fn is_printable(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_is_left() {
        for (text, expected) in [
            ("it's a \"köln\" \\ ☃ <b>&", "it's a \"köln\" \\ ☃ <b>&"),
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\nb\tc\r\0", "a\\nb\\tc\\r\\0"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ] {
            assert_eq!(printable(text), expected);
            assert_eq!(printable(expected), expected);
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!([shown("abcdef", 3), shown("abc", 3), shown("ä\nbc", 2)], ["abc…", "abc", "ä\\n…"]);
    }

    #[test]
    fn json_is_the_same_value_without_what_a_terminal_obeys() {
        let text = "\u{1b}[2J \u{9b}31m \u{7f} \u{202e} köln \u{e0001} \"";
        let json = serde_json::to_string(text).unwrap();
        let escaped = printable_json(&json);
        assert!(escaped.chars().all(is_printable) && escaped.contains("köln"), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
