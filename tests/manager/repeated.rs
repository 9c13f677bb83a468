//! Calls that are delivered twice, as what was sent again because its answer was lost. On the memory store, in virtual time.

use std::sync::Arc;

use leasehold::{Acquire, AcquireError};
use leasehold_testing::decorated::{Decorated, Hooks};

use support::virtual_time::{World, in_virtual_time, secs};

#[derive(Debug)]
struct Unhooked;

impl Hooks for Unhooked {}

#[test]
fn a_call_that_is_delivered_twice_counts_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = Decorated::new(world.store.clone(), Unhooked).repeated();
        let locks = world.builder_on(Arc::new(store)).start_here().unwrap();
        let one_of_two = || locks.send(Acquire::new("r").ttl(secs(3)).permits(1, 2));
        let first = one_of_two().await.unwrap().unwrap();
        let second = one_of_two().await.unwrap().unwrap();
        assert_eq!((first.holds(), second.holds()), (1, 1));
        let refused = one_of_two().await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Held { .. }), "{refused}");
        // Renewed several times.
        tokio::time::sleep(secs(10)).await;
        assert!(first.is_valid() && second.is_valid());
        // The first delivery has released it, and the answer of the second says that there was nothing to release.
        let (fence, released) = (second.fence(), first.release().await);
        assert!(released.is_err(), "{released:?}");
        let third = one_of_two().await.unwrap().unwrap();
        assert!(third.fence() > fence, "{third:?}");
        drop((second, third));
        tokio::time::sleep(secs(1)).await;
        assert_eq!(world.left().await, 0);
    });
}
