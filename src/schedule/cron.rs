//! A cron expression in a time zone.

use croner::parser::{CronParser, Seconds};
use jiff::{
    Timestamp, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};

use super::plan::Millis;
use crate::core::InvalidValue;

/// A cron expression in a time zone.
#[derive(Debug)]
pub(super) struct Cron {
    pattern: croner::Cron,
    zone: TimeZone,
}

impl Cron {
    /// Reads a cron expression with seconds, and the name of a zone in the database of the IANA.
    pub(super) fn new(expression: &str, zone: &str) -> Result<Self, InvalidValue> {
        let parser = CronParser::builder().seconds(Seconds::Required).build();
        let pattern = parser.parse(expression).map_err(|error| {
            let allowed =
                format!("six fields, from seconds to days of the week, as in 0 */5 * * * *: {error}");
            InvalidValue::new("schedule.cron", expression, allowed)
        })?;
        Ok(Self { pattern, zone: zone_of(zone, jiff::tz::db())? })
    }

    pub(super) fn at_or_before(&self, time: Millis) -> Option<Millis> {
        millis(&self.pattern.find_previous_occurrence(&self.zoned(time)?, true).ok()?)
    }

    pub(super) fn after(&self, time: Millis) -> Option<Millis> {
        millis(&self.pattern.find_next_occurrence(&self.zoned(time)?, false).ok()?)
    }

    /// Returns the second of this time: ticks are at whole ones.
    fn zoned(&self, time: Millis) -> Option<Zoned> {
        let second = i64::try_from(time / 1_000).ok()?;
        Some(Timestamp::from_second(second).ok()?.to_zoned(self.zone.clone()))
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
    use super::*;

    fn cron(expression: &str) -> Cron {
        Cron::new(expression, "Europe/Berlin").unwrap()
    }

    fn at(time: &str) -> Millis {
        u64::try_from(time.parse::<Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    /// Returns the ticks of an expression after one time and up to another one, in UTC.
    fn ticks(expression: &str, from: &str, to: &str) -> Vec<String> {
        let cron = cron(expression);
        let next = |last: &Millis| cron.after(*last);
        let ticks = std::iter::successors(cron.after(at(from)), next).take_while(|tick| *tick <= at(to));
        let forward: Vec<_> = ticks.collect();
        let earlier = |tick: &Millis| cron.at_or_before(*tick - 1);
        let ticks = std::iter::successors(cron.at_or_before(at(to)), earlier);
        let mut backward: Vec<_> = ticks.take_while(|tick| *tick > at(from)).collect();
        backward.reverse();
        assert_eq!(forward, backward, "{expression}");
        let shown = |tick: Millis| {
            Timestamp::from_millisecond(i64::try_from(tick).unwrap())
                .unwrap()
                .strftime("%dT%H:%M")
                .to_string()
        };
        forward.into_iter().map(shown).collect()
    }

    #[test]
    fn ticks_are_at_the_times_of_the_zone() {
        assert_eq!(
            ticks("0 30 8 * * *", "2026-01-14T00:00:00Z", "2026-01-16T00:00:00Z"),
            ["14T07:30", "15T07:30"]
        );
        assert_eq!(ticks("0 30 8 * * *", "2026-07-14T00:00:00Z", "2026-07-15T00:00:00Z"), ["14T06:30"]);
        let cron = cron("*/10 * * * * *");
        assert_eq!(cron.at_or_before(25_999), Some(20_000));
        assert_eq!((cron.at_or_before(30_000), cron.after(30_000)), (Some(30_000), Some(40_000)));
    }

    /// In the night to 2026-03-29 the clocks of Berlin go from 2:00 to 3:00, at 1:00 UTC.
    #[test]
    fn a_time_that_a_night_leaves_out_is_made_up_for_at_its_end() {
        let night = ("2026-03-28T23:30:00Z", "2026-03-29T04:00:00Z");
        assert_eq!(ticks("0 30 2 * * *", night.0, night.1), ["29T01:00"]);
        assert_eq!(
            ticks("0 */30 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z"),
            ["29T00:30", "29T01:00", "29T01:30", "29T02:00"]
        );
    }

    /// In the night to 2026-10-25 the clocks of Berlin go from 3:00 to 2:00, at 1:00 UTC.
    #[test]
    fn a_fixed_time_that_a_night_has_twice_is_run_once_and_an_interval_goes_on() {
        let night = ("2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z");
        assert_eq!(ticks("0 30 2 * * *", night.0, night.1), ["25T00:30"]);
        assert_eq!(
            ticks("0 */30 * * * *", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"),
            ["25T00:30", "25T01:00", "25T01:30", "25T02:00"]
        );
    }

    #[test]
    fn a_year_that_is_over_has_no_more_ticks() {
        let cron = cron("0 0 0 1 1 * 2020");
        assert_eq!(cron.after(at("2026-01-01T00:00:00Z")), None);
        assert_eq!(cron.at_or_before(at("2026-01-01T00:00:00Z")), Some(at("2019-12-31T23:00:00Z")));
    }

    #[test]
    fn what_is_no_expression_or_no_zone_is_refused() {
        let refused = |expression, zone| Cron::new(expression, zone).unwrap_err().field;
        for expression in ["", "* * * * *", "61 * * * * *", "never"] {
            assert_eq!(refused(expression, "UTC"), "schedule.cron", "{expression}");
        }
        assert_eq!(refused("0 * * * * *", "Europe/Atlantis"), "schedule.zone");
    }

    #[test]
    fn zones_need_no_database_on_the_machine() {
        let summer = "2026-07-14T06:30:00Z".parse::<Timestamp>().unwrap();
        for (name, offset) in
            [("UTC", 0), ("utc", 0), ("Etc/UTC", 0), ("Europe/Berlin", 2), ("Asia/Tokyo", 9)]
        {
            let zone = zone_of(name, &TimeZoneDatabase::none()).unwrap();
            assert_eq!(zone.to_offset(summer), jiff::tz::offset(offset), "{name}");
        }
    }

    #[test]
    fn a_zone_that_a_machine_has_damaged_or_not_at_all_is_the_one_that_is_compiled_in() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("Europe")).unwrap();
        std::fs::write(folder.path().join("Europe/Berlin"), "TZif, cut").unwrap();
        let machine = TimeZoneDatabase::from_dir(folder.path()).unwrap();
        for name in ["Europe/Berlin", "Asia/Tokyo"] {
            assert!(machine.get(name).is_err(), "{name}");
            assert!(zone_of(name, &machine).is_ok(), "{name}");
        }
        let error = zone_of("Europe/Atlantis", &machine).unwrap_err().to_string();
        assert!(error.contains("failed to find time zone `Europe/Atlantis`"), "{error}");
    }
}
