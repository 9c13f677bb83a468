//! The runtime of tokio that a timer needs: a thread of its own has none, and a program has none any more at its end.

use tokio::runtime::Handle;

/// Returns true if this thread is in no runtime of tokio, where a timer would panic.
///
/// An actor that `main` has started and that was never polled is started by actix as it is dropped, when the runtime has ended.
pub(crate) fn is_missing() -> bool {
    Handle::try_current().is_err()
}
