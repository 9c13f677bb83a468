//! What can happen to three nodes and two clients, one step at a time.

mod ages;
mod calls;
mod client;
mod fair;
mod node;
mod state;

use std::time::Duration;

use stateright::{Model, Property};

pub use self::{
    calls::{NodeAnswer, NodeCall, before_the_first_fence},
    state::State,
};
use self::{
    client::{Client, Stage},
    node::Node,
};

/// The number of nodes.
pub const NODES: usize = 3;
const CLIENTS: usize = 2;
const MAX_TTL: Duration = Duration::from_secs(1);
const OLD: Duration = Duration::from_secs(10);

/// A later grant has a larger fence.
pub const FENCES: &str = "fences grow";
/// No two clients believe at one time that they hold.
pub const ONE_HOLDER: &str = "one client holds at a time";

/// Each client is granted what it asks for, if nothing bad happens any more but that a node is silent: see [the fair run](fair).
pub const SERVED: &str = "clients are served in the end";

/// Which rules hold: those of the library, or some that it had before.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A node that was restarted counts when it was taught; else when all that it may have forgotten has ended.
    pub teaches: bool,
    /// A raise may lower the fence of a hold, and is sent for a lease that has ended.
    pub lowers: bool,
    /// A node is as old as its own wall clock says; else as old as others have observed it to be.
    pub believes: bool,
    /// A node that was taught gives out larger fences than that; else it only writes the lesson down.
    pub grows: bool,
    /// A node is as old as any one says by its clock; else as a majority says.
    pub trusts_one: bool,
}

/// How much can happen.
#[derive(Clone, Debug)]
pub struct World {
    rules: Rules,
    /// How often each client asks.
    asks: [u8; CLIENTS],
    restarts: u8,
    /// The number of times that the wall clock of a node is set forward.
    steps: u8,
    /// Whether the first client begins with a lease, granted by the last two nodes, and a request on its way to the first.
    begins_late: bool,
    /// Whether that lease has ended then, and the second client raises the fences of a grant by the first two nodes.
    begins_raising: bool,
    /// Whether the fair run is looked at.
    is_fair: bool,
    /// Whether ages are observed, and compared with what nodes know by their clocks; else all know them. It begins with the last node
    /// restarted, met by the first client, and known to all.
    observes: bool,
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `QuorumStore::acquire_each` in `src/store/quorum/acquire.rs`.
    Ask(usize),
    /// A node executes the next verb of a client, late perhaps: `acquire.lua`, `raise.lua`, `release.lua`, `teach.lua`.
    Execute(usize, usize),
    /// The votes are counted: `granted_fence` and `is_known` in `src/core/quorum`.
    Decide(usize),
    /// The round is over without a majority: it releases what it has.
    GiveUp(usize),
    /// `QuorumStore::release_each` in `src/store/quorum/releases.rs`.
    Release(usize),
    /// A lease ends by itself.
    End(usize),
    /// The same on a node.
    Expire(usize),
    /// A node is restarted, and has forgotten everything.
    Restart(usize),
    /// The wall clock of a node is set forward by more than a TTL.
    Step(usize),
    /// A client asks who has recovered (`report.lua`, `lessons` in `src/core/quorum`); one node does not answer, or all do.
    Recover(usize, Option<usize>),
    /// It asks nodes since when they know those that are too young; one does not answer, or all do.
    CompareAges(Option<usize>),
}

impl World {
    /// A world in which each client asks once, and nothing else happens yet.
    const fn new(rules: Rules) -> Self {
        Self {
            rules,
            asks: [1, 1],
            restarts: 0,
            steps: 0,
            begins_late: false,
            begins_raising: false,
            is_fair: false,
            observes: false,
        }
    }

    /// Creates a world in which a node is restarted.
    pub fn with_a_restart(rules: Rules) -> Self {
        Self { restarts: 1, ..Self::new(rules) }
    }

    /// Creates the same world, each of whose states is gone on from fairly.
    pub fn with_a_restart_and_a_fair_run(rules: Rules) -> Self {
        Self { is_fair: true, ..Self::with_a_restart(rules) }
    }

    /// The first client has a lease of the last two nodes, one of which then restarts with a clock that is corrected.
    pub fn with_a_stepped_clock(rules: Rules) -> Self {
        Self { restarts: 1, steps: 1, begins_late: true, ..Self::new(rules) }
    }

    /// Creates the same world, in which ages are observed.
    pub fn with_observed_ages(rules: Rules) -> Self {
        Self { observes: true, ..Self::with_a_stepped_clock(rules) }
    }

    /// Creates a world in which clients ask often, and two nodes are restarted.
    pub fn with_much(rules: Rules) -> Self {
        Self { asks: [3, 3], restarts: 2, ..Self::new(rules) }
    }

    /// Creates a world in which acquisitions and raises of a holder are late.
    pub fn with_a_re_entry(rules: Rules) -> Self {
        Self { asks: [2, 1], begins_late: true, ..Self::new(rules) }
    }

    /// Creates the same world at a later moment: the lease has ended, and the second client is granted the next one.
    pub fn with_a_late_re_entry(rules: Rules) -> Self {
        Self { begins_raising: true, ..Self::with_a_re_entry(rules) }
    }
}

checked!(World, Rules);

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let node = Node {
            incarnation: 0,
            recovered: Some((0, 0)),
            last: 0,
            hold: None,
            forgot: [false; CLIENTS],
            stepped: false,
            known: [None; NODES],
        };
        let client = |asks| Client { asks, stage: Stage::Idle, granted: None, sent: Default::default() };
        let mut state = State {
            nodes: [node.clone(), node.clone(), node],
            clients: self.asks.map(client),
            restarts: self.restarts,
            steps: self.steps,
            next_token: 0,
            sightings: [None; NODES],
            largest: (0, 0),
            went_back: false,
        };
        if self.begins_late {
            state.ask(0);
            (1..NODES).for_each(|node| state.execute(0, node, self.rules));
            assert!(state.decide(0), "two nodes have granted it");
        }
        if self.begins_raising {
            state.end(0);
            state.ask(1);
            (0..NODES - 1).for_each(|node| state.execute(1, node, self.rules));
            assert!(state.decide(1), "two nodes have granted it");
        }
        if self.observes {
            state.restart(NODES - 1);
            state.recover(0, None, self);
            state.compare_ages(None, self.rules);
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let begun = state.largest.0 > 0;
        for (which, client) in state.clients.iter().enumerate() {
            match client.stage {
                // What the second client asks before anything was given out has nothing to be compared with.
                Stage::Idle if client.asks > 0 && (which == 0 || begun) => actions.push(Action::Ask(which)),
                Stage::Idle => {}
                Stage::Voting { .. } | Stage::Raising { .. } => {
                    actions.push(Action::Decide(which));
                    actions.extend(client.may_give_up().then_some(Action::GiveUp(which)));
                }
                Stage::Holding { .. } => actions.extend([Action::Release(which), Action::End(which)]),
            }
            let waiting = (0..NODES).filter(|node| !client.sent[*node].is_empty());
            actions.extend(waiting.map(|node| Action::Execute(which, node)));
        }
        for (node, it) in state.nodes.iter().enumerate() {
            if state.over(node) != 0 {
                actions.push(Action::Expire(node));
            }
            if state.restarts > 0 && begun {
                actions.push(Action::Restart(node));
            }
            // Before a restart nobody asks for the age of a node.
            if state.steps > 0 && (it.incarnation > 0 || self.observes) && !it.stepped {
                actions.push(Action::Step(node));
            }
            if self.rules.teaches
                && !it
                    .report(node, self.rules)
                    .incarnation
                    .has_recovered(it.report(node, self.rules).recovered.as_ref())
            {
                let silent = (0..NODES).filter(|silent| *silent != node).map(Some).chain([None]);
                actions.extend(silent.map(|silent| Action::Recover(0, silent)));
            }
        }
        if self.observes && state.knows_young() {
            actions.extend((0..NODES).map(Some).chain([None]).map(Action::CompareAges));
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        let changed = match action {
            Action::Ask(which) => {
                state.ask(which);
                true
            }
            Action::Execute(which, node) => {
                state.execute(which, node, self.rules);
                true
            }
            Action::Decide(which) => state.decide(which),
            Action::GiveUp(which) | Action::Release(which) => {
                state.release(which);
                true
            }
            Action::End(which) => {
                state.end(which);
                true
            }
            Action::Expire(node) => {
                let over = state.over(node);
                state.nodes[node].release(over);
                true
            }
            Action::Restart(node) => {
                state.restart(node);
                true
            }
            Action::Step(node) => {
                state.nodes[node].stepped = true;
                ages::step(&mut state.nodes[node].known);
                state.steps -= 1;
                true
            }
            Action::Recover(which, silent) => {
                let teaches = state.recover(which, silent, self);
                teaches || state.sightings != before.sightings
            }
            Action::CompareAges(silent) => {
                state.compare_ages(silent, self.rules);
                state != *before
            }
        };
        changed.then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(FENCES, |_, state: &State| !state.went_back),
            Property::always(ONE_HOLDER, |_, state: &State| state.holders() <= 1),
        ];
        if self.is_fair {
            properties.push(Property::always(SERVED, fair::serves_all));
        }
        properties
    }
}
