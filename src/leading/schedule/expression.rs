//! A cron expression, which is refused where it would mean something else than it seems to say.

use croner::parser::{CronParser, Seconds};

use crate::core::InvalidValue;

/// The fields, each with the number of its values.
const FIELDS: [(&str, u16); 7] = [
    ("seconds", 60),
    ("minutes", 60),
    ("hours", 24),
    ("days of the month", 31),
    ("months", 12),
    ("days of the week", 7),
    ("years", 5_000),
];

/// The names of months and days, each kind with the field that it belongs to. Croner takes each of them in any field, as its
/// number.
const NAMES: [(&str, &[&str]); 2] = [
    ("months", &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]),
    ("days of the week", &["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]),
];

pub(super) fn read(expression: &str) -> Result<croner::Cron, InvalidValue> {
    let refused = |reason: String| {
        let allowed = format!("six fields, from seconds to days of the week, as in 0 */5 * * * *: {reason}");
        InvalidValue::new("schedule.cron", expression, allowed)
    };
    let parser = CronParser::builder().seconds(Seconds::Required).build();
    let cron = parser.parse(expression).map_err(|error| refused(error.to_string()))?;
    if !expression.contains('@') {
        fields(expression).try_for_each(|(field, name, _)| check_names(field, name)).map_err(refused)?;
    }
    // Names are numbers here, and nicknames such as @daily are fields.
    fields(cron.pattern.as_str())
        .try_for_each(|(field, name, values)| check_items(field, name, values))
        .map_err(refused)?;
    Ok(cron)
}

fn fields(expression: &str) -> impl Iterator<Item = (&str, &'static str, u16)> {
    expression.split_whitespace().zip(FIELDS).map(|(field, (name, values))| (field, name, values))
}

fn check_names(field: &str, name: &str) -> Result<(), String> {
    let field = field.to_uppercase();
    for (place, names) in NAMES.iter().filter(|(place, _)| *place != name) {
        if let Some(misplaced) = names.iter().find(|name| field.contains(**name)) {
            return Err(format!("{misplaced} stands in the {name}, and belongs to the {place}"));
        }
    }
    Ok(())
}

fn check_items(field: &str, name: &str, values: u16) -> Result<(), String> {
    field.trim_start_matches('+').split(',').try_for_each(|item| {
        if item.is_empty() {
            return Err(format!("an item of the {name} is empty: {field}"));
        }
        let Some((range, step)) = item.split_once('/') else { return Ok(()) };
        let values = match range.split_once('-') {
            Some((first, last)) => number(last).saturating_sub(number(first)).saturating_add(1),
            None => values,
        };
        // What stands behind # is the week of a month.
        if step.split('#').next().is_some_and(|step| number(step) > values) {
            return Err(format!("a step of the {name} is larger than its range of {values}: {item}"));
        }
        Ok(())
    })
}

/// Returns the number that croner has read already.
fn number(digits: &str) -> u16 {
    digits.parse().unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(expression: &str, reason: &str) {
        let error = read(expression).expect_err(expression);
        assert_eq!((error.field.as_str(), error.value.as_str()), ("schedule.cron", expression));
        assert!(error.allowed.contains(reason), "{expression}: {error}");
    }

    #[test]
    fn what_is_no_expression_a_step_above_its_range_and_a_name_in_another_field_are_refused() {
        for expression in ["", "* * * * *", "61 * * * * *", "never"] {
            refused(expression, "six fields, from seconds to days of the week");
        }
        for (expression, reason) in [
            ("0 */90 * * * *", "a step of the minutes is larger than its range of 60: */90"),
            ("*/61 * * * * *", "seconds"),
            ("0 0 */25 * * *", "hours"),
            ("0 0 0 */32 * *", "days of the month"),
            ("0 0 0 1 */13 *", "months"),
            ("0 0 0 ? * ?/8", "days of the week"),
            ("0 10-20/12 * * * *", "larger than its range of 11: 10-20/12"),
            ("0 0,*/90 * * * *", "*/90"),
            ("0 0 0 1 JAN-MAR/4 *", "larger than its range of 3: 1-3/4"),
            ("0 0 0 1 1 * 2026-2027/3", "years"),
            ("0 0 9 * MON *", "MON stands in the months, and belongs to the days of the week"),
            ("0 0 9 * * jan", "JAN stands in the days of the week, and belongs to the months"),
            ("0 0 MAR * * *", "MAR stands in the hours, and belongs to the months"),
        ] {
            refused(expression, reason);
        }
    }

    #[test]
    fn an_empty_item_is_refused_in_each_field() {
        for (place, (name, _)) in FIELDS.iter().enumerate() {
            for item in [",1", "1,", "1,,2", ","] {
                let mut fields = ["0", "0", "0", "1", "1", "*", "*"];
                fields[place] = item;
                refused(&fields.join(" "), &format!("an item of the {name} is empty: {item}"));
            }
        }
        refused("0 0 9 ,1 * *", "days of the month");
        refused("0 0 9 * * +", "days of the week");
    }

    #[test]
    fn what_is_meant_as_it_is_written_is_taken() {
        for expression in [
            "0 */60 * * * *",
            "0 0 */24 * * *",
            "0 10-20/11 * * * *",
            "0 0 0 ? * */7",
            "0 30 8 * * MON-FRI",
            "0 0 0 L * ?",
            "0 0 0 LW jan-JUN/2 *",
            "0 0 0 15W * *",
            "0 0 0 * * FRI#L",
            "0 0 0 * * 5L,MON#2",
            "0 0 0 13 * +FRI",
            "*/10 0-30/5 1,2 * * SAT,SUN 2026-2030/2",
            "@monthly",
            "@daily",
        ] {
            assert!(read(expression).is_ok(), "{expression}: {:?}", read(expression).err());
        }
    }
}
