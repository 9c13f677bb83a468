//! What was paid, remembered: what keeps an order from being paid twice, whatever becomes of the lock.
//!
//! A lock keeps two payments of an order apart in time. That one was made before, or is still being made by a process that
//! was frozen, only the books can tell. In a real shop they are a table with the order as its key, each function here is
//! one transaction, and whoever moves the money is given the order as the key of idempotency.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The proof of one payment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    pub(crate) order: u64,
    pub(crate) number: u64,
    pub(crate) fence: u64,
}

/// A fence that is smaller than one seen before: its holder has been overtaken.
#[derive(Debug)]
pub(crate) struct Stale;

/// All orders that a payment was begun for.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    orders: HashMap<u64, Order>,
    receipts: u64,
}

#[derive(Debug, Default)]
struct Order {
    largest_fence: u64,
    receipt: Option<Receipt>,
}

impl Ledger {
    /// The receipt of an order, if it was paid.
    pub(crate) fn receipt(&self, order: u64) -> Option<Receipt> {
        self.books().orders.get(&order)?.receipt
    }

    /// Takes note of a fence before the money moves: from now on every smaller one is stale. Answers the receipt if the
    /// order was paid already.
    pub(crate) fn enter(&self, order: u64, fence: u64) -> Result<Option<Receipt>, Stale> {
        self.books().enter(order, fence)
    }

    /// Books a payment, unless somebody with a larger fence has been here. An order has one receipt for ever.
    pub(crate) fn book(&self, order: u64, fence: u64) -> Result<Receipt, Stale> {
        let mut books = self.books();
        if let Some(receipt) = books.enter(order, fence)? {
            return Ok(receipt);
        }
        books.receipts += 1;
        let receipt = Receipt { order, number: books.receipts, fence };
        books.orders.entry(order).or_default().receipt = Some(receipt);
        Ok(receipt)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn enter(&mut self, order: u64, fence: u64) -> Result<Option<Receipt>, Stale> {
        let order = self.orders.entry(order).or_default();
        if fence < order.largest_fence {
            return Err(Stale);
        }
        order.largest_fence = fence;
        Ok(order.receipt)
    }
}
