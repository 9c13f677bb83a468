//! The slots of a cluster: the slot of a key, and a short text for each slot.

use std::sync::LazyLock;

/// The number of slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// Returns the slot of a hash tag: its CRC-16 (XMODEM), modulo the number of slots.
pub(crate) fn of_tag(tag: &[u8]) -> u16 {
    tag.iter().fold(0, |crc: u16, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) ^ u16::from(byte))])
        % SLOTS
}

/// Returns the slot of a key: that of what stands between its first `{` and the next `}`, if anything does, or else
/// that of the whole key.
pub(crate) fn of_key(key: &[u8]) -> u16 {
    let tag = || {
        let start = key.iter().position(|&byte| byte == b'{')? + 1;
        let length = key[start..].iter().position(|&byte| byte == b'}')?;
        (length > 0).then(|| &key[start..start + length])
    };
    of_tag(tag().unwrap_or(key))
}

/// Returns a hash tag that is in this slot: the smallest number in digits.
pub(crate) fn tag(slot: u16) -> u32 {
    static TAGS: LazyLock<Vec<u32>> = LazyLock::new(|| {
        let mut tags = vec![None; usize::from(SLOTS)];
        let mut left = tags.len();
        let mut number = 0_u32;
        while left > 0 {
            let tag = &mut tags[usize::from(of_tag(number.to_string().as_bytes()))];
            left -= usize::from(tag.is_none());
            tag.get_or_insert(number);
            number += 1;
        }
        tags.into_iter().flatten().collect()
    });
    TAGS[usize::from(slot)]
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // As `CLUSTER KEYSLOT` answers.
        for (tag, slot) in [("123456789", 12_739), ("foo", 12_182), ("a", 15_495)] {
            assert_eq!(of_tag(tag.as_bytes()), slot, "{tag}");
        }
    }

    #[test]
    fn each_slot_has_a_tag_that_is_in_it() {
        for slot in 0..SLOTS {
            assert_eq!(of_tag(tag(slot).to_string().as_bytes()), slot);
        }
    }
}
