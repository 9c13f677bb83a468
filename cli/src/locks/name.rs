//! Names on the command line: as the commands show them, or as they are.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser};
use leasehold::ResourceName;

/// The name of a resource, as it was typed.
#[derive(Clone, Debug)]
pub(crate) struct Name(pub(crate) ResourceName);

/// The beginning of names, as it was typed. An empty one is that of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefix(pub(crate) Vec<u8>);

/// Returns the parser of a name.
pub(crate) fn name() -> impl TypedValueParser<Value = Name> {
    OsStringValueParser::new().try_map(|typed| ResourceName::new(meant(&typed)).map(Name))
}

/// Returns the parser of the beginning of a name.
pub(crate) fn prefix() -> impl TypedValueParser<Value = Prefix> {
    OsStringValueParser::new().map(|typed| Prefix(meant(&typed)))
}

/// Returns the bytes that are meant: those of an encoded name, as the commands show names, or else those that were typed.
fn meant(typed: &OsString) -> Vec<u8> {
    let decoded = typed.to_str().and_then(|text| ResourceName::decode(text).ok());
    decoded.map_or_else(|| typed.as_encoded_bytes().to_vec(), |name| name.as_bytes().to_vec())
}

/// Returns an encoded name as the last argument of a line for a shell: behind two dashes, where it would be taken for an
/// option.
pub(crate) fn argument(name: &str) -> String {
    if name.starts_with('-') { format!("-- {}", quoted(name)) } else { quoted(name) }
}

/// Returns a word for a shell. Names are encoded, so there is no quote in them that would have to be escaped but the simple one.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,=".contains(&byte);
    if word.bytes().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

impl Name {
    /// Returns the line that looks at it with this command.
    pub(crate) fn look(&self, command: &str) -> String {
        format!("look with `leasehold {command} {}`", argument(&self.0.encoded()))
    }
}

impl Prefix {
    /// Returns the encoded text, which can be typed again.
    pub(crate) fn encoded(&self) -> String {
        ResourceName::encode_prefix(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_typed_as_it_is_shown_or_as_it_is() {
        for (typed, expected) in [
            ("orders/42", &b"orders/42"[..]),
            ("a b", b"a b"),
            ("a%20b", b"a b"),
            ("a%2520b", b"a%20b"),
            ("100%", b"100%"),
            ("%41", b"%41"),
            ("%FF", b"\xff"),
            ("köln", "köln".as_bytes()),
            ("", b""),
        ] {
            assert_eq!(meant(&typed.into()), expected, "{typed}");
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        for (word, expected) in [
            ("orders/42", "orders/42"),
            ("a;b", "'a;b'"),
            ("it's", r"'it'\''s'"),
            ("quorum://[redis://a,redis://b]", "'quorum://[redis://a,redis://b]'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn the_line_that_looks_at_a_name_can_be_typed() {
        for (name, expected) in [
            ("orders/42", "look with `leasehold show orders/42`"),
            ("a b", "look with `leasehold show a%20b`"),
            ("$(reboot)", "look with `leasehold show '$(reboot)'`"),
            ("-x", "look with `leasehold show -- -x`"),
        ] {
            assert_eq!(Name(ResourceName::new(name).unwrap()).look("show"), expected);
        }
    }
}
