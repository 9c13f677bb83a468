//! The front of what cannot be had together: settings that no other one beats in everything.

use super::figures::Figures;

/// The figures that a front is about, of which less is better.
fn costs(figures: &Figures) -> [f64; 3] {
    [1.0 - figures.success, figures.p99_wait, figures.server_time]
}

/// Returns true if the first is nowhere worse, and somewhere better.
fn dominates(this: &Figures, other: &Figures) -> bool {
    let pairs = || costs(this).into_iter().zip(costs(other));
    pairs().all(|(this, other)| this <= other) && pairs().any(|(this, other)| this < other)
}

/// Returns the places of those beside which there is nothing simpler that is nowhere worse by more than a hundredth. `changes` is
/// the number of settings that each has changed. Else a front is full of changes that do nothing.
pub(super) fn simple(all: &[Figures], changes: &[usize]) -> Vec<usize> {
    let is_as_good = |this: &Figures, other: &Figures| {
        let ([failed, wait, server], [other_failed, other_wait, other_server]) = (costs(this), costs(other));
        failed <= other_failed + 0.005 && wait <= other_wait * 1.01 && server <= other_server * 1.01
    };
    let has_simpler = |place: usize| {
        let mut simpler = (0..all.len()).filter(|it| changes[*it] < changes[place]);
        simpler.any(|it| all[it].success > 0.0 && is_as_good(&all[it], &all[place]))
    };
    (0..all.len()).filter(|place| !has_simpler(*place)).collect()
}

/// Returns the places of those that nothing dominates, from the shortest wait to the longest, at most so many: of two that lie
/// close together one goes. A setting that serves nobody is not among them.
pub(super) fn front(all: &[Figures], most: usize) -> Vec<usize> {
    let is_free = |place: &usize| {
        let figures = &all[*place];
        let is_first = || !all[..*place].iter().any(|it| costs(it) == costs(figures));
        // Most are dominated, and soon found to be.
        figures.success > 0.0 && !all.iter().any(|it| dominates(it, figures)) && is_first()
    };
    let mut front: Vec<usize> = (0..all.len()).filter(is_free).collect();
    front.sort_by(|a, b| all[*a].p99_wait.total_cmp(&all[*b].p99_wait));
    thin(all, &mut front, most);
    front
}

/// Removes those that lie closest to the one before, until only so many are left. The first and the last stay.
fn thin(all: &[Figures], front: &mut Vec<usize>, most: usize) {
    let spans = [0, 1, 2].map(|cost| {
        let values = front.iter().map(|place| scaled(&all[*place])[cost]);
        let (least, most) =
            values.fold((f64::MAX, f64::MIN), |(least, most), it| (least.min(it), most.max(it)));
        (most - least).max(f64::MIN_POSITIVE)
    });
    let distance = |a: usize, b: usize| {
        let pairs = scaled(&all[a]).into_iter().zip(scaled(&all[b])).zip(spans);
        pairs.map(|((a, b), span)| (a - b).abs() / span).fold(0.0, f64::max)
    };
    while front.len() > most.max(2) {
        let inner = 1..front.len() - 1;
        let Some(closest) = inner.min_by(|a, b| {
            let gap = |at: usize| distance(front[at - 1], front[at]).min(distance(front[at], front[at + 1]));
            gap(*a).total_cmp(&gap(*b))
        }) else {
            return;
        };
        front.remove(closest);
    }
}

/// Returns the costs on the scales on which people compare them: shares as they are, times by their ratio.
fn scaled(figures: &Figures) -> [f64; 3] {
    let [failed, wait, server] = costs(figures);
    [failed, wait.max(1.0).ln(), server.max(1.0).ln()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figures((success, wait, server): (u8, u8, u8)) -> Figures {
        Figures {
            success: f64::from(success) / 10.0,
            p99_wait: f64::from(wait),
            server_time: f64::from(server),
            ..Figures::default()
        }
    }

    #[test]
    fn a_front_goes_from_short_waits_to_many_served() {
        let all = [(9, 80, 5), (5, 10, 5), (5, 20, 5), (9, 80, 5), (0, 0, 0), (9, 90, 4)].map(figures);
        assert_eq!(front(&all, 10), [1, 0, 5]);
    }

    #[test]
    fn a_change_that_does_nothing_is_not_on_a_front() {
        let mut all = [(5, 100, 100), (5, 100, 100), (9, 100, 100), (0, 0, 0)].map(figures);
        all[1].p99_wait = 99.5;
        assert_eq!(simple(&all, &[1, 2, 3, 0]), [0, 2, 3]);
    }

    #[test]
    fn a_front_is_thinned_where_it_is_dense() {
        let all = [(1, 1, 1), (2, 10, 1), (3, 11, 1), (4, 100, 1)].map(figures);
        let thinned = front(&all, 3);
        assert!(thinned.len() == 3 && thinned[0] == 0 && thinned[2] == 3, "{thinned:?}");
    }

    proptest! {
        #[test]
        fn nothing_on_a_front_is_dominated_and_all_else_is(
            points in prop::collection::vec((1_u8..=10, 0_u8..20, 0_u8..20), 1..40)
        ) {
            let all: Vec<Figures> = points.into_iter().map(figures).collect();
            let found = front(&all, usize::MAX);
            for (place, it) in all.iter().enumerate() {
                let is_beaten = all.iter().any(|other| dominates(other, it));
                let is_twin = found.iter().any(|front| costs(&all[*front]) == costs(it));
                prop_assert_eq!(!is_beaten, found.contains(&place) || is_twin);
            }
        }
    }
}
