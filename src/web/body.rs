//! The body of a response under a lock: the lock is released when the body has been sent.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};

use super::holdings::Holdings;

/// A body that holds locks until it is dropped: when it has been sent, or when the client has gone.
pub(crate) struct HeldBody {
    body: BoxBody,
    /// True if the body is still being made while it is sent, so that a loss of the lock has to stop it.
    is_made_on_the_way: bool,
    holdings: Holdings,
}

impl HeldBody {
    pub(crate) fn new(body: impl MessageBody + 'static, holdings: Holdings) -> Self {
        let body = body.boxed();
        let (body, is_made_on_the_way) = match body.size() {
            // As bytes it would become a body without a byte, which has another header.
            BodySize::None => (body, false),
            BodySize::Sized(_) | BodySize::Stream => match body.try_into_bytes() {
                Ok(whole) => (BoxBody::new(whole), false),
                Err(stream) => (stream, true),
            },
        };
        Self { body, is_made_on_the_way, holdings }
    }
}

impl MessageBody for HeldBody {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.is_made_on_the_way
            && let Poll::Ready(lost) = self.holdings.poll_lost(cx)
        {
            return Poll::Ready(Some(Err(lost.into())));
        }
        Pin::new(&mut self.body).poll_next(cx)
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        // The body may still work: it ends before the locks do.
        self.body = BoxBody::new(());
        self.holdings.release();
    }
}
