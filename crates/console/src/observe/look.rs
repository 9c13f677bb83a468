//! One look at a resource, and what the looks before it have shown of its holders.

use std::time::Duration;

use crate::view::{HolderView, ResourceView};

/// The largest number of waiters of one resource that are told apart.
pub const TOLD_APART: usize = 100;

/// The least by which the end of a lease has to move to count as renewed: more than answers differ by their way.
const SLACK: Duration = Duration::from_millis(200);

/// A look at a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The resource as it was found.
    pub seen: ResourceView,
    /// The moment at which the store was asked, and that of its answer.
    pub(super) asked: Duration,
    pub(super) told: Duration,
    /// The course of each holder up to now.
    courses: Vec<Course>,
}

/// The course of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    /// The most that it had left at any look.
    pub(super) most_left: Duration,
    renewed: bool,
    /// True if it was renewed before, and has now less than a third left of what it had at most. Renewals are due at half of the
    /// TTL at the latest, so one is missing.
    pub(super) late: bool,
    /// True if it was late at the look before, and was renewed after all.
    near_miss: bool,
}

impl Look {
    /// Returns a look for which the store was asked and has answered at these moments.
    pub fn new(seen: ResourceView, asked: Duration, told: Duration) -> Self {
        let course = |holder: &HolderView| Course {
            most_left: holder.left,
            renewed: false,
            late: false,
            near_miss: false,
        };
        Self { courses: seen.holders.iter().map(course).collect(), seen, asked, told }
    }

    /// Returns the moment of the answer.
    pub const fn told(&self) -> Duration {
        self.told
    }

    /// Returns the holders whose renewal is late.
    pub fn late(&self) -> impl Iterator<Item = &HolderView> {
        self.holders().filter(|(holder, course)| holder.is_holding() && course.late).map(|(holder, _)| holder)
    }

    /// Returns the number of holders whose renewal was late at the look before, and has come after all.
    pub fn near_misses(&self) -> usize {
        self.courses.iter().filter(|course| course.near_miss).count()
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = (&HolderView, &Course)> {
        self.seen.holders.iter().zip(&self.courses)
    }

    pub(super) fn holder(&self, token: &str) -> Option<(&HolderView, &Course)> {
        self.holders().find(|(holder, _)| holder.who.token == token)
    }

    /// Goes on with the courses of an earlier look.
    pub(super) fn follow(&mut self, before: &Self) {
        for (holder, course) in self.seen.holders.iter().zip(&mut self.courses) {
            let Some((earlier, of_earlier)) = before.holder(&holder.who.token) else { continue };
            let is_renewed = self.told + holder.left > before.told + earlier.left + SLACK;
            course.renewed = of_earlier.renewed || is_renewed;
            course.most_left = of_earlier.most_left.max(holder.left);
            course.late = course.renewed && holder.left < course.most_left / 3;
            course.near_miss = of_earlier.late && is_renewed;
        }
    }

    /// Returns true if the store did not tell all holders.
    pub(super) fn is_cut(&self) -> bool {
        self.seen.total > self.seen.holders.len() as u64
    }
}
