//! Tests of the state of a schedule: each change to it, and what is read back.

use super::*;

const PLAN: TickPlan = TickPlan::Every(100);

fn begun(now: Millis) -> ScheduleState {
    ScheduleState::begun(now, Token::from_bits(1))
}

fn rules() -> Rules {
    Rules { plan: PLAN, ..Rules::each_second() }
}

fn step(state: &ScheduleState, rules: &Rules, running: usize, now: Millis) -> Step {
    state.step(rules, Some(Fence::new(5)), running, now)
}

fn claim(state: &mut ScheduleState, now: Millis) -> Tick {
    let Step::Claim(wanted) = step(state, &rules(), 0, now) else { panic!("nothing is due") };
    state.claim(wanted, Token::from_bits(u128::from(now)), Some(Fence::new(5)), 2, now)
}

#[test]
fn who_has_a_smaller_fence_than_the_last_claim_is_overtaken() {
    let mut state = begun(0);
    claim(&mut state, 100);
    let step = |fence| state.step(&rules(), fence, 0, 200);
    assert_eq!(step(Some(Fence::new(4))), Step::Overtaken);
    assert!(matches!(step(Some(Fence::new(5))), Step::Claim(_)));
    assert!(matches!(step(None), Step::Claim(_)), "a store without fences");
}

#[test]
fn runs_do_not_overlap_and_rest_for_the_shortest_time() {
    let (mut state, mut rules) = (begun(0), rules());
    claim(&mut state, 100);
    assert_eq!(step(&state, &rules, 1, 200), Step::Wait(None));
    rules.at_once = 2;
    assert!(matches!(step(&state, &rules, 1, 200), Step::Claim(_)));
    rules.at_least = 250;
    assert_eq!(step(&state, &rules, 0, 349), Step::Wait(Some(350)));
    assert!(matches!(step(&state, &rules, 0, 350), Step::Claim(WantedTick { scheduled_for: 300, .. })));
}

#[test]
fn a_run_that_was_asked_for_is_run_once_also_in_a_pause_and_takes_no_tick_away() {
    let mut state = begun(0);
    state.paused = true;
    state.ask(Token::from_bits(1), 30);
    state.ask(Token::from_bits(2), 40);
    let tick = claim(&mut state, 50);
    assert_eq!((tick.number, tick.scheduled_for, tick.asked), (1, time_of(30), true));
    state.ask(Token::from_bits(1), 60);
    assert_eq!(step(&state, &rules(), 0, 60), Step::Wait(None), "a repeat");
    state.paused = false;
    assert_eq!(claim(&mut state, 100).scheduled_for, time_of(100));
}

#[test]
fn the_history_has_the_latest_runs_and_reads_back() {
    let mut state = begun(0);
    for now in [100, 200, 300] {
        claim(&mut state, now);
    }
    state.ended((1, Some(Fence::new(5))), (Duration::from_millis(7), &Outcome::Done), 0);
    state.ended((2, Some(Fence::new(4))), (Duration::ZERO, &Outcome::Done), 0);
    state.ended((2, Some(Fence::new(5))), (Duration::from_millis(7), &Outcome::failed(&"x".repeat(201))), 0);
    let history = state.status(0).history;
    assert_eq!(history.iter().map(|run| run.tick.number).collect::<Vec<_>>(), [3, 2]);
    let failed = Outcome::Failed(format!("{}…", "x".repeat(200)));
    assert_eq!(history[1].ended, Some((Duration::from_millis(7), failed)));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<ScheduleState>(&text).unwrap(), state);
}

#[test]
fn a_run_of_a_runner_that_is_gone_is_repeated_before_the_plan_goes_on_and_not_in_a_pause() {
    let (mut state, rules) = (begun(0), Rules { repeats: 1, ..rules() });
    claim(&mut state, 100);
    let next = |state: &ScheduleState| state.step(&rules, Some(Fence::new(6)), 0, 250);
    let wanted = WantedTick { scheduled_for: 100, asked: false, repeats: 1 };
    assert_eq!(next(&state), Step::Claim(wanted));
    state.paused = true;
    assert_eq!(next(&state), Step::Wait(None));
    state.paused = false;
    let tick = state.claim(wanted, Token::from_bits(1), Some(Fence::new(6)), 2, 250);
    assert_eq!((tick.number, tick.attempt, tick.scheduled_for), (2, 2, time_of(100)));
    assert!(matches!(next(&state), Step::Claim(WantedTick { scheduled_for: 200, repeats: 0, .. })));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<ScheduleState>(&text).unwrap(), state);
    assert_eq!(text.matches("repeats").count(), 1, "{text}");
}

#[test]
fn a_schedule_pauses_after_failures_in_a_row_and_counts_anew_when_it_is_resumed() {
    let mut state = begun(0);
    let ends = |state: &mut ScheduleState, outcome: &Outcome| {
        let wanted = WantedTick { scheduled_for: 100, asked: true, repeats: 0 };
        let tick = state.claim(wanted, Token::from_bits(1), Some(Fence::new(5)), 9, 100);
        // Written twice, as it may be if an answer is lost.
        state.ended((tick.number, tick.fence), (Duration::ZERO, outcome), 2);
        state.ended((tick.number, tick.fence), (Duration::ZERO, outcome), 2);
        state.paused
    };
    let (failed, done) = (Outcome::failed("no paper"), Outcome::Done);
    assert!(!ends(&mut state, &failed) && !ends(&mut state, &done) && !ends(&mut state, &failed));
    assert!(!ends(&mut state, &Outcome::Stopped), "nobody is to blame for that");
    assert!(ends(&mut state, &Outcome::TimedOut));
    state.resume(500);
    assert!(!ends(&mut state, &failed) && ends(&mut state, &Outcome::panicked("oh")));
    assert_eq!(state.failures(), 2);
}

#[test]
fn what_a_later_version_has_written_is_left_as_it_is() {
    let mut state = begun(0);
    claim(&mut state, 100);
    state.ended((1, Some(Fence::new(5))), (Duration::ZERO, &Outcome::failed("no paper")), 0);
    let text = serde_json::to_string(&state).unwrap();
    let later = text.replace(r#"{"failed":"#, r#"{"postponed":"#).replacen('{', r#"{"new":{"er":1},"#, 1);
    let mut state: ScheduleState = serde_json::from_str(&later).unwrap();
    assert_eq!(state.status(0).history[0].ended, Some((Duration::ZERO, Outcome::Unknown)));
    claim(&mut state, 200);
    let text = serde_json::to_string(&state).unwrap();
    assert!(text.contains(r#""new":{"er":1}"#) && text.contains(r#"{"postponed":"no paper"}"#), "{text}");
}

#[test]
fn a_run_that_was_asked_for_is_not_compared_with_the_clock_and_a_last_tick_in_the_future_shows() {
    let mut state = begun(1_000);
    assert!(!state.is_ahead(&PLAN, 950) && state.is_ahead(&PLAN, 850));
    state.ask(Token::from_bits(1), 1_030);
    let wanted = WantedTick { scheduled_for: 1_030, asked: true, repeats: 0 };
    assert_eq!(step(&state, &rules(), 0, 10), Step::Claim(wanted));
}

#[test]
fn times_after_the_year_9999_and_numbers_that_cannot_be_counted_on_are_told_apart_from_others() {
    let check = |text: &str| serde_json::from_str::<ScheduleState>(text).unwrap().check();
    let (latest, later) = (253_402_300_799_999_u64, 253_402_300_800_000_u64);
    for (text, field) in [
        (r#"{"last":TIME}"#, "last"),
        (r#"{"started":TIME}"#, "started"),
        (r#"{"asked":{"at":TIME,"id":"1"}}"#, "asked.at"),
        (r#"{"runs":[{},{"scheduled_for":TIME}]}"#, "runs.scheduled_for"),
        (r#"{"runs":[{},{"started":TIME}]}"#, "runs.started"),
    ] {
        assert_eq!(check(&text.replace("TIME", &latest.to_string())), Ok(()), "{field}");
        for time in [later, u64::MAX] {
            let told = format!("{field} is {time}, after the year 9999");
            assert_eq!(check(&text.replace("TIME", &time.to_string())), Err(told));
        }
    }
    assert_eq!(check(r#"{"number":9007199254740992}"#), Ok(()));
    let told = "number is 18446744073709551615, more than 9007199254740992".to_owned();
    assert_eq!(check(r#"{"number":18446744073709551615}"#), Err(told));
}

#[test]
fn a_repetition_is_not_repeated_though_a_failover_has_forgotten_it_nor_is_what_was_before_a_resumption() {
    let (mut state, rules) = (begun(0), Rules { repeats: 1, ..rules() });
    claim(&mut state, 100);
    let next = |state: &ScheduleState| state.step(&rules, Some(Fence::new(6)), 0, 150);
    let wanted = WantedTick { scheduled_for: 100, asked: false, repeats: 1 };
    assert_eq!(next(&state), Step::Claim(wanted));
    let (mut replica, mut floor) = (state.clone(), ScheduleProgress::default());
    state.claim(wanted, Token::from_bits(1), Some(Fence::new(6)), 2, 150);
    state.meet(&mut floor);
    assert!(replica.meet(&mut floor), "it is behind");
    assert_eq!(next(&replica), Step::Wait(Some(200)));
    let mut resumed = begun(0);
    claim(&mut resumed, 100);
    resumed.paused = true;
    resumed.resume(120);
    assert_eq!(next(&resumed), Step::Wait(Some(200)));
    claim(&mut resumed, 200);
    let at_twice = Rules { at_once: 2, ..rules };
    let later = WantedTick { scheduled_for: 200, asked: false, repeats: 1 };
    let step = resumed.step(&at_twice, Some(Fence::new(6)), 0, 250);
    assert_eq!(step, Step::Claim(later), "the one that is forgiven does not hide it");
}
