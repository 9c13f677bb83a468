//! A value that only a valid lease of its resource opens.

use leasehold::{
    Acquire, ReadLock,
    fenced::{Fenced, OpenError, Opened},
};
use tokio::time::sleep;

use support::virtual_time::{World, in_virtual_time, secs};

#[test]
fn a_value_opens_for_a_lease_of_its_resource_alone() {
    in_virtual_time(|| async {
        let (world, mut entries) = (World::new(), Fenced::new("ledger", vec![1]).unwrap());
        let locks = world.manager();
        let lease = locks.send(Acquire::new("ledger")).await.unwrap().unwrap();
        let mut opened = entries.open_mut(&lease).unwrap();
        opened.push(2);
        assert_eq!(Some(Opened::fence(&opened)), lease.fence());
        assert_eq!(Opened::check(&opened), Ok(()));
        assert_eq!(**entries.open(&lease).unwrap(), [1, 2]);

        let other = locks.send(Acquire::new("orders")).await.unwrap().unwrap();
        let refused = entries.open(&other).unwrap_err();
        assert!(matches!(refused, OpenError::OtherResource { .. }), "{refused}");
        assert_eq!(refused.to_string(), "a lease of orders does not open what ledger protects");
        assert_eq!(entries.into_inner(), [1, 2]);
    });
}

#[test]
fn readers_open_a_value_and_do_not_change_it() {
    in_virtual_time(|| async {
        let (world, mut entries) = (World::new(), Fenced::new("ledger", vec![1]).unwrap());
        let lease = world.manager().send(ReadLock::new("ledger")).await.unwrap().unwrap();
        assert_eq!(entries.open(&lease).unwrap().len(), 1);
        assert!(matches!(entries.open_mut(&lease), Err(OpenError::NotAlone { .. })));
    });
}

#[test]
fn a_lease_that_has_ended_opens_nothing_and_an_opened_value_can_tell() {
    in_virtual_time(|| async {
        let (world, entries) = (World::new(), Fenced::new("ledger", vec![1]).unwrap());
        let ask = Acquire::new("ledger").ttl(secs(10)).no_renew();
        let lease = world.manager().send(ask).await.unwrap().unwrap();
        let opened = entries.open(&lease).unwrap();
        sleep(secs(11)).await;
        assert!(matches!(Opened::check(&opened), Err(OpenError::NotValid { .. })));
        assert!(matches!(entries.open(&lease), Err(OpenError::NotValid { .. })));
    });
}

#[test]
fn a_name_that_no_lease_can_have_is_refused() {
    assert_eq!(Fenced::new("", 7).unwrap_err().field, "resource");
}
