//! Names that are valid by construction: resource, owner, token.

use std::{array, borrow::Cow, fmt, str::FromStr, sync::Arc};

use crate::core::InvalidValue;

/// The longest resource name and the longest owner, in bytes.
const LONGEST: usize = 512;
const ALLOWED: &str = "1 to 512 bytes";

/// The name of a resource: 1 to 512 arbitrary bytes.
///
/// Keys contain the name [encoded](Self::encoded), so that no byte of it can end the key's hash tag or be taken for a
/// pattern.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName(Arc<[u8]>);

impl ResourceName {
    /// Creates a name of 1 to 512 bytes.
    ///
    /// # Errors
    /// [`InvalidValue`] naming the length when the name is empty or longer.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, InvalidValue> {
        checked("resource", name.as_ref()).map(|name| Self(name.into()))
    }

    /// Returns the bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name as keys contain it: printable ASCII, with ``%{}*?[]^\" `` and every other byte as `%XX`.
    pub fn encoded(&self) -> String {
        encoded(&self.0).to_string()
    }

    /// Returns the bytes of the [encoded](Self::encoded) name, which mostly are those of the name.
    pub(crate) fn encoded_bytes(&self) -> Cow<'_, [u8]> {
        match self.0.iter().all(|&byte| is_literal(byte)) {
            true => Cow::Borrowed(&self.0),
            false => Cow::Owned(self.encoded().into_bytes()),
        }
    }

    /// Decodes an encoded name.
    ///
    /// # Errors
    /// [`InvalidValue`] when the text is not what [`encoded`](Self::encoded) writes.
    pub fn decode(encoded: &str) -> Result<Self, InvalidValue> {
        decode("resource", encoded).and_then(Self::new)
    }

    /// Encodes the beginning of a name, so that it matches the beginning of every [encoded](Self::encoded) name that
    /// starts with these bytes. An empty beginning matches every name.
    pub fn encode_prefix(prefix: &[u8]) -> String {
        encoded(prefix).to_string()
    }
}

/// The owner of re-entrant holds: a text of 1 to 512 bytes that one party of the application uses for itself alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Creates an owner from a text of 1 to 512 bytes.
    ///
    /// # Errors
    /// [`InvalidValue`] naming the length when the text is empty or longer.
    pub fn new(owner: impl AsRef<str>) -> Result<Self, InvalidValue> {
        checked("owner", owner.as_ref().as_bytes())?;
        Ok(Self(owner.as_ref().into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the owner as the store contains it, in the encoding of [`ResourceName::encoded`].
    pub fn encoded(&self) -> String {
        encoded(self.0.as_bytes()).to_string()
    }

    /// Decodes an encoded owner.
    ///
    /// # Errors
    /// [`InvalidValue`] when the text is not what [`encoded`](Self::encoded) writes.
    pub fn decode(encoded: &str) -> Result<Self, InvalidValue> {
        let bytes = decode("owner", encoded)?;
        let text = String::from_utf8(bytes).map_err(|_| InvalidValue::new("owner", encoded, "UTF-8 text"))?;
        Self::new(text)
    }
}

/// The secret of one acquisition: 128 random bits. Anyone who has it can renew and release.
///
/// `Debug` and logs show only its [prefix](Token::prefix).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u128);

impl Token {
    /// The number of characters that [`to_hex`](Self::to_hex) writes.
    pub const HEX_LEN: usize = 32;

    /// Creates a token from these bits, which must come from a good source of random numbers.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the whole token as 32 lower-case hexadecimal digits, as the store contains it.
    pub fn to_hex(self) -> String {
        self.hex().to_string()
    }

    /// Returns the bytes of [`to_hex`](Self::to_hex).
    pub(crate) fn digits(self) -> [u8; Self::HEX_LEN] {
        // Every verb writes a token, and formatting a number would take twice as long.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        array::from_fn(|at| DIGITS[(self.0 >> (4 * (Self::HEX_LEN - 1 - at))) as usize & 15])
    }

    /// Returns the text of [`to_hex`](Self::to_hex), to be written into another one.
    pub(crate) fn hex(self) -> impl fmt::Display {
        fmt::from_fn(move |f| f.write_str(str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?))
    }

    /// Returns a number in `0.0..1.0` that is as random as the token, and the same each time.
    pub(crate) fn spread(self) -> f64 {
        f64::from(self.0 as u32) / (f64::from(u32::MAX) + 1.0)
    }

    /// Returns the first 8 digits: enough to recognise a token, too little to use it.
    pub fn prefix(self) -> TokenPrefix {
        TokenPrefix((self.0 >> 96) as u32)
    }
}

impl FromStr for Token {
    type Err = InvalidValue;

    fn from_str(hex: &str) -> Result<Self, InvalidValue> {
        let digits =
            hex.len() == Self::HEX_LEN && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let bits = if digits { u128::from_str_radix(hex, 16).ok() } else { None };
        bits.map(Self).ok_or_else(|| InvalidValue::new("token", "a text", "32 lower-case hexadecimal digits"))
    }
}

/// The first 8 digits of a [`Token`], for logs and views.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenPrefix(u32);

fn checked<'a>(field: &str, bytes: &'a [u8]) -> Result<&'a [u8], InvalidValue> {
    match bytes.len() {
        0 => Err(InvalidValue::new(field, "an empty name", ALLOWED)),
        1..=LONGEST => Ok(bytes),
        more => Err(InvalidValue::new(field, format_args!("a name of {more} bytes"), ALLOWED)),
    }
}

const fn is_literal(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(byte, b'%' | b'{' | b'}' | b'*' | b'?' | b'[' | b']' | b'^' | b'\\' | b'"')
}

/// Returns the text of these bytes as the store contains them.
fn encoded(bytes: &[u8]) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let literal = rest.iter().take_while(|&&byte| is_literal(byte)).count();
            match str::from_utf8(&rest[..literal]) {
                Ok(run) if literal > 0 => f.write_str(run)?,
                _ => write!(f, "%{first:02X}")?,
            }
            rest = &rest[literal.max(1)..];
        }
        Ok(())
    })
}

fn decode(field: &str, text: &str) -> Result<Vec<u8>, InvalidValue> {
    let wrong = || InvalidValue::new(field, text, "printable ASCII with %XX for every other byte");
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
        out.push((high * 16 + low) as u8);
    }
    if encoded(&out).to_string() == text { Ok(out) } else { Err(wrong()) }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        encoded(&self.0).fmt(f)
    }
}

impl fmt::Debug for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceName({self})")
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}…)", self.prefix())
    }
}

impl fmt::Display for TokenPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Debug for TokenPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for TokenPrefix {
    type Err = InvalidValue;

    fn from_str(hex: &str) -> Result<Self, InvalidValue> {
        // A number may have a sign.
        let digits = hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = if digits { u32::from_str_radix(hex, 16).ok() } else { None };
        bits.map(Self).ok_or_else(|| InvalidValue::new("token prefix", "a text", "8 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_name_reads_back_and_holds_no_brace_no_pattern_and_no_blank_whatever_its_bytes() {
        let every_byte: Vec<u8> = (0..=255).collect();
        for name in [&every_byte[..], b"orders/42", b"{}", b"}{z}", b"%41", "köln ☃".as_bytes(), b"\0"] {
            let name = ResourceName::new(name).unwrap();
            let encoded = name.encoded();
            assert_eq!(ResourceName::decode(&encoded).unwrap(), name);
            assert!(encoded.bytes().all(|b| b.is_ascii_graphic()));
            assert!(!encoded.contains(['{', '}', '*', '?', '[', ']', '\\', '^', '"']));
        }
    }

    #[test]
    fn two_ways_to_write_one_name_are_not_both_accepted() {
        for text in ["%4", "%zz", "%41", "a b", "{", "%7b", ""] {
            assert!(ResourceName::decode(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_and_owners_have_1_to_512_bytes() {
        assert!(ResourceName::new([0; 512]).is_ok());
        let long = ResourceName::new([0; 513]).unwrap_err().to_string();
        assert_eq!(long, "invalid resource: a name of 513 bytes (allowed: 1 to 512 bytes)");
        let none = Owner::new("").unwrap_err().to_string();
        assert_eq!(none, "invalid owner: an empty name (allowed: 1 to 512 bytes)");
    }

    #[test]
    fn an_owner_reads_back_and_shows_itself_as_it_is() {
        let text = "worker \"7\" {ü}";
        let owner = Owner::new(text).unwrap();
        assert_eq!(Owner::decode(&owner.encoded()).unwrap(), owner);
        assert!(Owner::decode("%FF").is_err());
        assert_eq!((owner.as_str(), owner.to_string()), (text, text.to_owned()));
        assert_eq!(format!("{owner:?}"), format!("Owner({text:?})"));
    }

    #[test]
    fn a_token_and_its_prefix_read_back_and_the_token_shows_only_that() {
        let token = Token::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(token.to_hex().parse::<Token>().unwrap(), token);
        assert_eq!(format!("{token:?} {:?}", token.prefix()), "Token(01234567…) 01234567");
        for wrong in ["", "0123", "+1234567890123456789012345678901", "0123456789ABCDEF0123456789ABCDEF"] {
            assert!(wrong.parse::<Token>().is_err(), "{wrong}");
        }
        assert_eq!("0123abcd".parse::<TokenPrefix>().unwrap().to_string(), "0123abcd");
        for wrong in ["", "0123abc", "0123abcde", "0123abcg", "+000626d", "-000626d"] {
            assert_eq!(wrong.parse::<TokenPrefix>().unwrap_err().field, "token prefix", "{wrong:?}");
        }
    }

    #[test]
    fn a_name_shows_itself_encoded() {
        let name = ResourceName::new(b"orders/{42}").unwrap();
        assert_eq!((name.as_bytes(), name.to_string()), (&b"orders/{42}"[..], name.encoded()));
        assert_eq!(format!("{name:?}"), format!("ResourceName({})", name.encoded()));
        assert!(name.encoded().starts_with(&ResourceName::encode_prefix(b"orders/{")));
    }

    #[test]
    fn the_encoded_bytes_and_the_encoded_beginning_are_those_of_the_encoded_name() {
        for (name, expected) in [("orders/42", "orders/42"), ("a b", "a%20b"), ("ü", "%C3%BC")] {
            let resource = ResourceName::new(name).unwrap();
            assert_eq!(&*resource.encoded_bytes(), expected.as_bytes());
            assert_eq!(ResourceName::encode_prefix(name.as_bytes()), expected);
        }
    }

    #[test]
    fn a_token_spreads_from_zero_to_less_than_one_by_its_last_digits() {
        let spread = |bits| Token::from_bits(bits).spread();
        assert_eq!([spread(0), spread(1 << 31), spread(1 << 30), spread(7 << 64)], [0.0, 0.5, 0.25, 0.0]);
        let largest = spread(u128::MAX);
        assert!(largest < 1.0 && largest > 0.999_999, "{largest}");
    }
}
