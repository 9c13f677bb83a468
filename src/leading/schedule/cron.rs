//! A cron expression in a time zone.

use croner::YEAR_UPPER_LIMIT;
use jiff::{
    Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};
use parking_lot::Mutex;

use super::{
    expression,
    tick::{Gap, Millis},
};
use crate::core::InvalidValue;

/// The time within which an expression must have a tick.
const FIVE_YEARS: Millis = 5 * 366 * 24 * 60 * 60 * 1_000;

/// The number of characters of a plan that other processes are told.
pub(super) const LONGEST_WORDS: usize = 200;

/// A cron expression in a time zone.
#[derive(Debug)]
pub(super) struct Cron {
    /// The expression and its zone, as other processes are told them: cut if they are long.
    pub(super) words: String,
    pattern: croner::Cron,
    zone: TimeZone,
    /// The gaps that were found last, the latest first. A runner asks of the same one again and again, and with a jitter of
    /// two; and a search that finds nothing goes on to the year 5000.
    gaps: Mutex<[Option<Gap>; 2]>,
}

impl Cron {
    /// Reads a cron expression with seconds, and the name of a zone in the database of the IANA. An expression without a tick
    /// in the five years after `now` is refused.
    pub(super) fn new(expression: &str, zone: &str, now: Millis) -> Result<Self, InvalidValue> {
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let words = format!("{} {zone}", fields.join(" ")).chars().take(LONGEST_WORDS).collect();
        let (pattern, zone) = (expression::read(expression)?, zone_of(zone, jiff::tz::db())?);
        let cron = Self { words, pattern, zone, gaps: Mutex::default() };
        let next = cron.gap(now).next;
        if next.is_some_and(|next| next.saturating_sub(now) <= FIVE_YEARS) {
            return Ok(cron);
        }
        let first = next.map_or_else(
            || "it has none".to_owned(),
            |next| format!("its first one is {}", cron.shown(next)),
        );
        let allowed =
            format!("a tick within five years; after {}, the time of this machine, {first}", cron.shown(now));
        Err(InvalidValue::new("schedule.cron", expression, allowed))
    }

    /// Returns the gap in which this time lies. After the years in which ticks are searched nothing is known, nor remembered.
    pub(super) fn gap(&self, time: Millis) -> Gap {
        let [latest, earlier] = *self.gaps.lock();
        let is_inside =
            |gap: &Gap| gap.last.is_none_or(|last| last <= time) && gap.next.is_none_or(|next| time < next);
        if let Some(gap) = [latest, earlier].into_iter().flatten().find(is_inside) {
            return gap;
        }
        let is_searched = |zoned: &Zoned| i32::from(zoned.year()) < YEAR_UPPER_LIMIT;
        let Some(zoned) = self.zoned(time).filter(is_searched) else { return Gap::default() };
        let last = self.pattern.find_previous_occurrence(&zoned, true).ok();
        let next = self.pattern.find_next_occurrence(&zoned, false).ok();
        let gap = Gap { last: last.as_ref().and_then(millis), next: next.as_ref().and_then(millis) };
        *self.gaps.lock() = [Some(gap), latest];
        gap
    }

    /// Returns the second of this time: ticks are at whole ones.
    fn zoned(&self, time: Millis) -> Option<Zoned> {
        let second = i64::try_from(time / 1_000).ok()?;
        Some(Timestamp::from_second(second).ok()?.to_zoned(self.zone.clone()))
    }

    fn shown(&self, time: Millis) -> String {
        self.zoned(time)
            .map_or_else(|| format!("{time} ms after 1970"), |zoned| zoned.timestamp().to_string())
    }
}

/// Returns the zone of this name. What the database of the machine does not have, or has damaged, is in the one that is
/// compiled in: a slim image has none, or has a few zones.
fn zone_of(name: &str, machine: &TimeZoneDatabase) -> Result<TimeZone, InvalidValue> {
    machine.get(name).or_else(|_| TimeZoneDatabase::bundled().get(name)).map_err(|error| {
        let allowed = format!("a name as in the IANA database, UTC or Europe/Berlin for instance: {error}");
        InvalidValue::new("schedule.zone", name, allowed)
    })
}

fn millis(time: &Zoned) -> Option<Millis> {
    u64::try_from(time.timestamp().as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use std::iter::successors;

    use super::*;

    fn cron(expression: &str) -> Cron {
        Cron::new(expression, "Europe/Berlin", at("2019-06-01T00:00:00Z")).unwrap()
    }

    fn at(time: &str) -> Millis {
        u64::try_from(time.parse::<Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    /// Returns the ticks of an expression after one time and up to another one, in UTC.
    fn ticks(expression: &str, from: &str, to: &str) -> Vec<String> {
        let cron = cron(expression);
        let [from, to] = [from, to].map(|minute| at(&format!("{minute}:00Z")));
        let later = successors(cron.gap(from).next, |tick| cron.gap(*tick).next);
        let forward: Vec<_> = later.take_while(|tick| *tick <= to).collect();
        let earlier = successors(cron.gap(to).last, |tick| cron.gap(*tick - 1).last);
        let mut backward: Vec<_> = earlier.take_while(|tick| *tick > from).collect();
        backward.reverse();
        assert_eq!(forward, backward, "{expression}");
        let shown = |tick| cron.zoned(tick).unwrap().timestamp().strftime("%dT%H:%M").to_string();
        forward.into_iter().map(shown).collect()
    }

    /// In the night to 2026-03-29 the clocks of Berlin go from 2:00 to 3:00, and in the night to 2026-10-25 from 3:00 to 2:00,
    /// each at 1:00 UTC. A time that a night leaves out is made up for at its end, one that a night has twice is run once, and an
    /// interval goes on.
    #[test]
    fn ticks_are_at_the_times_of_the_zone_also_in_the_nights_when_the_clocks_change() {
        let (fixed, half_hours) = ("0 30 2 * * *", "0 */30 * * * *");
        for (expression, from, to, expected) in [
            ("0 30 8 * * *", "2026-01-14T00:00", "2026-01-16T00:00", "14T07:30 15T07:30"),
            ("0 30 8 * * *", "2026-07-14T00:00", "2026-07-15T00:00", "14T06:30"),
            (fixed, "2026-03-28T23:30", "2026-03-29T04:00", "29T01:00"),
            (half_hours, "2026-03-29T00:00", "2026-03-29T02:00", "29T00:30 29T01:00 29T01:30 29T02:00"),
            (fixed, "2026-10-24T23:00", "2026-10-25T03:00", "25T00:30"),
            (half_hours, "2026-10-25T00:00", "2026-10-25T02:00", "25T00:30 25T01:00 25T01:30 25T02:00"),
        ] {
            assert_eq!(ticks(expression, from, to).join(" "), expected, "{expression} from {from}");
        }
        let cron = cron("*/10 * * * * *");
        assert_eq!(cron.gap(25_999), Gap { last: Some(20_000), next: Some(30_000) });
        assert_eq!(cron.gap(30_000), Gap { last: Some(30_000), next: Some(40_000) });
    }

    #[test]
    fn a_year_that_is_over_has_no_more_ticks_which_is_searched_once() {
        let cron = cron("0 0 0 1 1 * 2020");
        let (last, over) = (at("2019-12-31T23:00:00Z"), at("2026-01-01T00:00:00Z"));
        let (before, after) = (Gap { last: None, next: Some(last) }, Gap { last: Some(last), next: None });
        assert_eq!(cron.gap(over), after);
        let known = *cron.gaps.lock();
        assert_eq!(known, [Some(after), Some(before)]);
        for time in [last, last + 1, over - 1, over + 1_000, at("2400-01-01T00:00:00Z")] {
            assert_eq!(cron.gap(time), after);
        }
        assert_eq!(*cron.gaps.lock(), known);
        assert_eq!(cron.gap(last - 1), before, "a clock that went back");
    }

    #[test]
    fn a_time_after_the_years_that_are_searched_leaves_nothing_to_be_remembered() {
        let cron = cron("0 30 8 * * *");
        let now = at("2026-01-14T00:00:00Z");
        let before = cron.gap(now);
        for time in [at("5000-06-01T00:00:00Z"), at("9000-01-01T00:00:00Z"), u64::MAX] {
            assert_eq!(cron.gap(time), Gap::default());
        }
        assert_eq!(cron.gap(now), before);
    }

    #[test]
    fn an_expression_without_a_tick_within_five_years_is_refused_with_the_first_one() {
        let now = at("2026-11-25T08:00:00Z");
        let refused = |expression| Cron::new(expression, "UTC", now).unwrap_err().to_string();
        for never in ["0 0 0 30 2 *", "0 0 0 31 4,6,9,11 *", "0 0 0 1 1 * 2020", "0 0 0 29 2 * 2027"] {
            let told =
                "a tick within five years; after 2026-11-25T08:00:00Z, the time of this machine, it has none";
            assert!(refused(never).contains(told), "{}", refused(never));
        }
        let late = refused("0 0 0 1 1 * 2035");
        assert!(late.contains("its first one is 2035-01-01T00:00:00Z"), "{late}");
        for rare in ["0 0 0 29 2 *", "0 0 0 1 1 * 2031", "0 0 0 31 12 *"] {
            assert!(Cron::new(rare, "UTC", now).is_ok(), "{rare}");
        }
    }

    #[test]
    fn a_zone_that_a_machine_has_damaged_or_not_at_all_is_the_one_that_is_compiled_in() {
        let summer = "2026-07-14T06:30:00Z".parse::<Timestamp>().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("Europe")).unwrap();
        std::fs::write(folder.path().join("Europe/Berlin"), "TZif, cut").unwrap();
        let damaged = TimeZoneDatabase::from_dir(folder.path()).unwrap();
        for machine in [damaged, TimeZoneDatabase::none()] {
            assert!(machine.get("Europe/Berlin").is_err() && machine.get("Asia/Tokyo").is_err());
            for (name, offset) in
                [("UTC", 0), ("utc", 0), ("Etc/UTC", 0), ("Europe/Berlin", 2), ("Asia/Tokyo", 9)]
            {
                let zone = zone_of(name, &machine).unwrap();
                assert_eq!(zone.to_offset(summer), jiff::tz::offset(offset), "{name}");
            }
            let error = zone_of("Europe/Atlantis", &machine).unwrap_err();
            assert_eq!(error.field, "schedule.zone");
            assert!(error.allowed.contains("failed to find time zone `Europe/Atlantis`"), "{error}");
        }
    }
}
