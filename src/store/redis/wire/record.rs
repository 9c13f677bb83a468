//! The record of a holder in the store, as a line of text, and the arguments of the acquisition that makes it.

use std::{
    fmt::{self, Display},
    sync::Arc,
    time::Duration,
};

use crate::{
    core::{Fence, Mode, Owner},
    store::{Acquisition, Metadata, QueueTicket, redis::wire::keys},
};

/// The arguments of an acquisition behind its token: see `attempt.lua`.
pub(crate) struct Encoded {
    /// The acquisition that they are of. Most others have all in common with it but resource and token.
    pub(crate) of: Acquisition,
    pub(crate) opens: u64,
    pub(crate) record: String,
    pub(crate) terms: String,
}

impl Encoded {
    pub(crate) fn new(asked: &Acquisition, prefix: &str) -> Self {
        let reentrant = u8::from(asked.reentrant);
        let terms = match &asked.ticket {
            None => reentrant.to_string(),
            Some(QueueTicket { inbox, ttl, grant_window, max_waiters, place }) => {
                let (window, ticket_ttl) = (positive_millis(*grant_window), positive_millis(*ttl));
                let channel = keys::channel(prefix, inbox);
                let place = place.map_or_else(String::new, |place| format!(" {place}"));
                format!("{reentrant} {channel} {window} {ticket_ttl} {max_waiters}{place}")
            }
        };
        Self {
            opens: positive_millis(asked.ttl) + millis(asked.lock_delay),
            record: format!("{}{}", self::terms(asked), json(&asked.metadata)),
            terms,
            of: asked.clone(),
        }
    }
}

pub(crate) fn json(metadata: &Metadata) -> String {
    serde_json::to_string(metadata).expect("a map of texts has a JSON form")
}

/// Returns true if two acquisitions have all in common but resource and token.
pub(crate) fn differs_in_token(one: &Acquisition, other: &Acquisition) -> bool {
    one.mode == other.mode
        && one.reentrant == other.reentrant
        && one.ttl == other.ttl
        && one.lock_delay == other.lock_delay
        && one.ticket == other.ticket
        && one.hold.owner == other.hold.owner
        && Arc::ptr_eq(&one.metadata, &other.metadata)
}

/// All that the store knows of a holder besides its token and its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HolderRecord {
    /// `None` in the plain layout.
    pub(crate) fence: Option<Fence>,
    pub(crate) mode: Mode,
    pub(crate) owner: Option<Owner>,
    pub(crate) metadata: Metadata,
}

/// Returns the record of what is asked: all but the fence, which the server puts in front with a blank, and the metadata.
fn terms(asked: &Acquisition) -> impl Display {
    let &Acquisition { ref hold, mode, lock_delay, ttl, .. } = asked;
    let (lock_delay, ttl) = (millis(lock_delay), positive_millis(ttl));
    let owner = hold.owner.as_ref().map_or_else(String::new, Owner::encoded);
    fmt::from_fn(move |f| {
        match mode {
            Mode::Exclusive => f.write_str("x 1")?,
            Mode::Shared => f.write_str("s 1")?,
            Mode::Permits { count, of } => write!(f, "p {count}/{of}")?,
        }
        write!(f, " {lock_delay}/{ttl} {owner} ")
    })
}

/// Reads a record; `None` if it is not ours.
pub(crate) fn read(record: &str) -> Option<HolderRecord> {
    let mut fields = record.splitn(6, ' ');
    let fence = fence(fields.next()?)?;
    let mode = mode(fields.next()?, fields.next()?)?;
    let times = fields.next()?;
    // A `!` marks what is handed over and not yet taken up. Older versions write no TTL.
    let mut times = times.strip_prefix('!').unwrap_or(times).splitn(2, '/');
    let _lock_delay: u64 = times.next()?.parse().ok()?;
    let _ttl: u64 = times.next().unwrap_or("0").parse().ok()?;
    let owner = match fields.next()? {
        "" => None,
        encoded => Some(Owner::decode(encoded).ok()?),
    };
    let metadata = serde_json::from_str(fields.next()?).ok()?;
    Some(HolderRecord { fence, mode, owner, metadata })
}

/// The length of what plain commands write in place of a fence: a 0 and about the time of the grant. A renewal appends the fence.
pub(crate) const TIME_OF_GRANT: usize = 17;

/// Returns the beginning of such a record, behind the token. To format it would take ten times as long.
pub(crate) fn time_of_grant(mut micros: u64) -> [u8; TIME_OF_GRANT + 2] {
    let mut text = *b"-00000000000000000 ";
    for digit in text[2..=TIME_OF_GRANT].iter_mut().rev() {
        *digit += (micros % 10) as u8;
        micros /= 10;
    }
    text
}

/// Reads a fence as it is written: an empty text where there is none, and a time behind a 0 where the holder alone knows it, or had
/// it appended. `None` if it is no such text.
pub(crate) fn fence(text: &str) -> Option<Option<Fence>> {
    match text {
        "" => Some(None),
        thin if thin.starts_with('0') && thin.len() >= TIME_OF_GRANT => {
            let (time, told) = thin.split_at_checked(TIME_OF_GRANT)?;
            time.parse::<u64>().ok()?;
            fence(told)
        }
        number => number.parse().ok().map(Fence::new).filter(|fence| fence.get() > 0).map(Some),
    }
}

/// Returns the number at the beginning of a record: the fence, or about the time of the grant.
pub(crate) fn number(record: &str) -> Option<u64> {
    let number = record.split(' ').next()?;
    let length = if number.starts_with('0') { TIME_OF_GRANT } else { number.len() };
    number.get(..length)?.parse().ok()
}

/// Reads a mode from its parts, as the scripts write them.
pub(crate) fn mode(letter: &str, permits: &str) -> Option<Mode> {
    match letter {
        "x" => Some(Mode::Exclusive),
        "s" => Some(Mode::Shared),
        "p" => {
            let (count, capacity) = permits.split_once('/')?;
            Mode::permits(count.parse().ok()?, capacity.parse().ok()?).ok()
        }
        _ => None,
    }
}

/// Rounds a duration up to whole milliseconds: the store may keep something a little longer, but never shorter than
/// asked. More than 30 years are cut to that, so that a point in time stays a number that a script can count with.
pub(crate) fn millis(duration: Duration) -> u64 {
    const LONGEST: u64 = 1_000_000_000_000;
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).map_or(LONGEST, |millis| millis.min(LONGEST))
}

/// Rounds a TTL up to at least 1 ms: a server takes an expiry of zero for a deletion.
pub(crate) fn positive_millis(ttl: Duration) -> u64 {
    millis(ttl).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::types::exclusive;

    fn acquisition(mode: Mode, owner: Option<&str>) -> Acquisition {
        let metadata = Metadata::from([("why \"ü\"\n".into(), "a  b".into())]).into();
        let (ttl, lock_delay) = (Duration::from_secs(1), Duration::from_millis(250));
        let mut asked = Acquisition { mode, ttl, lock_delay, metadata, ..exclusive("r", 7) };
        asked.hold.owner = owner.map(|owner| Owner::new(owner).unwrap());
        asked
    }

    #[test]
    fn a_record_reads_back() {
        for mode in [Mode::Exclusive, Mode::Shared, Mode::permits(2, 5).unwrap()] {
            for owner in [None, Some("worker 7 {ü}")] {
                let wanted = acquisition(mode, owner);
                let written = format!("9 {}", Encoded::new(&wanted, "p").record);
                let (owner, metadata) = (wanted.hold.owner, Metadata::clone(&wanted.metadata));
                let expected = HolderRecord { fence: Some(Fence::new(9)), mode, owner, metadata };
                assert_eq!(read(&written), Some(expected));
            }
        }
    }

    #[test]
    fn a_record_tells_the_ttl_unless_an_older_version_wrote_it() {
        assert_eq!(terms(&acquisition(Mode::Exclusive, None)).to_string(), "x 1 250/1000  ");
        for text in ["9 x 1 250  {}", "9 x 1 !250  {}", "9 x 1 250/1000  {}", "9 x 1 !250/1000  {}"] {
            assert!(read(text).is_some_and(|record| record.mode == Mode::Exclusive), "{text}");
        }
    }

    #[test]
    fn a_time_of_grant_reads_back() {
        for micros in [0, 1, 1_764_280_000_123_456, 9_999_999_999_999_999] {
            let written = String::from_utf8(time_of_grant(micros).into()).unwrap();
            assert_eq!(written, format!("-0{micros:016} "));
            assert_eq!(number(&written[1..]), Some(micros));
        }
    }

    #[test]
    fn what_is_no_record_is_not_read() {
        for text in [
            "",
            "9 x 1 0",
            "0 x 1 0  {}",
            "000017958240000000 x 1 0  {}",
            "9 y 1 0  {}",
            "x x 1 0  {}",
            "9 p 6/5 0  {}",
            "9 p 5 0  {}",
            "9 p 0/5 0  {}",
            "9 x 1 0  []",
            "9 x 1 0 %zz {}",
            "9 x 1 0/  {}",
            "9 x 1 0/1/2  {}",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn durations_are_rounded_up_and_bounded() {
        assert_eq!(millis(Duration::ZERO), 0);
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_millis(1_500)), 1_500);
        assert_eq!(millis(Duration::MAX), 1_000_000_000_000);
    }
}
