//! The statements of sentinels about a service, and the rules for believing them.
//!
//! Each failover has an epoch of its own, and a majority of the sentinels agreed to it. So a later epoch is always
//! right about an earlier one. But if those who answer know of no later one, there may be one all the same. Two clients
//! that believe two epochs have two masters, and grant the same lock twice.

use redis::{Pipeline, RedisResult, Value};

use crate::store::redis::net::{
    address::NodeAddress,
    info::{self, InfoTable},
};

/// The master, and the epoch of the failover that made it the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterTerm {
    /// The number of the failover.
    pub epoch: u64,
    /// The server that it made the master.
    pub master: NodeAddress,
}

/// One sentinel's opinion of a service.
#[derive(Clone, Debug)]
pub struct Opinion {
    /// The master that it names.
    pub term: MasterTerm,
    /// The number of other sentinels that it knows.
    pub others: usize,
}

/// Returns the questions for the address of the master, and for the table of the service.
///
/// The address is that of the new master as soon as it is promoted; the table names it only when the replicas follow.
/// Both are asked for at once: the old address with the new epoch would be believed.
pub fn questions(service: &str) -> Pipeline {
    let mut both = redis::pipe();
    both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    both.cmd("SENTINEL").arg("MASTER").arg(service);
    both
}

/// Reads the answers to both questions: the opinion, and the table that it is from. Returns `None` if the sentinel does
/// not know the service.
pub fn read(address: Value, table: Value) -> RedisResult<Option<(Opinion, InfoTable)>> {
    let address: Option<(String, u16)> = redis::from_redis_value(address.extract_error()?)?;
    let Some((host, port)) = address else { return Ok(None) };
    let table: InfoTable = redis::from_redis_value(table.extract_error()?)?;
    let number = |name| info::number(&table, name).unwrap_or(0);
    let term = MasterTerm { epoch: number("config-epoch"), master: NodeAddress::new(host, port) };
    let others = usize::try_from(number("num-other-sentinels")).unwrap_or(usize::MAX);
    Ok(Some((Opinion { term, others }, table)))
}

/// The reason not to believe the sentinels.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Doubt {
    /// Nothing is known from before, and too few answered.
    #[error("only {told} of {of} sentinels tell of it, and one that does not may know of a later failover")]
    Minority { told: usize, of: usize },
    /// They name an epoch that is over.
    #[error(
        "they name {} of epoch {}, and {} was named for epoch {} before; one that knows of it does not answer. If the \
         sentinels were set up anew, see that all of them answer and agree, or start this process again",
        told.master, told.epoch, known.master, known.epoch
    )]
    Older { told: MasterTerm, known: MasterTerm },
    /// They name several servers for one epoch.
    #[error("they name both {} and {other} for epoch {}", told.master, told.epoch)]
    Divided { told: MasterTerm, other: NodeAddress },
}

/// Returns the term to go by. `told` are the opinions of those of `asked` sentinels that know the service, at least one.
///
/// - `known` is the latest term so far. One sentinel is enough to confirm it, or to tell of a later one.
/// - Where nothing is known, a majority has to answer: one of them knows of every failover that is not of this moment.
/// - An earlier epoch than the known one counts only if the sentinels were set up anew: all that exist were asked, and
///   agree. With fewer answers, the one that would know better may be missing.
/// - One epoch has one master. If it is another one than was known, a majority has to name it.
pub(crate) fn believed(
    told: &[Opinion],
    asked: usize,
    known: Option<&MasterTerm>,
) -> Result<MasterTerm, Doubt> {
    let epoch = told.iter().map(|opinion| opinion.term.epoch).max().unwrap_or(0);
    let mut newest = told.iter().map(|opinion| &opinion.term).filter(|term| term.epoch == epoch);
    let minority = Doubt::Minority { told: told.len(), of: asked };
    let Some(first) = newest.next() else { return Err(minority) };
    let is_known = |term: &MasterTerm| known == Some(term);
    if is_known(first) || newest.clone().any(is_known) {
        return Ok(known.unwrap_or(first).clone());
    }
    if let Some(other) = newest.find(|term| term.master != first.master) {
        return Err(Doubt::Divided { told: first.clone(), other: other.master.clone() });
    }
    let is_majority = told.len() > asked / 2;
    match known {
        Some(known)
            if epoch < known.epoch
                && !is_set_up_anew(told, asked)
                && !planted!("the largest epoch counts per question") =>
        {
            Err(Doubt::Older { told: first.clone(), known: known.clone() })
        }
        Some(known) if epoch > known.epoch => Ok(first.clone()),
        _ if is_majority => Ok(first.clone()),
        _ => Err(minority),
    }
}

/// Returns true if all existing sentinels were asked and say the same. Behind one name there may be several, of which
/// another one answers each time.
fn is_set_up_anew(told: &[Opinion], asked: usize) -> bool {
    let same = told.windows(2).all(|two| two[0].term == two[1].term);
    same && told.len() == asked && told.iter().all(|opinion| opinion.others < asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(epoch: u64, master: &str) -> MasterTerm {
        MasterTerm { epoch, master: NodeAddress::new(master.to_owned(), 1) }
    }

    /// Returns the belief in three sentinels that know one another, as `epoch master`, or the first word of a doubt.
    fn of_three(told: &[(u64, &str)], known: Option<(u64, &str)>) -> String {
        of(told, 3, 2, known)
    }

    fn of(told: &[(u64, &str)], asked: usize, others: usize, known: Option<(u64, &str)>) -> String {
        let opinion = |&(epoch, master): &(u64, &str)| Opinion { term: term(epoch, master), others };
        let told: Vec<_> = told.iter().map(opinion).collect();
        let known = known.map(|(epoch, master)| term(epoch, master));
        match believed(&told, asked, known.as_ref()) {
            Ok(MasterTerm { epoch, master }) => format!("{epoch} {}", master.host),
            Err(Doubt::Minority { told, of }) => format!("{told} of {of}"),
            Err(Doubt::Older { .. }) => "older".to_owned(),
            Err(Doubt::Divided { .. }) => "divided".to_owned(),
        }
    }

    #[test]
    fn an_older_epoch_is_not_believed_while_one_that_knows_better_may_be_missing() {
        let known = Some((5, "new"));
        assert_eq!(of_three(&[(4, "old"), (4, "old")], known), "older");
        assert_eq!(of_three(&[(4, "old")], known), "older");
        assert_eq!(of_three(&[(4, "old"), (5, "new")], known), "5 new");
        assert_eq!(of_three(&[(4, "old"), (3, "older"), (4, "old")], known), "older");
        // Set up anew.
        assert_eq!(of_three(&[(0, "old"), (0, "old"), (0, "old")], known), "0 old");
        // One name that leads to any of three.
        assert_eq!(of(&[(4, "old")], 1, 2, known), "older");
        assert_eq!(of(&[(0, "old")], 1, 0, known), "0 old");
    }

    #[test]
    fn where_nothing_is_known_a_majority_has_to_answer() {
        assert_eq!(of_three(&[(4, "old")], None), "1 of 3");
        assert_eq!(of_three(&[(4, "old"), (5, "new")], None), "5 new");
        assert_eq!(of(&[(4, "old")], 2, 1, None), "1 of 2");
        assert_eq!(of(&[(0, "old")], 1, 0, None), "0 old");
    }

    #[test]
    fn one_is_enough_for_what_is_known_and_for_what_is_later() {
        assert_eq!(of_three(&[(5, "new")], Some((5, "new"))), "5 new");
        assert_eq!(of_three(&[(6, "newest")], Some((5, "new"))), "6 newest");
    }

    #[test]
    fn one_epoch_has_one_master() {
        assert_eq!(of_three(&[(0, "a"), (0, "b"), (0, "a")], None), "divided");
        assert_eq!(of_three(&[(0, "a"), (0, "b")], Some((0, "b"))), "0 b");
        assert_eq!(of_three(&[(0, "b")], Some((0, "a"))), "1 of 3");
        assert_eq!(of_three(&[(0, "b"), (0, "b")], Some((0, "a"))), "0 b");
    }
}
