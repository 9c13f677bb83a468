//! The profile of a server: how long its commands take, and the way to it.

use std::time::Duration;

use leasehold::{ConfigError, InvalidValue};
use serde::{Deserialize, Serialize};

use super::{chance::Chance, keys::parse_error};

/// The times of a server and of the way to it, in microseconds, as a simulation has them.
///
/// A call is one script. It costs [`call`](Self::call), and for each lock in it what is done to that lock. Plain locks know
/// neither a queue nor a hand-over.
///
/// # Default
/// A redis-server 7.0 on the same machine, which was measured while it had little to do: a round trip of about 110 µs, and
/// 55 µs of the server for an acquisition and a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerProfile {
    /// The time of an uncontended request apart from the server's work, with all that the client and the network do, after
    /// nothing was sent for [`COLD_AFTER`](Self::COLD_AFTER): at least one value, in ascending order, each as likely as the
    /// others.
    pub round_trips: Vec<f64>,
    /// The same of a request that follows another one at once.
    pub warm_round_trips: Vec<f64>,
    /// The time by which timers of the client's machine are late, so that locks are held for longer than was meant: at least
    /// one value, in ascending order, each as likely as the others. A machine with other work to do has large ones.
    pub late: Vec<f64>,
    /// The work for a call, whatever is in it.
    pub call: f64,
    /// The additional work for a call that finds the server idle for [`COLD_AFTER`](Self::COLD_AFTER) or longer. It is in
    /// proportion to a shorter time.
    pub wake: f64,
    /// The work for an acquisition that is granted.
    pub granted: f64,
    /// The work for an acquisition that is refused.
    pub refused: f64,
    /// The work for an acquisition that is appended to a queue, or repeated there.
    pub queued: f64,
    /// The work for an acquisition that takes up what was handed over to it.
    pub taken_up: f64,
    /// The work for a release that nobody waits for.
    pub released: f64,
    /// The work for a release that hands over to a waiter, and notifies it.
    pub handed_over: f64,
    /// The work for a hand-off to another waiter of the same process.
    pub handed_off: f64,
    /// The work for a renewal.
    pub renewed: f64,
    /// The share of a core that the server needs while it has nothing to do.
    pub idle: f64,
}

impl Default for ServerProfile {
    fn default() -> Self {
        Self {
            round_trips: vec![80.0, 95.0, 105.0, 115.0, 140.0, 200.0],
            warm_round_trips: vec![60.0, 70.0, 80.0, 90.0, 110.0, 160.0],
            late: vec![55.0, 60.0, 70.0, 80.0, 150.0],
            call: 8.0,
            wake: 15.0,
            granted: 5.0,
            refused: 6.0,
            queued: 14.0,
            taken_up: 8.0,
            released: 4.0,
            handed_over: 25.0,
            handed_off: 10.0,
            renewed: 4.0,
            idle: 0.003,
        }
    }
}

impl ServerProfile {
    /// The time without work after which caches are cold and processors sleep. A server that was idle for 10 ms needed
    /// about 60 µs more for a short script than one that is asked all the time, after 5 ms 40 µs, after 2 ms 20 µs and
    /// after 1 ms 8 µs, so it is in proportion up to here; after 20 ms it needed no more than that.
    pub const COLD_AFTER: Duration = Duration::from_millis(10);

    /// Reads what [`to_toml`](Self::to_toml) wrote.
    ///
    /// # Errors
    /// [`ConfigError`] when something is missing, unknown or out of its bounds, with its key.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let profile: Self = toml::from_str(text).map_err(|error| parse_error("profile", text, &error))?;
        profile.check()?;
        Ok(profile)
    }

    /// Returns the profile as the text of a file.
    pub fn to_toml(&self) -> String {
        // A struct of numbers has a text in any case.
        toml::to_string(self).unwrap_or_default()
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// [`InvalidValue`] with its key.
    pub fn check(&self) -> Result<(), InvalidValue> {
        /// A minute, which no server takes.
        const MOST: f64 = 60_000_000.0;
        let mut all = self.clone();
        for (field, time) in all.times() {
            if !(0.0..=MOST).contains(time) {
                return Err(InvalidValue::new(field, time, format!("0 to {MOST} microseconds")));
            }
        }
        for (field, times) in all.lists() {
            if let Some(time) = times.iter().find(|time| !(0.0..=MOST).contains(*time)) {
                return Err(InvalidValue::new(field, time, format!("0 to {MOST} microseconds")));
            }
            if times.is_empty() || !times.is_sorted() {
                let found = format!("{times:?}");
                return Err(InvalidValue::new(field, found, "one or more, in ascending order"));
            }
        }
        if !(0.0..=1.0).contains(&self.idle) {
            return Err(InvalidValue::new("idle", self.idle, "0 to 1 core"));
        }
        Ok(())
    }

    /// Returns a server whose work, and the way to it, take so many times as long. Timers are those of the client.
    pub(super) fn slower(&self, times: f64) -> Self {
        let mut slower = self.clone();
        slower.times().into_iter().for_each(|(_, time)| *time *= times);
        for list in [&mut slower.round_trips, &mut slower.warm_round_trips] {
            list.iter_mut().for_each(|time| *time *= times);
        }
        slower
    }

    /// Returns the mean of profiles: of each time, and all values of lists together. The default if there are none.
    pub fn mean(profiles: &[Self]) -> Self {
        let Some((first, others)) = profiles.split_first() else { return Self::default() };
        let (mut mean, count) = (first.clone(), profiles.len() as f64);
        for mut other in others.iter().cloned() {
            mean.times().into_iter().zip(other.times()).for_each(|((_, sum), (_, time))| *sum += *time);
            mean.lists().into_iter().zip(other.lists()).for_each(|((_, all), (_, list))| all.append(list));
            mean.idle += other.idle;
        }
        mean.times().into_iter().for_each(|(_, sum)| *sum /= count);
        mean.lists().into_iter().for_each(|(_, all)| all.sort_by(f64::total_cmp));
        mean.idle /= count;
        mean
    }

    /// Returns the times of the server, with their keys.
    fn times(&mut self) -> [(&'static str, &mut f64); 10] {
        [
            ("call", &mut self.call),
            ("wake", &mut self.wake),
            ("granted", &mut self.granted),
            ("refused", &mut self.refused),
            ("queued", &mut self.queued),
            ("taken_up", &mut self.taken_up),
            ("released", &mut self.released),
            ("handed_over", &mut self.handed_over),
            ("handed_off", &mut self.handed_off),
            ("renewed", &mut self.renewed),
        ]
    }

    /// Returns the lists of times, with their keys.
    fn lists(&mut self) -> [(&'static str, &mut Vec<f64>); 3] {
        [
            ("round_trips", &mut self.round_trips),
            ("warm_round_trips", &mut self.warm_round_trips),
            ("late", &mut self.late),
        ]
    }

    /// Draws a round trip of a client that has sent nothing for this time, in microseconds.
    pub(super) fn round_trip(&self, idle: Duration, chance: &mut Chance) -> f64 {
        let share = chance.share();
        let (warm, cold) = (drawn(&self.warm_round_trips, share), drawn(&self.round_trips, share));
        warm + (cold - warm) * coldness(idle)
    }

    /// Returns the additional work for a call that finds the server idle for this time, in microseconds.
    pub(super) fn waking(&self, idle: Duration) -> f64 {
        self.wake * coldness(idle)
    }

    /// Draws the time by which a timer is late.
    pub(super) fn lateness(&self, chance: &mut Chance) -> Duration {
        Duration::from_secs_f64(drawn(&self.late, chance.share()) / 1e6)
    }
}

/// Returns how cold something is after this time without work: 0 to 1.
fn coldness(idle: Duration) -> f64 {
    idle.div_duration_f64(ServerProfile::COLD_AFTER).min(1.0)
}

/// Returns the number below which this share of a list lies, between two neighbours. All pairs of neighbours are as likely.
fn drawn(list: &[f64], share: f64) -> f64 {
    let last = list.len() - 1;
    let place = share * last as f64;
    let (below, part) = (place as usize, place.fract());
    let (low, high) = (list[below], list[(below + 1).min(last)]);
    low + (high - low) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_reads_back_what_it_wrote() {
        let profile = ServerProfile { idle: 0.25, ..ServerProfile::default() };
        assert_eq!(ServerProfile::from_toml(&profile.to_toml()).unwrap(), profile);
    }

    #[test]
    fn a_profile_out_of_its_bounds_is_refused_by_name() {
        let default = ServerProfile::default;
        for (profile, field) in [
            (ServerProfile { call: -1.0, ..default() }, "call"),
            (ServerProfile { queued: f64::NAN, ..default() }, "queued"),
            (ServerProfile { round_trips: vec![], ..default() }, "round_trips"),
            (ServerProfile { round_trips: vec![2.0, 1.0], ..default() }, "round_trips"),
            (ServerProfile { round_trips: vec![-1.0], ..default() }, "round_trips"),
            (ServerProfile { warm_round_trips: vec![], ..default() }, "warm_round_trips"),
            (ServerProfile { late: vec![], ..default() }, "late"),
            (ServerProfile { idle: 2.0, ..default() }, "idle"),
        ] {
            assert_eq!(profile.check().unwrap_err().field, field);
        }
    }

    #[test]
    fn the_mean_of_two_profiles_is_a_profile_between_them() {
        let (mut first, mut second) = (ServerProfile::default(), ServerProfile::default());
        (first.call, second.call) = (4.0, 8.0);
        (first.late, second.late) = (vec![1.0, 3.0], vec![2.0, 9.0]);
        let mean = ServerProfile::mean(&[first, second]);
        mean.check().unwrap();
        assert_eq!((mean.call, mean.late), (6.0, vec![1.0, 2.0, 3.0, 9.0]));
    }

    #[test]
    fn round_trips_are_drawn_between_those_that_were_measured() {
        let profile = ServerProfile { round_trips: vec![0.0, 10.0, 110.0], ..ServerProfile::default() };
        let mut chance = Chance::of(1, 0);
        let drawn: Vec<f64> =
            (0..4_000).map(|_| profile.round_trip(ServerProfile::COLD_AFTER, &mut chance)).collect();
        let share = |limit: f64| drawn.iter().filter(|trip| **trip <= limit).count() as f64 / 4_000.0;
        assert!((share(10.0) - 0.5).abs() < 0.03 && (share(60.0) - 0.75).abs() < 0.03 && share(110.0) == 1.0);
        let one = ServerProfile { round_trips: vec![7.0], ..ServerProfile::default() };
        assert_eq!(one.round_trip(Duration::MAX, &mut chance), 7.0);
    }

    #[test]
    fn what_has_not_worked_for_a_while_takes_longer_up_to_a_limit() {
        let (round_trips, warm_round_trips) = (vec![100.0], vec![50.0]);
        let profile = ServerProfile { round_trips, warm_round_trips, wake: 60.0, ..ServerProfile::default() };
        for (idle, trip, waking) in [(0, 50.0, 0.0), (5, 75.0, 30.0), (10, 100.0, 60.0), (1_000, 100.0, 60.0)]
        {
            let idle = Duration::from_millis(idle);
            assert_eq!(profile.round_trip(idle, &mut Chance::of(1, 0)), trip, "{idle:?}");
            assert_eq!(profile.waking(idle), waking, "{idle:?}");
        }
    }
}
