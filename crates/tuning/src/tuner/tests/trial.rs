//! Changes on trial, in a world whose figure depends on the bound of a queue.

use std::collections::BTreeMap;

use super::{enabled, home};
use crate::tuner::{
    TunerRule,
    judge::Judge,
    window::{QueueDemand, WindowFigures},
};

/// Lets a tuner see a queue that stays, in a world in which the application's figure is `orders` of the bound. Returns the
/// rules of its changes, and the last bound.
fn rules(windows: u32, orders: impl Fn(u32) -> f64) -> (Vec<TunerRule>, u32) {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let (mut bound, mut rules) = (home.max_waiters, Vec::new());
    for _ in 0..windows {
        let queue = QueueDemand { fewest: bound.min(60), most: bound.min(60), stands: true, rate: 100.0 };
        let gauges = BTreeMap::from([("orders".to_owned(), orders(bound))]);
        for decision in judge.judge(&WindowFigures { queue: Some(queue), gauges, ..WindowFigures::default() })
        {
            bound = decision.to.max_waiters;
            rules.push(decision.rule);
        }
    }
    (rules, bound)
}

#[test]
fn a_change_after_which_a_figure_falls_is_taken_back_for_a_while() {
    let (made, bound) = rules(30, |bound| if bound < 50 { 10.0 } else { 100.0 });
    assert_eq!((made, bound), (vec![TunerRule::ShedEarly, TunerRule::TakeBack], 100));
    let (made, _) = rules(130, |bound| if bound < 50 { 10.0 } else { 100.0 });
    assert_eq!(made.len(), 6, "{made:?}");
}

#[test]
fn a_change_after_which_no_figure_falls_by_half_stays() {
    let (made, bound) = rules(30, |bound| if bound < 50 { 60.0 } else { 100.0 });
    assert_eq!((made, bound), (vec![TunerRule::ShedEarly], 20));
    for odd in [f64::NAN, f64::INFINITY, 0.0, -5.0] {
        assert_eq!(rules(30, |bound| if bound < 50 { 0.0 } else { odd }).0, [TunerRule::ShedEarly]);
        let after = rules(30, |bound| if bound < 50 { odd } else { 100.0 }).0;
        assert_eq!(after.contains(&TunerRule::TakeBack), odd <= 0.0, "{odd}: {after:?}");
    }
}

#[test]
fn a_change_is_not_taken_back_because_demand_has_gone() {
    let home = home(100);
    for lasts in 1..=3 {
        let mut judge = Judge::new(enabled(), home);
        let mut made = Vec::new();
        for window in 0..60 {
            let demand = QueueDemand { fewest: 60, most: 60, stands: true, rate: 100.0 };
            let (queue, orders) = if window < lasts { (Some(demand), 100.0) } else { (None, 0.0) };
            let gauges = BTreeMap::from([("orders".to_owned(), orders)]);
            let figures = WindowFigures { queue, gauges, ..WindowFigures::default() };
            made.extend(judge.judge(&figures).into_iter().map(|it| it.rule));
        }
        assert_eq!(made, [TunerRule::ShedEarly, TunerRule::OpenQueue], "demand lasted for {lasts} windows");
    }
}

#[test]
fn a_change_is_compared_with_more_than_the_window_before_it() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let mut made = Vec::new();
    for window in 0..30 {
        let demand = QueueDemand { fewest: 60, most: 60, stands: true, rate: 100.0 };
        // One window of many orders among others, in which the queue begins to stay.
        let orders = if window == 3 { 150.0 } else { 50.0 };
        let gauges = BTreeMap::from([("orders".to_owned(), orders)]);
        let figures =
            WindowFigures { queue: (window >= 3).then_some(demand), gauges, ..WindowFigures::default() };
        made.extend(judge.judge(&figures).into_iter().map(|it| it.rule));
    }
    assert_eq!(made, [TunerRule::ShedEarly]);
}

#[test]
fn a_setting_rests_after_a_change_whatever_the_figures_do() {
    let home = home(1_000);
    let mut judge = Judge::new(enabled(), home);
    let mut changes = 0;
    for window in 0..60 {
        let rate = if window % 2 == 0 { 10.0 } else { 500.0 };
        let queue = QueueDemand { fewest: 0, most: 200, stands: false, rate };
        changes += judge.judge(&WindowFigures { queue: Some(queue), ..WindowFigures::default() }).len();
    }
    assert!((1..=60 / 4 + 1).contains(&changes), "{changes}");
}
