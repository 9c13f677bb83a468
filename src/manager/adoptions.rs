//! The tokens that a manager is adopting, while the store is asked for them.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use crate::core::Token;

/// The tokens that are being adopted, each with true if it was taken away or released meanwhile.
#[derive(Clone, Default)]
pub(crate) struct Adoptions(Rc<RefCell<HashMap<Token, bool>>>);

/// A token that is being adopted, until this is dropped.
pub(crate) struct Adopting(Adoptions, Token);

impl Adoptions {
    /// Begins an adoption. `None` if the token is being adopted.
    pub(crate) fn begin(&self, token: Token) -> Option<Adopting> {
        let is_first = !self.0.borrow().contains_key(&token);
        is_first.then(|| {
            self.0.borrow_mut().insert(token, false);
            Adopting(self.clone(), token)
        })
    }

    /// Notes that a token was taken away or released. The store may have renewed it just before.
    pub(crate) fn end(&self, token: Token) {
        self.0.borrow_mut().entry(token).and_modify(|is_over| *is_over = true);
    }

    pub(crate) fn is_over(&self, token: Token) -> bool {
        self.0.borrow().get(&token).is_some_and(|is_over| *is_over)
    }
}

impl Drop for Adopting {
    fn drop(&mut self) {
        let Self(Adoptions(adoptions), token) = self;
        adoptions.borrow_mut().remove(token);
    }
}
