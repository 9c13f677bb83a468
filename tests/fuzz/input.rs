//! The bytes of an input, read as choices; after their end each choice is the first one.

use std::cell::RefCell;

use arbitrary::Unstructured;

/// The bytes that are left.
pub(crate) struct Input<'a>(RefCell<Unstructured<'a>>);

impl<'a> Input<'a> {
    /// Reads these bytes.
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(RefCell::new(Unstructured::new(data)))
    }

    /// Returns a number below this one, which is not zero.
    pub(crate) fn below(&self, end: usize) -> usize {
        self.0.borrow_mut().int_in_range(0..=end - 1).unwrap_or_default()
    }

    /// Returns one of these, of which there are some.
    pub(crate) fn one_of<T: Copy>(&self, these: &[T]) -> T {
        these[self.below(these.len())]
    }

    /// Returns true in one of so many cases.
    pub(crate) fn once_in(&self, cases: usize) -> bool {
        self.below(cases) == cases - 1
    }

    /// Returns a number of any size.
    pub(crate) fn number(&self) -> i64 {
        const ODD: [i64; 12] = [
            0,
            1,
            2,
            7,
            -1,
            5_000,
            16_383,
            1 << 53,
            (1 << 53) + 1,
            9_000_000_000_000_000,
            i64::MAX,
            i64::MIN,
        ];
        if self.once_in(3) { self.0.borrow_mut().arbitrary().unwrap_or_default() } else { self.one_of(&ODD) }
    }

    /// Returns at most so many bytes.
    pub(crate) fn bytes(&self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        let mut input = self.0.borrow_mut();
        let length = length.min(input.len());
        input.bytes(length).map(<[u8]>::to_vec).unwrap_or_default()
    }
}
