//! The search as a whole: what it finds, that it repeats itself, and what is left of one that is stopped.

use leasehold::Config;

use super::{search::FEWEST, *};

/// Twice as many requests as can be served.
const TEXT: &str = r#"
    duration = "150ms"
    processes = 2
    arrivals = { kind = "constant", rate = 400.0 }
    hold = { kind = "constant", time = "5ms" }
    config.wait.timeout = "20ms"
"#;

fn search(goal: Goal, limits: &[&str]) -> Search {
    let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    Search { limits, simulations: FEWEST, ..Search::new(goal) }
}

fn found(text: &str, search: &Search) -> Recommendation {
    let workload = Workload::from_toml(text, &[]).unwrap();
    recommend(&workload, &ServerProfile::default(), search, |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_longer_wait_is_found_for_success_and_a_limit_ends_it() {
    let all = found(TEXT, &search(Goal::Success, &[]));
    assert!(all.is_complete && all.is_within_limits && all.best.figures.success > 0.99, "{all:#?}");
    assert!(all.best.config.contains("timeout"), "{all:#?}");
    let limited = found(TEXT, &search(Goal::Success, &["p99 wait <= 60ms"]));
    let (best, own) = (&limited.best, &limited.compared[0]);
    assert!(limited.is_within_limits && best.figures.p99_wait <= 60_000.0, "{limited:#?}");
    assert!(best.figures.success > own.figures.success + 0.02, "{limited:#?}");
    assert_eq!(best.within_limits, best.seeds);
}

#[test]
fn without_a_limit_of_success_as_many_are_served_as_before() {
    let found = found(TEXT, &search(Goal::Latency, &[]));
    let own = found.compared.iter().find(|it| it.name == "as it is").unwrap();
    assert!(found.limits[0].starts_with("success >= ") && own.figures.success > 0.5, "{found:#?}");
    assert!(found.best.figures.success > own.figures.success - 0.02, "{found:#?}");
    assert!(found.best.figures.p99_wait <= own.figures.p99_wait, "{found:#?}");
}

#[test]
fn the_same_seed_has_the_same_answer() {
    let search = search(Goal::ServerLoad, &["success >= 60%"]);
    assert_eq!(found(TEXT, &search), found(TEXT, &search));
}

#[test]
fn where_nothing_matters_the_default_is_recommended() {
    let alone = TEXT.replace("400.0", "20.0").replace("20ms", "0s");
    for goal in [Goal::Success, Goal::Latency, Goal::ServerLoad] {
        let found = found(&alone, &search(goal, &[]));
        assert_eq!((found.best.config.as_str(), found.best.figures.success), ("", 1.0), "{found:#?}");
    }
}

#[test]
fn limits_that_contradict_each_other_leave_the_nearest_setting() {
    let found = found(TEXT, &search(Goal::Success, &["p99 wait <= 1ms", "success >= 90%"]));
    assert!(found.is_complete && !found.is_within_limits && found.best.within_limits == 0, "{found:#?}");
}

#[test]
fn everything_that_is_told_is_a_valid_configuration_and_no_front_has_a_dominated_setting() {
    let text = TEXT.replace("config.wait", "config.limits.max_ttl = '1m'\nconfig.wait");
    let found = found(&text, &search(Goal::Success, &["p99 wait <= 60ms"]));
    let all =
        [&found.compared[..], &found.sensitivity, &found.front, std::slice::from_ref(&found.best)].concat();
    for it in &all {
        let config = Config::from_toml(&it.config).unwrap_or_else(|error| panic!("{error}: {it:?}"));
        assert_eq!(config.limits.max_ttl.as_secs(), 60, "{it:?}");
        let default = Config::from_toml("limits.max_ttl = '1m'").unwrap();
        assert_eq!(config == default, it.config == "[limits]\nmax_ttl = \"1m\"\n", "{it:?}");
    }
    let costs = |it: &Prediction| [1.0 - it.figures.success, it.figures.p99_wait, it.figures.server_time];
    for (this, other) in found.front.iter().flat_map(|this| found.front.iter().map(move |it| (this, it))) {
        let pairs = || costs(this).into_iter().zip(costs(other));
        assert!(!(pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)), "{this:?} and {other:?}");
    }
    assert!(found.sensitivity.iter().any(|it| it.name == "25 % more requests"), "{found:#?}");
}

#[test]
fn a_search_that_is_stopped_gives_the_best_so_far() {
    let workload = Workload::from_toml(TEXT, &[]).unwrap();
    let stopped_after = |most: u32| {
        let search = search(Goal::Success, &[]);
        let stop = |progress: &Progress| match progress.done < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        recommend(&workload, &ServerProfile::default(), &search, stop).unwrap()
    };
    let at_once = stopped_after(0);
    assert!(at_once.best.seeds > 0 && at_once.best.figures.success > 0.5, "{at_once:#?}");
    assert_eq!(at_once.best.config, at_once.compared[0].config, "{at_once:#?}");
    let first = stopped_after(1);
    assert!(!first.is_complete && first.best.seeds > 0 && first.simulations < FEWEST, "{first:#?}");
    let later = stopped_after(50);
    assert!(!later.is_complete && later.best.figures.success > 0.9, "{later:#?}");
}

#[test]
fn a_search_with_hardly_any_simulations_is_refused() {
    let workload = Workload::from_toml(TEXT, &[]).unwrap();
    let search = Search { simulations: 99, ..Search::new(Goal::Success) };
    let refused = recommend(&workload, &ServerProfile::default(), &search, |_| ControlFlow::Continue(()));
    assert_eq!(refused.unwrap_err().to_string(), "invalid simulations: 99 (allowed: 100 to 1000000)");
}
