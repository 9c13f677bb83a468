//! The responder: the way back to a caller that waits for its answer.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fmt,
    future::Future,
    rc::Rc,
    task::{Context, Poll},
};

use actix::{
    Actor, Message,
    dev::{MessageResponse, OneshotSender},
};

/// The responder of one caller. The manager keeps it beside the waiter instead of a future in its context, so that
/// thousands can wait at no cost: every pending future of a context is polled at each of its wakes.
pub(crate) struct Responder<T>(Rc<RefCell<Way<T>>>);

/// The deferred reply of a handler, which answers later through the `Responder` it was made with.
pub struct DeferredReply<T>(Responder<T>);

enum Way<T> {
    /// The handler has not returned yet, so actix has not handed over the caller.
    Opening,
    /// Answered before the handler returned.
    Early(T),
    /// The caller waits.
    Open(OneshotSender<T>),
    /// The answer is sent at the end of the turn. The function is given one that nobody receives.
    Answered(OneshotSender<T>, T, fn(T)),
    /// Answered, or asked by a sender that wants no answer.
    Closed,
}

impl<T> Responder<T> {
    /// Returns a responder, and the deferred reply that connects it to its caller.
    pub(crate) fn new() -> (Self, DeferredReply<T>) {
        let way = Rc::new(RefCell::new(Way::Opening));
        (Self(Rc::clone(&way)), DeferredReply(Self(way)))
    }

    /// Answers the caller. Returns the answer if the caller has gone.
    pub(crate) fn send(&self, answer: T) -> Result<(), T> {
        match self.0.replace(Way::Closed) {
            Way::Opening => {
                self.0.replace(Way::Early(answer));
                Ok(())
            }
            Way::Open(caller) => caller.send(answer),
            Way::Early(_) | Way::Answered(..) | Way::Closed => Err(answer),
        }
    }

    pub(crate) fn answer(&self, answer: T) {
        drop(self.send(answer));
    }

    /// Answers the caller at the end of the turn. If the caller has gone by then, `unsent` is given the answer.
    pub(crate) fn answer_in_turn(&self, answers: &mut Answers, answer: T, unsent: fn(T))
    where
        T: 'static,
    {
        match self.0.replace(Way::Closed) {
            Way::Open(caller) => {
                self.0.replace(Way::Answered(caller, answer, unsent));
                answers.0.push_back(Rc::clone(&self.0) as Rc<dyn Pending>);
            }
            Way::Opening => drop(self.0.replace(Way::Early(answer))),
            Way::Early(_) | Way::Answered(..) | Way::Closed => unsent(answer),
        }
    }

    /// Returns true if the caller has gone, or has been answered.
    pub(crate) fn is_closed(&self) -> bool {
        match &*self.0.borrow() {
            Way::Open(caller) => caller.is_closed(),
            Way::Opening => false,
            Way::Early(_) | Way::Answered(..) | Way::Closed => true,
        }
    }

    pub(crate) fn caller_gone(&self) -> impl Future<Output = ()> + use<T> {
        let way = Rc::clone(&self.0);
        std::future::poll_fn(move |cx: &mut Context<'_>| match &mut *way.borrow_mut() {
            Way::Open(caller) => caller.poll_closed(cx),
            Way::Opening | Way::Early(_) | Way::Answered(..) | Way::Closed => Poll::Ready(()),
        })
    }
}

/// The answers of one turn. They are sent together when it ends: the first one wakes the callers' thread, which finds the
/// others by the time that it runs. If each were sent at once, that thread would run and sleep again between any two.
#[derive(Default)]
pub(crate) struct Answers(VecDeque<Rc<dyn Pending>>);

impl Answers {
    pub(crate) fn send(&mut self) {
        while let Some(answer) = self.0.pop_front() {
            answer.send();
        }
    }
}

trait Pending {
    fn send(&self);
}

impl<T> Pending for RefCell<Way<T>> {
    fn send(&self) {
        let way = self.replace(Way::Closed);
        if let Way::Answered(caller, answer, unsent) = way
            && let Err(answer) = caller.send(answer)
        {
            unsent(answer);
        }
    }
}

/// A clone is another handle to the same caller.
impl<T> Clone for Responder<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<A, M> MessageResponse<A, M> for DeferredReply<M::Result>
where
    A: Actor,
    M: Message,
{
    fn handle(self, _: &mut A::Context, caller: Option<OneshotSender<M::Result>>) {
        let way = self.0.0.replace(Way::Closed);
        match (way, caller) {
            (Way::Opening, Some(caller)) => {
                self.0.0.replace(Way::Open(caller));
            }
            // A caller that has gone needs no answer.
            (Way::Early(answer), Some(caller)) => drop(caller.send(answer)),
            _ => {}
        }
    }
}

impl<T> fmt::Debug for DeferredReply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeferredReply")
    }
}
