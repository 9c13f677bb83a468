//! What can happen to three nodes and two clients, one step at a time.

mod ages;
mod calls;
mod fair;

use std::{collections::VecDeque, time::Duration};

use leasehold::{
    Fence,
    rules::{Incarnation, Recovered, Report, granted_fence, is_known, lessons, majority},
};
use stateright::{Model, Property};

pub use self::calls::{NodeAnswer, NodeCall, before_the_first_fence};
use super::Checked;

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

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State {
    nodes: [Node; NODES],
    clients: [Client; CLIENTS],
    restarts: u8,
    steps: u8,
    next_token: u8,
    /// The nodes that may have forgotten, as the first client has met them.
    sightings: ages::Known,
    /// The largest fence that was given out, and to whom.
    largest: (u64, usize),
    went_back: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Node {
    incarnation: u8,
    recovered: Option<(u8, u64)>,
    last: u64,
    hold: Option<Hold>,
    /// Whose leases, begun before it was restarted, may be valid.
    forgot: [bool; CLIENTS],
    /// True if its wall clock was set forward by more than a TTL since its start.
    stepped: bool,
    /// Since when it knows nodes that may have forgotten, by its own clock.
    known: ages::Known,
}

/// One client's tokens on a node, with the fence that they share.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Hold {
    client: usize,
    tokens: u8,
    fence: u64,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Client {
    asks: u8,
    stage: Stage,
    /// The last grant that it has not released, though it may have ended.
    granted: Option<(u8, u64)>,
    /// On their way to each node, in order.
    sent: [VecDeque<Verb>; NODES],
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Stage {
    Idle,
    /// What each node said, and whether it counts; what had been given out when it asked.
    Voting {
        token: u8,
        floor: (u64, usize),
        said: [Option<Said>; NODES],
    },
    Raising {
        token: u8,
        floor: (u64, usize),
        fence: u64,
        acks: u8,
    },
    Holding {
        token: u8,
    },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Said {
    Yes(u64),
    Abstains,
    No,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Verb {
    Acquire(u8),
    Raise(u8, u64),
    Release(u8),
    Teach(u8, u64),
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

impl Checked for World {
    type Rules = Rules;

    fn under(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }
}

fn clock(node: usize) -> u64 {
    [100, 0, 0][node]
}

fn bit(token: u8) -> u8 {
    1 << token
}

impl Node {
    fn report(&self, node: usize, rules: Rules) -> Report {
        let young = self.forgot.contains(&true) && !(rules.believes && self.stepped);
        let named = |incarnation: u8| incarnation.to_string();
        let recovered = self.recovered.map(|(incarnation, fence)| Recovered {
            incarnation: named(incarnation),
            durable: false,
            fence: Fence::new(fence),
        });
        let age = if young { Duration::ZERO } else { OLD };
        let incarnation = Incarnation { id: named(self.incarnation), age, durable: false };
        Report { incarnation, recovered, last: Fence::new(self.last), clock: Fence::new(clock(node)) }
    }

    /// Whether a grant of this fence counts.
    fn covers(&self, node: usize, rules: Rules, fence: u64) -> bool {
        let report = self.report(node, rules);
        match report.recovered {
            _ if !rules.teaches => !self.forgot.contains(&true),
            Some(it) if report.incarnation.has_recovered(Some(&it)) => it.covers(Some(Fence::new(fence))),
            _ => false,
        }
    }

    fn acquire(&mut self, node: usize, client: usize, token: u8) -> Option<u64> {
        match &mut self.hold {
            Some(hold) if hold.client != client => return None,
            Some(hold) => hold.tokens |= bit(token),
            None => {
                self.last = (self.last + 1).max(clock(node));
                self.hold = Some(Hold { client, tokens: bit(token), fence: self.last });
            }
        }
        self.hold.as_ref().map(|hold| hold.fence)
    }

    fn raise(&mut self, token: u8, fence: u64, lowers: bool) -> bool {
        let Some(hold) = self.hold.as_mut().filter(|hold| hold.tokens & bit(token) != 0) else {
            return false;
        };
        hold.fence = if lowers { fence } else { hold.fence.max(fence) };
        self.last = self.last.max(fence);
        true
    }

    fn release(&mut self, tokens: u8) {
        if let Some(hold) = &mut self.hold {
            hold.tokens &= !tokens;
        }
        self.hold = self.hold.take().filter(|hold| hold.tokens != 0);
    }

    fn teach(&mut self, incarnation: u8, fence: u64, rules: Rules) {
        self.last = if rules.grows { self.last.max(fence) } else { self.last };
        let before =
            self.recovered.filter(|(before, _)| *before == incarnation).map_or(0, |(_, fence)| fence);
        self.recovered = Some((incarnation, fence.max(before)));
    }
}

impl Client {
    fn send(&mut self, verb: &Verb) {
        self.sent.iter_mut().for_each(|way| way.push_back(verb.clone()));
    }

    /// Whether something speaks against its request; else it waits for more answers.
    fn may_give_up(&self) -> bool {
        match &self.stage {
            Stage::Voting { said, .. } => said.iter().flatten().any(|said| !matches!(said, Said::Yes(_))),
            Stage::Raising { .. } => true,
            Stage::Idle | Stage::Holding { .. } => false,
        }
    }

    fn holds(&self, token: u8) -> bool {
        matches!(self.stage, Stage::Holding { token: held } if held == token)
    }

    /// Whether it may come to believe in this token, or does.
    fn wants(&self, token: u8) -> bool {
        match &self.stage {
            Stage::Idle => false,
            Stage::Voting { token: wanted, .. }
            | Stage::Raising { token: wanted, .. }
            | Stage::Holding { token: wanted } => *wanted == token,
        }
    }
}

impl State {
    fn ask(&mut self, which: usize) {
        let (token, floor) = (self.next_token, self.largest);
        self.next_token += 1;
        let client = &mut self.clients[which];
        client.asks -= 1;
        client.stage = Stage::Voting { token, floor, said: [None; NODES] };
        client.send(&Verb::Acquire(token));
    }

    fn execute(&mut self, which: usize, node: usize, rules: Rules) {
        let client = &mut self.clients[which];
        let Some(verb) = client.sent[node].pop_front() else { return };
        let it = &mut self.nodes[node];
        match verb {
            Verb::Acquire(token) => {
                let answer = match it.acquire(node, which, token) {
                    Some(fence) if it.covers(node, rules, fence) => Said::Yes(fence),
                    Some(_) => Said::Abstains,
                    None => Said::No,
                };
                let (holds, wants) = (client.holds(token), client.wants(token));
                match (&mut client.stage, client.granted) {
                    (Stage::Voting { token: asked, said, .. }, _) if *asked == token => {
                        said[node] = Some(answer)
                    }
                    (_, Some((granted, fence))) if granted == token && (rules.lowers || holds) => {
                        client.sent[node].push_back(Verb::Raise(token, fence));
                    }
                    _ if wants => {}
                    _ => client.sent[node].push_back(Verb::Release(token)),
                }
            }
            Verb::Raise(token, fence) => {
                let raised = it.raise(token, fence, rules.lowers);
                if let Stage::Raising { token: asked, fence: wanted, acks, .. } = &mut client.stage {
                    *acks |= u8::from(raised && *asked == token && *wanted == fence) << node;
                }
            }
            Verb::Release(token) => it.release(bit(token)),
            Verb::Teach(incarnation, fence) => it.teach(incarnation, fence, rules),
        }
    }

    /// A client counts; whether there is something to count is known.
    fn decide(&mut self, which: usize) -> bool {
        match self.clients[which].stage.clone() {
            Stage::Voting { token, floor, said } => {
                let fences: Vec<Fence> = said
                    .iter()
                    .filter_map(|said| {
                        if let Some(Said::Yes(fence)) = said { Some(Fence::new(*fence)) } else { None }
                    })
                    .collect();
                if fences.len() < majority(NODES) {
                    return false;
                }
                let expected = None;
                let Some(fence) = granted_fence(
                    expected,
                    |fence| is_known(fence, fences.iter().copied(), NODES),
                    fences.iter().copied(),
                ) else {
                    return false;
                };
                if is_known(fence, fences.iter().copied(), NODES) {
                    self.grant(which, token, fence.get(), floor);
                } else {
                    let client = &mut self.clients[which];
                    client.stage = Stage::Raising { token, floor, fence: fence.get(), acks: 0 };
                    client.send(&Verb::Raise(token, fence.get()));
                }
                true
            }
            Stage::Raising { token, floor, fence, acks } if acks.count_ones() as usize >= majority(NODES) => {
                self.grant(which, token, fence, floor);
                true
            }
            _ => false,
        }
    }

    fn grant(&mut self, which: usize, token: u8, fence: u64, (floor, _): (u64, usize)) {
        self.went_back |= fence <= floor;
        if fence > self.largest.0 {
            self.largest = (fence, which);
        }
        let client = &mut self.clients[which];
        client.stage = Stage::Holding { token };
        client.granted = Some((token, fence));
    }

    /// Nobody believes any more in what this client had, or wanted.
    fn idle(&mut self, which: usize) {
        self.clients[which].stage = Stage::Idle;
        ages::ends(&mut self.sightings, which);
        for node in &mut self.nodes {
            node.forgot[which] = false;
            ages::ends(&mut node.known, which);
        }
    }

    /// A lease ends by itself, on all nodes that have it by now.
    fn end(&mut self, which: usize) {
        if let Stage::Holding { token } = self.clients[which].stage {
            self.nodes.iter_mut().for_each(|node| node.release(bit(token)));
        }
        self.idle(which);
    }

    fn release(&mut self, which: usize) {
        let client = &mut self.clients[which];
        if let Stage::Voting { token, .. } | Stage::Raising { token, .. } | Stage::Holding { token } =
            client.stage
        {
            client.granted = None;
            client.send(&Verb::Release(token));
        }
        self.idle(which);
    }

    fn holders(&self) -> usize {
        self.clients.iter().filter(|client| matches!(client.stage, Stage::Holding { .. })).count()
    }

    /// The tokens on a node that nobody believes in.
    fn over(&self, node: usize) -> u8 {
        let Some(hold) = &self.nodes[node].hold else { return 0 };
        let client = &self.clients[hold.client];
        (0..8).filter(|token| hold.tokens & bit(*token) != 0 && !client.wants(*token)).map(bit).sum()
    }

    /// Whose leases may be valid, or become so.
    fn wanting(&self) -> [bool; CLIENTS] {
        self.clients.each_ref().map(|client| client.stage != Stage::Idle)
    }

    fn restart(&mut self, node: usize) {
        let forgot = self.wanting();
        let incarnation = self.nodes[node].incarnation + 1;
        self.nodes[node] = Node {
            incarnation,
            recovered: None,
            last: 0,
            hold: None,
            forgot,
            stepped: false,
            known: [None; NODES],
        };
        self.restarts -= 1;
    }

    fn recover(&mut self, which: usize, silent: Option<usize>, world: &World) -> bool {
        let reports: Vec<Option<Report>> = (0..NODES)
            .map(|node| {
                let report = (Some(node) != silent).then(|| self.nodes[node].report(node, world.rules))?;
                Some(if world.observes { self.aged(node, report) } else { report })
            })
            .collect();
        let lessons = lessons(&reports, Duration::ZERO, MAX_TTL, false).unwrap_or_default();
        for (node, lesson) in &lessons {
            let incarnation = self.nodes[*node].incarnation;
            let way = &mut self.clients[which].sent[*node];
            if !way.iter().any(|verb| matches!(verb, Verb::Teach(..))) {
                way.push_back(Verb::Teach(incarnation, lesson.fence.get()));
            }
        }
        !lessons.is_empty()
    }
}

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
