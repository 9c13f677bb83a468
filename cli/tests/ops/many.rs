//! Many resources: pages without a gap, and what a page costs.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    process::Stdio,
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use leasehold::Acquire;

use leasehold_testing::servers::RedisServer;

use crate::{
    support::{Ran, acquire, calls, run, with_locks},
    unknown::slow_way,
};

/// Writes so many held resources, each as the library has written one.
fn hold(server: &RedisServer, count: usize) {
    with_locks(&server.url(), async |locks| {
        let lease = acquire(&locks, Acquire::new("many/000000").purpose("crowd")).await;
        let copy = "local record = redis.call('GET', KEYS[1])
            for i = 0, tonumber(ARGV[1]) - 1 do
                redis.call('SET', string.format('leasehold:{many/%06d}', i), record, 'PX', 3600000)
            end";
        server.command(&["EVAL", copy, "1", "leasehold:{many/000000}", &count.to_string()]);
        // The copy of it stays.
        std::mem::forget(lease);
    });
}

#[test]
fn a_thousand_resources_are_paged_without_a_gap_and_without_a_double() {
    let server = RedisServer::start();
    hold(&server, 1_000);
    let (mut names, mut pages, mut after) = (Vec::new(), 0, None::<String>);
    loop {
        let mut arguments = vec!["ls", "many/", "--limit", "170", "--json"];
        arguments.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let ran = run(&server.url(), &arguments);
        names.extend(ran.of_kind("resource").iter().map(|it| it["resource"].as_str().unwrap().to_owned()));
        pages += 1;
        let page = ran.of_kind("page").remove(0);
        assert!(page["walked"].as_u64().unwrap() >= 1_000, "{page}");
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break assert_eq!(page["complete"], true),
        }
    }
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), distinct.len(), pages), (1_000, 1_000, 6));
    assert!(names.is_sorted());
}

#[test]
fn a_foreign_record_is_told_and_hides_no_other() {
    let server = RedisServer::start();
    hold(&server, 3);
    server.command(&["SET", "leasehold:{many/foreign}", "something else"]);
    let no_text =
        "redis.call('SET', KEYS[1], string.rep('a', 32) .. '-7 x 1 0  {\"a\":\"\\255\"}', 'PX', 60000)";
    server.command(&["EVAL", no_text, "1", "leasehold:{many/bytes}"]);
    let ran = run(&server.url(), &["ls", "many/"]);
    ran.shows(2, &["many/000000", "many/000002"]);
    for name in ["foreign", "bytes"] {
        assert!(ran.err.contains(&format!("many/{name}: the store holds something foreign")), "{ran:?}");
    }
    assert_eq!(ran.out.matches("unreadable").count(), 2, "{ran:?}");
    let told = run(&server.url(), &["ls", "many/", "--json"]);
    let names: Vec<_> = told.of_kind("unreadable").iter().map(|it| it["resource"].clone()).collect();
    assert_eq!(names, ["many/bytes", "many/foreign"]);
    assert_eq!(told.of_kind("page")[0]["unreadable"], 2);
}

#[test]
fn the_line_for_the_next_page_can_be_typed_and_shows_no_password() {
    let server = RedisServer::start();
    hold(&server, 30);
    server.command(&["ACL", "SETUSER", "default", "on", ">s3cret", "~*", "&*", "+@all"]);
    let url = server.url_for("default", "s3cret");
    let first = Ran::of(
        crate::support::command(&["ls", "many/", "--limit", "20", "--store", &url]).output().unwrap(),
    );
    first.shows(0, &["many/000019"]);
    assert!(!first.err.contains("s3cret"), "{first:?}");
    let (_, line) = first.err.trim_end().split_once("more: leasehold ").expect("a line to type");
    let words: Vec<&str> = line.split(' ').filter(|word| !word.starts_with("--store")).collect();
    let second = run(&url, &words);
    second.shows(0, &["many/000020", "many/000029"]);
    assert_eq!(second.out.lines().count(), 11, "{second:?}");
}

#[test]
fn the_first_page_of_100000_resources_is_one_walk_and_one_look_at_each_of_the_page() {
    let server = RedisServer::start();
    hold(&server, 100_000);
    let before = (calls(&server, "scan"), calls(&server, "evalsha"));
    let began = Instant::now();
    // However busy this machine is, the walk comes to its end.
    let mut command = crate::support::command(&["ls", "--limit", "100", "--store", &server.url()]);
    let ls = Ran::of(command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "5s").output().unwrap());
    println!("the first page of 100,000 took {:?}", began.elapsed());
    ls.shows(0, &["many/000000", "many/000099"]);
    assert!(ls.err.starts_with("100 held; looked at up to 10"), "{ls:?}");
    let scans = calls(&server, "scan") - before.0;
    let looks = calls(&server, "evalsha") - before.1;
    println!("{scans} steps of the walk, {looks} looks");
    assert!((1..=200).contains(&scans), "{scans} steps for 100,000 keys");
    // The server does not have the script at first, so some of them are sent twice.
    assert!((100..=200).contains(&looks), "{looks} looks for a page of 100");
}

#[test]
fn a_walk_that_takes_too_long_is_told_and_leads_to_no_next_page() {
    let server = RedisServer::start();
    hold(&server, 100_000);
    // Each of about 100 steps is far from its own limit, and together they are beyond that of the walk, ten times as long.
    let url = slow_way(&server, Duration::from_millis(350));
    let ls = |arguments: &[&str]| {
        let mut command =
            crate::support::command(&[&["ls", "--limit", "10", "--store", &url], arguments].concat());
        Ran::of(command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "3s").output().unwrap())
    };
    let watch = || {
        let mut command = crate::support::command(&["watch", "--prefix", "many/", "--store", &url]);
        command.env("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "3s").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, notes) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok).filter(|line| line.contains("may be missing")) {
                let _ = tell.send(line);
            }
        });
        let note = notes.recv_timeout(Duration::from_secs(120)).ok();
        child.kill().unwrap();
        child.wait().unwrap();
        note
    };
    let (table, json, note) = thread::scope(|scope| {
        let (table, note) = (scope.spawn(|| ls(&[])), scope.spawn(watch));
        let json = ls(&["--json"]);
        (table.join().unwrap(), json, note.join().unwrap())
    });
    assert!(note.is_some(), "the watch does not say it");
    assert_eq!(table.code, Some(2), "{table:?}");
    assert!(table.err.contains("names may be missing") && !table.err.contains("--after"), "{table:?}");
    let page = json.of_kind("page").remove(0);
    assert_eq!((&page["cut_short"], &page["complete"]), (&true.into(), &false.into()));
    assert!(page["next"].is_null(), "{page}");
}
