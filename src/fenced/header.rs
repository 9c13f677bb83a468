//! The HTTP header that carries a fence to another service.

use crate::core::{Fence, InvalidValue};

/// The name of the header that carries the fence of a lease: a decimal number.
///
/// A fence can be compared only with others of the same resource. The receiver knows the resource by what the request
/// changes, `/orders/42` for instance.
///
/// ```
/// use leasehold::{Fence, fenced::{HEADER, parse_header}};
///
/// let fence = Fence::new(42); // of `lease.fence()`
/// let header = (HEADER, fence.to_string());
/// assert_eq!(parse_header(&header.1)?, fence);
/// # Ok::<_, leasehold::InvalidValue>(())
/// ```
pub const HEADER: &str = "leasehold-fence";

/// Reads the value of a [`HEADER`].
///
/// # Errors
/// [`InvalidValue`] when it is no decimal number of 64 bits.
pub fn parse_header(value: &str) -> Result<Fence, InvalidValue> {
    let is_decimal = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| is_decimal);
    number.map(Fence::new).ok_or_else(|| InvalidValue::new(HEADER, value, "a decimal number of 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_digits_and_nothing_else() {
        assert_eq!(parse_header("18446744073709551615"), Ok(Fence::new(u64::MAX)));
        for wrong in ["", "+7", "-7", " 7", "7.0", "0x7", "18446744073709551616", "seven"] {
            assert_eq!(parse_header(wrong).unwrap_err().field, HEADER, "{wrong}");
        }
    }
}
