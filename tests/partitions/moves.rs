//! Partitions that move: when members join, leave, die, and disagree.

use actix::Actor;
use leasehold::{
    Acquire, ReadLock, Revoke, Stats,
    election::Candidacy,
    partitions::{Member, PartitionEvent, Partitions},
};
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

use super::member::{Heard, Lives, Owner, Process, TTL};

/// As many processes as these, that have their shares.
async fn fleet<const N: usize>(
    world: &World,
    running: &Lives,
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
        let (world, running) = (World::new(), Lives::default());
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
fn the_renewals_of_all_partitions_of_a_process_travel_in_one_batch() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [first, second] = fleet(&world, &running, ["a", "b"], 64).await;
        // One half is granted later than the other.
        sleep(millis(1_234)).await;
        second.stop().await;
        running.balanced(64, 1).await;
        sleep(2 * TTL).await;
        first.store.batches();
        sleep(30 * TTL).await;
        let batches = first.store.batches();
        // With the three leases of the member.
        assert!(batches.iter().all(|batch| *batch == ("renew", 64 + 3)), "{batches:?}");
        assert!((89..=91).contains(&batches.len()), "three in a TTL: {}", batches.len());
    });
}

#[test]
fn a_member_that_joins_has_its_share_in_three_seconds_and_little_else_moves() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
        let [only] = fleet(&world, &running, ["a"], 16).await;
        let lives = running.lives();
        // A member that has announced itself, and does not stand for its share: for a time, and then another one for good.
        let stranger = world.manager();
        let announced = |name| {
            let ask = ReadLock::new("orders/members").ttl(TTL - secs(1));
            ask.metadata("member", name).metadata("partitions", "16")
        };
        let _frozen = stranger.send(announced("b").no_renew()).await.unwrap().unwrap();
        let _blocked = stranger.send(announced("c")).await.unwrap().unwrap();
        sleep(secs(2)).await;
        assert_eq!(only.partitions.members().len(), 3);
        sleep(10 * TTL).await;
        assert_eq!((only.partitions.members().len(), running.lives()), (2, lives));
        assert_eq!(running.shares(), [("a".to_owned(), 16)].into());
    });
}

#[test]
fn members_of_one_manager_hand_over_as_others_do() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [first] = fleet(&world, &running, ["a"], 16).await;
        let began = Instant::now();
        let second = {
            let (running, ask) = (running.clone(), Acquire::new("orders").ttl(TTL));
            let owner = move |partition| Owner::new(partition, "b", &running);
            Partitions::start(&first.locks, ask, 16, "b", owner).unwrap()
        };
        running.balanced(16, 2).await;
        assert!(began.elapsed() < secs(3), "{:?}", began.elapsed());
        second.drain().await;
        assert_eq!((running.shares(), running.wrong()), ([("a".to_owned(), 16)].into(), vec![]));
    });
}

#[test]
fn a_drain_ends_though_the_store_is_away() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [first, _second] = fleet(&world, &running, ["a", "b"], 16).await;
        first.cut_off(true);
        let began = Instant::now();
        first.partitions.drain().await;
        assert!(began.elapsed() < 2 * TTL && first.partitions.owned().is_empty(), "{:?}", began.elapsed());
        running.balanced(16, 1).await;
    });
}

#[test]
fn a_drain_ends_though_there_are_more_members_than_a_store_tells() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [first] = fleet(&world, &running, ["a"], 16).await;
        let (stranger, mut others) = (world.manager(), Vec::new());
        for number in 0..400 {
            let announced = ReadLock::new("orders/members").metadata("member", format!("m{number}"));
            others.push(stranger.send(announced.metadata("partitions", "16")).await.unwrap().unwrap());
        }
        let began = Instant::now();
        first.partitions.drain().await;
        assert!(began.elapsed() < 2 * TTL && first.partitions.owned().is_empty(), "{:?}", began.elapsed());
    });
}

#[test]
fn no_process_with_another_number_acts_before_the_last_actor_has_stopped() {
    for drains in [false, true] {
        in_virtual_time(|| async move {
            let (world, running) = (World::new(), Lives::default());
            running.finish_in(millis(900));
            let [first] = fleet(&world, &running, ["a"], 16).await;
            let _other = Process::start(&world, &running, "b", 32);
            // It joins again after pauses of up to 10 s, and the actors take long to stop at moments between.
            sleep(secs(60)).await;
            for moment in 0..40 {
                sleep(millis(253 * moment)).await;
                if drains {
                    let partitions = first.partitions.clone();
                    actix_rt::spawn(async move { partitions.drain().await });
                }
                for _ in 0..1_200 {
                    sleep(millis(1)).await;
                    assert!(running.shares().len() <= 1, "{:?}", running.shares());
                }
                if running.shares().contains_key("b") {
                    return;
                }
                first.partitions.join();
                running.balanced(16, 1).await;
                if !drains {
                    break;
                }
            }
            first.stop().await;
            for _ in 0..20_000 {
                assert!(running.shares().len() <= 1, "{:?}", running.shares());
                sleep(millis(1)).await;
            }
            running.balanced(32, 1).await;
        });
    }
}

#[test]
fn a_process_that_is_refused_is_no_member_for_others() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [first] = fleet(&world, &running, ["a"], 16).await;
        let heard = Heard::default();
        first.partitions.tell(heard.clone().start().recipient());
        let other = Process::start(&world, &running, "b", 32);
        // Its elections could never keep their budget.
        let ask = |_| Candidacy::from("orders").budget(secs(20));
        let impossible = Process::with(&world, &running, "c", 16, ask);
        sleep(secs(300)).await;
        let met = |event: &PartitionEvent| match event {
            PartitionEvent::Members(members) => members.iter().all(|member| member.name == "a"),
            _ => true,
        };
        assert!(heard.all().iter().all(met), "{:?}", heard.all());
        assert_eq!((running.shares(), running.wrong()), ([("a".to_owned(), 16)].into(), vec![]));
        other.partitions.drain().await;
        impossible.partitions.drain().await;
    });
}

#[test]
fn a_process_knows_what_another_one_of_its_name_owns() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [_first] = fleet(&world, &running, ["a"], 4).await;
        let second = Process::start(&world, &running, "a", 4);
        sleep(secs(5)).await;
        assert_eq!(second.place(2).await, "http://a");
        assert_eq!(running.wrong(), Vec::<String>::new());
    });
}

#[test]
fn a_member_that_is_made_to_leave_stays_away() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
        let [_first, second] = fleet(&world, &running, ["a", "b"], 16).await;
        second.locks.send(Revoke::at_once("orders/members/a")).await.unwrap().unwrap();
        running.balanced(16, 1).await;
        sleep(secs(60)).await;
        assert_eq!((running.shares(), running.wrong()), ([("b".to_owned(), 16)].into(), vec![]));
    });
}

#[test]
fn a_member_with_another_number_of_partitions_waits_until_the_others_have_gone() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
        let _both = [Process::start(&world, &running, "a", 16), Process::start(&world, &running, "b", 32)];
        for _ in 0..600 {
            sleep(millis(100)).await;
            assert!(running.shares().len() <= 1, "{:?}", running.shares());
        }
        assert_eq!(running.shares().len(), 1, "they do not refuse each other for ever");
    });
}

#[test]
fn an_observer_owns_nothing_and_knows_where_all_is() {
    in_virtual_time(|| async {
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        let (world, running) = (World::new(), Lives::default());
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
        for name in ["", "a/b", "a\nb", "members", &"x".repeat(129)] {
            assert!(refused("orders", 1, name.into()).contains("invalid member.name"), "{name:?}");
        }
        let far = Member::new("a").at("x".repeat(257));
        assert!(refused("orders", 1, far).contains("invalid member.endpoint"));
        let start =
            |candidacy: Candidacy| Partitions::start(&locks, candidacy, 4, "a", owner).map(drop).unwrap_err();
        assert!(start(Acquire::new("orders").class("a b").into()).to_string().contains("invalid class"));
        let observer = Candidacy::from("orders").observer();
        let partitions = Partitions::start(&locks, observer, 4, "a", owner).unwrap();
        let error = partitions.at(4).await.map(drop).unwrap_err().to_string();
        assert!(error.contains("invalid partition: 4 (allowed: less than 4)"), "{error}");
    });
}
