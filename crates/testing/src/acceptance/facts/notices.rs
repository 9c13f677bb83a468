//! The notices to holders: who gets one, what it says, and what a forced release tells.

use super::*;
use leasehold::{
    Token,
    store::{HolderNotice, HoldersNotified, NOTIFIED_AT_MOST, Notifications, ToHolders},
};

fn wanted_back() -> HolderNotice {
    let grace = Duration::from_millis(1_500);
    let reason = "a deploy, \"v2\", needs  it".into();
    HolderNotice::RevokeRequested { revocation: SystemRandom.token(), reason, grace }
}

/// The tokens, in an order of their own.
fn sorted(mut tokens: Vec<Token>) -> Vec<Token> {
    tokens.sort();
    tokens
}

impl Scene {
    async fn notify(&self, among: Option<Vec<Token>>, notice: &HolderNotice) -> HoldersNotified {
        self.notify_or_look(among, Some(notice.clone())).await
    }

    async fn notify_or_look(
        &self,
        among: Option<Vec<Token>>,
        notice: Option<HolderNotice>,
    ) -> HoldersNotified {
        let to = ToHolders { resource: self.name.clone(), among, notice };
        let notified = self.store.notify_holders(&to).await.unwrap();
        HoldersNotified { holders: sorted(notified.holders), ..notified }
    }

    /// Begins to listen, where it is not sure that this inbox is on a store with a queue.
    async fn ears(&self) -> Notifications {
        subscribed(self.store.listen(&Inbox(SystemRandom.token()))).await
    }

    /// The next notice that is about one of these.
    async fn noticed(
        &self,
        notifications: &mut Notifications,
        about: &[Token],
    ) -> (Vec<Token>, HolderNotice) {
        loop {
            if let Notification::ToHolders(holders, notice) = next(notifications).await
                && about.iter().any(|token| holders.contains(token))
            {
                return (sorted(holders), notice);
            }
        }
    }
}

pub async fn every_inbox_is_sent_a_notice_to_all_who_hold(scene: Scene) {
    let mut ears = [scene.ears().await, scene.ears().await];
    let owned = [scene.reentrant("worker"), scene.reentrant("worker")];
    let delayed = Acquisition { lock_delay: secs(60), ..scene.shared() };
    let groups = [
        vec![scene.exclusive()],
        vec![Acquisition { lock_delay: secs(60), ..scene.exclusive() }],
        vec![scene.shared(), delayed, scene.shared()],
        vec![scene.permits(1, 3), scene.permits(2, 3)],
        owned.into(),
    ];
    for group in groups {
        for asked in &group {
            scene.granted(asked).await;
        }
        let (all, notice) = (sorted(tokens(&group)), wanted_back());
        let notified = scene.notify(None, &notice).await;
        assert_eq!(notified, HoldersNotified { holders: all.clone(), complete: true });
        for ears in &mut ears {
            assert_eq!(scene.noticed(ears, &all).await, (all.clone(), notice.clone()));
        }
        for asked in &group {
            assert!(scene.is_held(asked).await, "a notice takes nothing away");
            assert_ne!(scene.release(asked).await, Released::NotHeld { count: 0 });
        }
    }
}

pub async fn a_notice_to_some_reaches_those_of_them_who_hold(scene: Scene) {
    let mut ears = scene.ears().await;
    for group in [
        [scene.shared(), scene.shared(), scene.shared()],
        [scene.reentrant("w"), scene.reentrant("w"), scene.reentrant("w")],
    ] {
        for asked in &group {
            scene.granted(asked).await;
        }
        let [first, second, third] = &group;
        let _ = scene.release(first).await;
        let stranger = scene.exclusive();
        let among = tokens([first, second, &stranger]);
        let (holders, complete) = (tokens([second]), true);
        let notified = scene.notify(Some(among.clone()), &HolderNotice::Taken).await;
        assert_eq!(notified, HoldersNotified { holders: holders.clone(), complete });
        assert_eq!(scene.noticed(&mut ears, &holders).await, (holders, HolderNotice::Taken));
        assert!(scene.is_held(second).await && scene.is_held(third).await);
        for asked in [second, third] {
            let _ = scene.release(asked).await;
        }
        assert_eq!(scene.notify(Some(among), &HolderNotice::Taken).await.holders, []);
        assert_eq!(scene.notify(Some(Vec::new()), &HolderNotice::Taken).await.holders, []);
    }
}

pub async fn a_question_without_a_notice_tells_nobody(scene: Scene) {
    let mut ears = scene.ears().await;
    let group = [scene.shared(), scene.shared()];
    for asked in &group {
        scene.granted(asked).await;
    }
    let all = sorted(tokens(&group));
    for (among, holders) in [(None, all.clone()), (Some(tokens([&group[0]])), tokens([&group[0]]))] {
        assert_eq!(scene.notify_or_look(among, None).await, HoldersNotified { holders, complete: true });
    }
    let notice = wanted_back();
    scene.notify(None, &notice).await;
    assert_eq!(scene.noticed(&mut ears, &all).await, (all, notice), "the first that anybody hears");
}

pub async fn who_holds_no_more_is_not_notified(scene: Scene) {
    assert_eq!(scene.notify(None, &wanted_back()).await, HoldersNotified { holders: vec![], complete: true });
    for asked in [scene.exclusive(), scene.shared(), scene.permits(1, 2), scene.reentrant("worker")] {
        let asked = Acquisition { lock_delay: secs(60), ..asked };
        scene.granted(&asked).await;
        scene.pass(TTL + secs(1)).await;
        let token = Some(tokens([&asked]));
        for among in [None, token] {
            assert_eq!(scene.notify(among, &wanted_back()).await.holders, [], "it only keeps it closed");
        }
        scene.pass(secs(60)).await;
        scene.granted(&asked).await;
        assert_eq!(scene.notify(None, &wanted_back()).await.holders, tokens([&asked]));
        assert_eq!(scene.release_closed_for(&asked, secs(30)).await, Released::Freed);
        assert_eq!(scene.notify(None, &wanted_back()).await.holders, []);
        scene.pass(secs(31)).await;
    }
}

pub async fn of_many_readers_whose_time_is_over_none_is_notified(scene: Scene) {
    // The nodes of a quorum have a twentieth of it for their answers, to a hundred readers at a time.
    let of = |ttl| Arc::new(Acquisition { ttl, ..scene.shared() });
    let (ttl, lasting) = (6 * TTL, of(12 * TTL));
    let mut readers: Vec<_> = (0..400).map(|_| of(ttl)).collect();
    readers.push(Arc::clone(&lasting));
    for readers in readers.chunks(100) {
        let granted = scene.store.acquire_each(readers).await;
        assert!(granted.iter().all(|granted| matches!(granted, Ok(Acquired::Granted(_)))), "{granted:?}");
    }
    scene.pass(ttl + secs(1)).await;
    // No verb clears all of them away at once.
    let all = readers.iter().map(|asked| asked.hold.token).collect();
    assert_eq!(scene.notify(Some(all), &HolderNotice::Taken).await.holders, tokens([&*lasting]));
    assert_eq!(scene.notify(None, &HolderNotice::Taken).await.holders, tokens([&*lasting]));
}

pub async fn a_forced_release_notifies_all_who_held(scene: Scene) {
    let mut ears = scene.ears().await;
    for group in [
        vec![scene.exclusive()],
        vec![scene.shared(), Acquisition { lock_delay: secs(60), ..scene.shared() }],
        vec![scene.permits(1, 2), scene.permits(1, 2)],
    ] {
        for asked in &group {
            scene.granted(asked).await;
        }
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), group.len() as u64);
        let all = sorted(tokens(&group));
        assert_eq!(scene.noticed(&mut ears, &all).await, (all, HolderNotice::Taken));
    }
}

pub async fn one_verb_notifies_so_many_holders_and_says_that_there_are_more(scene: Scene) {
    let readers: Vec<_> = (0..=NOTIFIED_AT_MOST).map(|_| Arc::new(scene.shared())).collect();
    for readers in readers.chunks(100) {
        let granted = scene.store.acquire_each(readers).await;
        assert!(granted.iter().all(|granted| matches!(granted, Ok(Acquired::Granted(_)))), "{granted:?}");
    }
    let notified = scene.notify(None, &wanted_back()).await;
    assert_eq!((notified.holders.len(), notified.complete), (NOTIFIED_AT_MOST, false));
    assert_eq!(scene.release(&readers[0]).await, Released::Freed);
    let notified = scene.notify(None, &wanted_back()).await;
    assert_eq!((notified.holders.len(), notified.complete), (NOTIFIED_AT_MOST, true));
}
