//! Partitions of a fleet, whose members join, leave, freeze and die, in every order.
//!
//! Three members and two partitions. Time is not counted: the leases of a member that is frozen or dead end when they may, and
//! those of others do not. A member acts on a partition from its grant until it stops, which is before it gives it up and before
//! the validity of its lease ends. The shares are computed by the function of the library.

mod fair;
mod member;

use stateright::{Model, Property};

pub(super) use self::fair::due;
use self::member::{Process, Stage, has, is_share};

/// The number of members.
pub const MEMBERS: usize = 3;
/// The number of partitions.
pub const PARTITIONS: usize = 2;

/// A set of members or of partitions, by their numbers.
type Set = u8;

/// Two members never act on one partition.
pub const ONE_OWNER: &str = "one member acts on a partition";
/// When nothing more is going to happen, each partition has the owner whose share it is.
pub const SHARED: &str = "in the end all have their shares";
/// All settles in time and has its share, if nobody joins, leaves, freezes or dies any more: see [the fair run](fair).
pub const SETTLES: &str = "all settles in the end";
/// Nobody gives up what nobody waits for, unless it leaves and is alone.
pub const KEPT: &str = "nothing is given up that nobody comes for";

/// The rules, each of which is kept or not.
#[derive(Clone, Copy, Debug)]
pub struct PartitionsRules {
    /// An owner gives up the share of another.
    pub gives: bool,
    /// It does so when somebody waits for it.
    pub waits_for_a_waiter: bool,
    /// It stops its actor before it releases the lease.
    pub stops_first: bool,
    /// Its actor stops before the validity of the lease ends, also if it was frozen until then.
    pub stops_with_its_lease: bool,
    /// One that leaves takes its name from the list before it gives anything up.
    pub leaves_the_list: bool,
    /// A member stands for its share, and for nothing else.
    pub stands_for_its_share: bool,
}

impl PartitionsRules {
    /// All rules.
    pub const TODAY: Self = Self {
        gives: true,
        waits_for_a_waiter: true,
        stops_first: true,
        stops_with_its_lease: true,
        leaves_the_list: true,
        stands_for_its_share: true,
    };
}

/// How much can happen.
#[derive(Clone, Copy, Debug)]
pub struct PartitionsWorld {
    /// The rules that are kept.
    pub rules: PartitionsRules,
    /// How many members join.
    pub joins: u8,
    /// How many of them leave.
    pub drains: u8,
    /// How many freeze.
    pub freezes: u8,
    /// How many die.
    pub deaths: u8,
}

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State {
    /// The holders of the lease of all members.
    list: Set,
    members: [Process; MEMBERS],
    /// The holder of each partition's lease.
    owners: [Option<usize>; PARTITIONS],
    queues: [Vec<usize>; PARTITIONS],
    /// What may still happen: joins, drains, freezes, deaths.
    left: [u8; 4],
    gave_to_nobody: bool,
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `Keeper::join`, for the first time.
    Join(usize),
    /// `Keeper::join_later`, after a loss.
    JoinAgain(usize),
    /// `Keeper::meet`.
    Look(usize),
    /// `Keeper::stand`: the election asks for the lease, and is granted it or waits.
    Stand(usize, usize),
    /// A waiter that was frozen when its turn came asks again (`Event::Due`).
    Retry(usize, usize),
    /// `Keeper::give`: the actor is stopped. What waits only leaves the queue.
    Give(usize, usize),
    /// The election releases the lease, and the first of those that live and wait is granted it.
    Release(usize, usize),
    /// `Keeper::drain`.
    Drain(usize),
    /// SIGSTOP.
    Freeze(usize),
    /// SIGCONT.
    Wake(usize),
    /// SIGKILL.
    Die(usize),
    /// The leases of a member that is frozen or dead end.
    Expire(usize),
}

impl Action {
    /// Returns true if it happens sooner or later, and not by somebody's choice.
    fn is_due(&self) -> bool {
        !matches!(self, Self::Join(_) | Self::Drain(_) | Self::Freeze(_) | Self::Die(_))
    }
}

impl State {
    fn grant(&mut self, partition: usize) {
        self.owners[partition] = None;
        let lives = |member: &usize| self.members[*member].lives();
        if let Some(place) = self.queues[partition].iter().position(lives) {
            let next = self.queues[partition].remove(place);
            self.owners[partition] = Some(next);
            self.members[next].acts |= 1 << partition;
        }
    }

    /// Ends all leases of a member.
    fn end_all(&mut self, member: usize) {
        self.list &= !(1 << member);
        for partition in 0..PARTITIONS {
            self.queues[partition].retain(|waiter| *waiter != member);
            if self.owners[partition] == Some(member) {
                self.grant(partition);
            }
        }
        self.members[member].stands = 0;
    }

    /// Returns the owner of each partition.
    pub(super) fn owners(&self) -> [Option<usize>; PARTITIONS] {
        self.owners
    }

    /// Returns true if each partition has the owner whose share it is, or if there are no members.
    fn is_shared(&self) -> bool {
        let is_owned = |partition: usize| {
            let owner = self.owners[partition];
            owner.is_some_and(|owner| {
                is_share(self.list, owner, partition) && has(self.members[owner].acts, partition)
            })
        };
        self.list == 0 || (0..PARTITIONS).all(is_owned)
    }

    /// What can be done about a partition by a member that lives.
    fn about(&self, number: usize, partition: usize, rules: PartitionsRules) -> Option<Action> {
        let member = &self.members[number];
        let (stands, owns) = (has(member.stands, partition), self.owners[partition] == Some(number));
        if !stands {
            let wants =
                member.wants(number, partition) || member.stage == Stage::In && !rules.stands_for_its_share;
            return wants.then_some(Action::Stand(number, partition));
        }
        if self.owners[partition].is_none() {
            return Some(Action::Retry(number, partition));
        }
        let acts = has(member.acts, partition);
        if owns && !acts {
            return Some(Action::Release(number, partition));
        }
        // Nothing is decided before it has seen itself in the list.
        let decides = member.stage == Stage::Leaving || has(member.view, number);
        let is_alone = member.view & !(1 << number) == 0 || member.stage == Stage::Lost;
        let somebody_comes = !self.queues[partition].is_empty() || !rules.waits_for_a_waiter;
        let gives = decides && !member.wants(number, partition) && rules.gives;
        (gives && (!owns || is_alone || somebody_comes)).then_some(Action::Give(number, partition))
    }
}

impl Model for PartitionsWorld {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            list: 0,
            members: Default::default(),
            owners: [None; PARTITIONS],
            queues: Default::default(),
            left: [self.joins, self.drains, self.freezes, self.deaths],
            gave_to_nobody: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let [joins, drains, freezes, deaths] = state.left;
        for (number, member) in state.members.iter().enumerate() {
            let has_leases = has(state.list, number) || member.stands != 0;
            if member.stage == Stage::Dead || member.is_frozen {
                actions.extend(has_leases.then_some(Action::Expire(number)));
                actions.extend(member.is_frozen.then_some(Action::Wake(number)));
                continue;
            }
            match member.stage {
                Stage::Out if joins > 0 => actions.push(Action::Join(number)),
                Stage::Lost => actions.push(Action::JoinAgain(number)),
                Stage::In if drains > 0 => actions.push(Action::Drain(number)),
                _ => {}
            }
            if matches!(member.stage, Stage::In | Stage::Leaving) {
                actions.extend((member.view != state.list).then_some(Action::Look(number)));
                actions.extend((freezes > 0).then_some(Action::Freeze(number)));
                actions.extend((deaths > 0).then_some(Action::Die(number)));
            }
            actions
                .extend((0..PARTITIONS).filter_map(|partition| state.about(number, partition, self.rules)));
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Join(number) | Action::JoinAgain(number) => {
                state.left[0] -= u8::from(matches!(action, Action::Join(_)));
                state.members[number].stage = Stage::In;
                state.members[number].view = 0;
                state.list |= 1 << number;
            }
            Action::Look(number) => state.members[number].view = state.list,
            Action::Stand(number, partition) => {
                state.members[number].stands |= 1 << partition;
                state.queues[partition].push(number);
                if state.owners[partition].is_none() {
                    state.grant(partition);
                }
            }
            Action::Retry(_, partition) => state.grant(partition),
            Action::Give(number, partition) => {
                let others = state.members[number].view & !(1 << number) != 0;
                if state.owners[partition] == Some(number) {
                    state.gave_to_nobody |= others && state.queues[partition].is_empty();
                    state.members[number].acts &= !(1 << partition);
                    if !self.rules.stops_first {
                        state.grant(partition);
                        state.members[number].acts |= 1 << partition;
                        state.members[number].stands &= !(1 << partition);
                    }
                } else {
                    state.queues[partition].retain(|waiter| *waiter != number);
                    state.members[number].acts &= !(1 << partition);
                    state.members[number].stands &= !(1 << partition);
                }
            }
            Action::Release(number, partition) => {
                state.members[number].stands &= !(1 << partition);
                state.grant(partition);
            }
            Action::Drain(number) => {
                state.left[1] -= 1;
                state.members[number].stage = Stage::Leaving;
                if self.rules.leaves_the_list {
                    state.list &= !(1 << number);
                }
            }
            Action::Freeze(number) => {
                state.left[2] -= 1;
                state.members[number].is_frozen = true;
            }
            Action::Wake(number) => state.members[number].is_frozen = false,
            Action::Die(number) => {
                state.left[3] -= 1;
                state.members[number].stage = Stage::Dead;
                state.members[number].acts = 0;
            }
            Action::Expire(number) => {
                if self.rules.stops_with_its_lease {
                    state.members[number].acts = 0;
                }
                state.end_all(number);
                let member = &mut state.members[number];
                match member.stage {
                    Stage::In => member.stage = Stage::Lost,
                    Stage::Leaving => member.stage = Stage::Out,
                    Stage::Out | Stage::Lost | Stage::Dead => {}
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_OWNER, |_, state: &State| {
                let acting =
                    |partition| state.members.iter().filter(|member| has(member.acts, partition)).count();
                (0..PARTITIONS).all(|partition| acting(partition) <= 1)
            }),
            Property::always(SHARED, |world: &Self, state: &State| {
                !fair::due(world, state).is_empty() || state.is_shared()
            }),
            Property::always(SETTLES, fair::settles),
            Property::always(KEPT, |_, state: &State| !state.gave_to_nobody),
        ]
    }
}
