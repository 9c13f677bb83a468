//! Partitions that move: when members join, leave, die, and disagree.

use actix::Actor;
use leasehold::{
    Acquire, ReadLock, Revoke, Stats,
    election::Candidacy,
    partitions::{Member, PartitionEvent, Partitions},
};
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

use super::member::{Heard, Owner, Process, Running, TTL};

/// As many processes as these, that have their shares.
async fn fleet<const N: usize>(
    world: &World,
    running: &Running,
    names: [&str; N],
    partitions: u32,
) -> [Process; N] {
    let members = names.map(|name| Process::start(world, running, name, partitions));
    running.balanced(partitions, N).await;
    members
}

#[test]
fn every_partition_runs_in_one_process_and_all_know_where() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let members = fleet(&world, &running, ["a", "b", "c"], 64).await;
        for (partition, owner) in running.owners() {
            for (member, name) in members.iter().zip(["a", "b", "c"]) {
                let expected = if owner == name { "here".to_owned() } else { format!("http://{owner}") };
                assert_eq!(member.place(partition).await, expected);
                assert_eq!(member.partitions.owned().contains(&partition), owner == name);
            }
        }
        let names = |of: &Process| {
            of.partitions.members().iter().map(|member| member.name.clone()).collect::<Vec<_>>()
        };
        assert!(members.iter().all(|member| names(member) == ["a", "b", "c"]));
        for member in &members {
            let counted = member.locks.send(Stats).await.unwrap().classes["orders"].granted;
            assert_eq!(counted, member.partitions.owned().len() as u64, "as a class of requests");
        }
        let settled = running.lives();
        sleep(secs(600)).await;
        assert_eq!((running.wrong(), running.lives()), (vec![], settled), "nothing moves without a reason");
    });
}

#[test]
fn a_member_that_joins_has_its_share_in_three_seconds_and_little_else_moves() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let _two = fleet(&world, &running, ["a", "b"], 64).await;
        let (before, began) = (running.owners(), Instant::now());
        let _third = Process::start(&world, &running, "c", 64);
        running.balanced(64, 3).await;
        assert!(began.elapsed() < secs(3), "{:?}", began.elapsed());
        let moved =
            running.owners().iter().filter(|(partition, owner)| before[*partition] != **owner).count();
        assert!(moved <= 64 / 3 * 13 / 10, "{moved} moved");
        assert_eq!(running.wrong(), Vec::<String>::new());
    });
}

#[test]
fn a_member_that_drains_gives_everything_to_others_and_can_come_back() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [first, _second] = fleet(&world, &running, ["a", "b"], 64).await;
        let before = running.owners();
        let began = Instant::now();
        first.partitions.drain().await;
        assert!(began.elapsed() < secs(3), "others came for it: {:?}", began.elapsed());
        assert!(first.partitions.owned().is_empty());
        running.balanced(64, 1).await;
        sleep(secs(60)).await;
        assert_eq!(running.shares().len(), 1, "it stays away");
        first.partitions.join();
        running.balanced(64, 2).await;
        assert_eq!(running.owners(), before, "the same name has the same share");
        assert_eq!(running.wrong(), Vec::<String>::new());
    });
}

#[test]
fn the_last_member_drains_at_once() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [only] = fleet(&world, &running, ["a"], 8).await;
        sleep(secs(1)).await;
        let began = Instant::now();
        only.partitions.drain().await;
        assert!(began.elapsed() < millis(100) && running.shares().is_empty(), "{:?}", began.elapsed());
        only.partitions.drain().await;
        only.partitions.join();
        running.balanced(8, 1).await;
    });
}

#[test]
fn anybody_can_ask_a_member_to_leave() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [_first, second] = fleet(&world, &running, ["a", "b"], 16).await;
        let ask = Revoke::new("orders/members/a").reason("maintenance").grace(secs(60));
        let revoked = second.locks.send(ask).await.unwrap().unwrap();
        assert_eq!((revoked.finished, revoked.taken), (1, 0), "answered when it has given all away");
        assert_eq!(running.shares(), [("b".to_owned(), 16)].into());
        assert_eq!(running.wrong(), Vec::<String>::new());
    });
}

#[test]
fn a_member_that_stops_is_replaced_at_the_next_look() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [first, _second] = fleet(&world, &running, ["a", "b"], 64).await;
        first.stop().await;
        let began = Instant::now();
        running.balanced(64, 1).await;
        assert!(began.elapsed() < millis(1_500), "{:?}", began.elapsed());
    });
}

#[test]
fn a_member_that_is_cut_off_stops_in_time_is_replaced_after_its_ttl_and_comes_back() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [first, _second] = fleet(&world, &running, ["a", "b"], 64).await;
        let (before, began) = (running.owners(), Instant::now());
        first.cut_off(true);
        running.balanced(64, 1).await;
        assert!(began.elapsed() < TTL + secs(1), "{:?}", began.elapsed());
        first.cut_off(false);
        running.balanced(64, 2).await;
        assert_eq!((running.owners(), running.wrong()), (before, vec![]));
    });
}

#[test]
fn an_owner_keeps_what_nobody_comes_for() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [only] = fleet(&world, &running, ["a"], 16).await;
        let lives = running.lives();
        // A member that has announced itself, and is frozen.
        let ask = ReadLock::new("orders/members").ttl(TTL - secs(1)).no_renew();
        let ask = ask.metadata("member", "b").metadata("partitions", "16");
        let _frozen = world.manager().send(ask).await.unwrap().unwrap();
        sleep(secs(2)).await;
        assert_eq!(only.partitions.members().len(), 2);
        sleep(2 * TTL).await;
        assert_eq!((only.partitions.members().len(), running.lives()), (1, lives));
    });
}

#[test]
fn a_member_with_another_number_of_partitions_waits_until_the_others_have_gone() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [first] = fleet(&world, &running, ["a"], 16).await;
        let other = Process::start(&world, &running, "b", 32);
        sleep(secs(30)).await;
        assert_eq!(running.shares(), [("a".to_owned(), 16)].into());
        assert!(other.partitions.owned().is_empty());
        first.stop().await;
        running.balanced(32, 1).await;
        assert_eq!(running.wrong(), Vec::<String>::new());
    });
}

#[test]
fn two_members_that_disagree_from_the_beginning_never_both_own() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let _both = [Process::start(&world, &running, "a", 16), Process::start(&world, &running, "b", 32)];
        for _ in 0..600 {
            sleep(millis(100)).await;
            assert!(running.shares().len() <= 1, "{:?}", running.shares());
        }
    });
}

#[test]
fn an_observer_owns_nothing_and_knows_where_all_is() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let observer = Process::with(&world, &running, "x", 16, Candidacy::observer);
        assert_eq!(observer.place(3).await, "nobody");
        let _fleet = fleet(&world, &running, ["a", "b"], 16).await;
        let owner = running.owners()[&3].clone();
        assert_eq!(observer.place(3).await, format!("http://{owner}"));
        assert!(observer.partitions.owned().is_empty());
        observer.partitions.join();
        running.balanced(16, 3).await;
    });
}

#[test]
fn recipients_are_told_what_is_owned_and_lost_and_who_is_there() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [first, second] = fleet(&world, &running, ["a", "b"], 16).await;
        let heard = Heard::default();
        first.partitions.tell(heard.clone().start().recipient());
        sleep(millis(1)).await;
        assert_eq!(heard.owned(), first.partitions.owned(), "how things stand");
        second.stop().await;
        running.balanced(16, 1).await;
        sleep(secs(1)).await;
        assert_eq!(heard.owned(), (0..16).collect());
        first.partitions.drain().await;
        assert!(heard.owned().is_empty());
        let members = |event: PartitionEvent| match event {
            PartitionEvent::Members(members) => {
                Some(members.iter().map(|member| member.name.clone()).collect::<Vec<_>>())
            }
            _ => None,
        };
        let met: Vec<_> = heard.all().into_iter().filter_map(members).collect();
        assert_eq!(met, [vec!["a".to_owned(), "b".to_owned()], vec!["a".to_owned()], vec![]]);
    });
}

#[test]
fn a_partition_that_is_taken_back_by_hand_is_owned_again() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let [only] = fleet(&world, &running, ["a"], 4).await;
        let revoked = only.locks.send(Revoke::new("orders/2").grace(secs(5))).await.unwrap().unwrap();
        assert_eq!(revoked.finished, 1);
        running.balanced(4, 1).await;
        assert_eq!((running.lives(), running.wrong()), (5, vec![]));
    });
}

#[test]
fn a_key_that_a_stranger_holds_is_nobodys() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Running::default());
        let stranger = world.manager();
        let _lease = stranger.send(Acquire::new("orders/2")).await.unwrap().unwrap();
        let process = Process::start(&world, &running, "a", 4);
        sleep(secs(5)).await;
        assert_eq!(
            (running.shares(), process.place(2).await.as_str()),
            ([("a".to_owned(), 3)].into(), "nobody")
        );
    });
}

#[test]
fn invalid_values_are_refused_by_name() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let owner = |_| -> Owner { unreachable!("nothing is started") };
        let refused = |name: &str, partitions, member: Member| {
            let started = Partitions::start(&locks, name, partitions, member, owner);
            started.map(drop).unwrap_err().to_string()
        };
        assert!(refused("orders", 0, "a".into()).contains("invalid partitions: 0 (allowed: 1 to 4096)"));
        assert!(refused("orders", 4_097, "a".into()).contains("1 to 4096"));
        assert!(refused("", 1, "a".into()).contains("resource"));
        assert!(refused(&"x".repeat(512), 1, "a".into()).contains("resource"));
        for name in ["", "a/b", "a\nb", &"x".repeat(129)] {
            assert!(refused("orders", 1, name.into()).contains("invalid member.name"), "{name:?}");
        }
        let far = Member::new("a").at("x".repeat(257));
        assert!(refused("orders", 1, far).contains("invalid member.endpoint"));
    });
}
